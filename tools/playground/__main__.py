"""Builds the playground into a folder (`make playground`), from the sources beside this file, our modules, and locked packages of npm.

It needs Node and npm. The page loads nothing but the files of that folder.
"""

import hashlib
import json
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Final

import yaml

from tools.release.archives import write_zip

HERE: Final = Path(__file__).parent
ROOT: Final = HERE.parents[1]
SITE: Final = ROOT / "build" / "site" / "playground"
SCRATCH: Final = ROOT / "build" / "playground"  # packages of npm, kept for the next build
PYODIDE: Final = ("pyodide.mjs", "pyodide.asm.mjs", "pyodide.asm.wasm", "python_stdlib.zip")
_LOCKED: Final = ("package.json", "package-lock.json")
_DATA: Final = (".py", ".json", ".yaml", ".txt", ".md")  # of our package, as in a wheel
_NOT: Final = ("__pycache__", "README.md")
_BUNDLE: Final = ("--bundle", "--format=esm", "--target=es2022", "--minify", "--loader:.yaml=text", "--external:./pyodide/*")


def main() -> int:
    """Builds into the folder that is named, else into that of the site; 1 with a sentence where it can't."""
    target = Path(sys.argv[1]).absolute() if len(sys.argv) > 1 else SITE
    try:
        build(target)
    except (OSError, subprocess.CalledProcessError) as error:
        sys.stderr.write(f"make playground: node and npm must be installed and the npm registry reachable, got {error}\n")
        return 1
    size = sum(file.stat().st_size for file in target.rglob("*"))
    sys.stdout.write(f"{target}: {size / 1e6:.1f} MB\n")
    return 0


def build(target: Path) -> None:
    """Writes all files of the playground; what the folder held is gone. Raises: OSError, CalledProcessError."""
    modules = install()
    shutil.rmtree(target, ignore_errors=True)
    (target / "pyodide").mkdir(parents=True)
    for name in PYODIDE:
        shutil.copyfile(modules / "pyodide" / name, target / "pyodide" / name)
    lock = json.loads((modules / "pyodide" / "pyodide-lock.json").read_text())
    (target / "pyodide" / "pyodide-lock.json").write_text(json.dumps({"info": lock["info"], "packages": {}}))
    write_zip(SCRATCH / "plain.zip", collect(), 0)
    run("node", "compile.mjs", str(SCRATCH / "compiled.json"))
    # modules as bytecode of Pyodide's Python, by the names that it looks for
    compiled = {name: bytes.fromhex(code) for name, code in json.loads((SCRATCH / "compiled.json").read_text()).items()}
    write_zip(target / "app.zip", {**collect(), **compiled}, 0)
    for name in ("index.html", "style.css"):
        shutil.copyfile(HERE / "page" / name, target / name)
    run("node", "node_modules/esbuild/bin/esbuild", *_BUNDLE, f"--outdir={target}", "page/page.js", "page/worker.js")
    locked = json.loads((HERE / "package-lock.json").read_text())["packages"]
    used = [modules.parent / name for name, about in locked.items() if name and not about.get("dev")]
    licences = [file for folder in used for file in sorted(folder.glob("LICENSE*"))]
    texts = [f"{file.parent.relative_to(modules)}\n\n{file.read_text('utf-8')}" for file in licences]
    (target / "licences.txt").write_text(f"\n\n{'-' * 40}\n\n".join(texts), "utf-8")
    write_worker(target)


def install() -> Path:
    """The folder of npm's packages, installed by the lock, which has the hash of each; none of their scripts runs."""
    SCRATCH.mkdir(parents=True, exist_ok=True)
    stamp = SCRATCH / "node_modules" / ".locked"
    wanted = b"".join((HERE / name).read_bytes() for name in _LOCKED)
    for name in _LOCKED:
        shutil.copyfile(HERE / name, SCRATCH / name)
    if not stamp.exists() or stamp.read_bytes() != wanted:
        run("npm", "ci", "--ignore-scripts", "--no-audit", "--no-fund", "--loglevel=error")
        stamp.write_bytes(wanted)
    shutil.copytree(HERE / "page", SCRATCH / "page", dirs_exist_ok=True)
    shutil.copyfile(HERE / "compile.mjs", SCRATCH / "compile.mjs")
    return SCRATCH / "node_modules"


def run(*words: str) -> None:
    """Runs a program beside npm's packages. Raises: OSError, CalledProcessError."""
    subprocess.run(words, cwd=SCRATCH, check=True)  # noqa: S603


def collect() -> dict[str, bytes]:
    """Python's part by name: our package, PyYAML without its compiled module, and the runtime of the playground."""
    files = {file.name: file.read_bytes() for file in sorted((HERE / "runtime").glob("*.py")) if file.name != "__init__.py"}
    for name, folder in (("dynamo_webhooks", ROOT / "dynamo_webhooks"), ("yaml", Path(yaml.__file__).parent)):
        rooms = [folder, *(room for room in folder.iterdir() if room.is_symlink())]  # which rglob does not follow
        paths = [file for room in rooms for file in room.rglob("*") if file.suffix in _DATA and not {*_NOT}.intersection(file.parts)]
        files |= {f"{name}/{file.relative_to(folder)}": file.read_bytes() for file in paths if file.is_file()}
    return files


def write_worker(target: Path) -> None:
    """Writes the service worker, which keeps all other files, under a name that changes with any of them."""
    files = {str(file.relative_to(target)): file.read_bytes() for file in sorted(target.rglob("*")) if file.is_file()}
    digest = hashlib.sha256(b"".join(name.encode() + b"\0" + hashlib.sha256(content).digest() for name, content in files.items()))
    text = (HERE / "page" / "sw.js").read_text()
    names = json.dumps(["./", *(name for name in files if name != "licences.txt")])
    (target / "sw.js").write_text(text.replace("%DIGEST%", digest.hexdigest()[:16]).replace("%FILES%", names))


if __name__ == "__main__":
    sys.exit(main())
