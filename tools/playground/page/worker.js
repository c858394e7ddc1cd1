// Runs the commands: Python in WebAssembly, with the modules of app.zip.
import { loadPyodide } from "./pyodide/pyodide.mjs";

let python;

async function start() {
  const archive = fetch("app.zip").then((response) => {
    if (!response.ok) throw new Error(`app.zip: ${response.status}`);
    return response.arrayBuffer();
  });
  python = await loadPyodide({ indexURL: new URL("./pyodide/", self.location.href).href });
  python.unpackArchive(await archive, "zip", { extractDir: "/app" });
  python.runPython("import os, sys; sys.path.insert(0, '/app'); os.mkdir('/work'); os.chdir('/work')");
  const engine = python.pyimport("engine");
  postMessage({ ready: JSON.parse(engine.describe()) });
  return engine;
}

const starting = start();

onmessage = async ({ data }) => {
  try {
    const engine = await starting;
    const began = performance.now();
    const answer = JSON.parse(engine.answer(data.text, data.view, data.line, data.facts));
    postMessage({ answer, milliseconds: Math.round(performance.now() - began) });
  } catch (error) {
    // what is no exception of Python, such as an exhausted stack, leaves the interpreter in no usable state
    const usable = python?.ffi && error instanceof python.ffi.PythonError;
    const words = `The engine failed on this input: ${String(error).trim().split("\n").at(-1)}`;
    postMessage(usable ? { failed: words } : { fatal: words });
  }
};
