// Runs each command once in Pyodide, and writes the bytecode of our modules that this has loaded: the browser need not compile them.
import { readFile, writeFile } from "node:fs/promises";
import { loadPyodide } from "pyodide";

async function main(target) {
  const python = await loadPyodide({ env: { HOME: "/home/pyodide", PYTHONHASHSEED: "0" } });
  python.unpackArchive(new Uint8Array(await readFile("plain.zip")), "zip", { extractDir: "/app" });
  python.globals.set("example", await readFile("page/example.yaml", "utf-8"));
  const compiled = python.runPython(`
import json, os, py_compile, sys
sys.path.insert(0, "/app")
sys.dont_write_bytecode = True
os.mkdir("/work")
os.chdir("/work")
import engine
engine.describe()
for view in ("check", "answer", "convert", "default", "render", "explain"):
    engine.answer(example, view, "1.6", "grove=true")
files = sorted({file for module in list(sys.modules.values()) if (file := getattr(module, "__file__", None) or "").startswith("/app/")})
found = {}
for file in files:
    made = py_compile.compile(file, dfile=file, doraise=True, invalidation_mode=py_compile.PycInvalidationMode.UNCHECKED_HASH)
    with open(made, "rb") as opened:
        found[made.removeprefix("/app/")] = opened.read().hex()
json.dumps(found)
`);
  await writeFile(target, compiled);
}

// only the words of an error: its place would be printed as the one line that Pyodide has
await main(process.argv[2]).catch((error) => {
  console.error(String(error));
  process.exitCode = 1;
});
