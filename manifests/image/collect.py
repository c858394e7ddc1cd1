"""Copies an installed application with all that it needs to run, and nothing else, into an empty directory: `python collect.py DIR`.

Run by the interpreter of the virtual environment that is to be copied; the result is the whole file system of the container image.
There is no shell in it, no package installer and no program but the interpreter. With `--home`, the environment gets that path in the
image; with `--compile`, all modules are compiled, and stay valid whatever times their files have.
"""

import argparse
import os
import re
import shutil
import subprocess
import sys
import sysconfig
from fnmatch import fnmatch
from pathlib import Path
from typing import Final

ELF: Final = b"\x7fELF"
# Folder -> excluded files: of the standard library those for interactive use and for building packages, of the environment
# the installer; programs are named below. Only ever at these places: a pattern for all folders would take files of the application with it.
_LIBRARY: Final = ("test", "idlelib", "tkinter", "turtledemo", "ensurepip", "lib2to3", "site-packages", "dist-packages", "config-*")
_PACKAGES: Final = ("pip", "pip-*.dist-info")
_PROGRAMS: Final = re.compile(r"python[\d.]*|dynamo-webhooks")  # what stays of them: scripts of dependencies are for other uses
USER: Final = 65532
FILES: Final = {
    "etc/passwd": f"dynamo:x:{USER}:{USER}::/:/none\n",
    "etc/group": f"dynamo:x:{USER}:\n",
    "etc/nsswitch.conf": "hosts: files dns\n",
}
# Loaded by name while running, so that no program names it: threads end by it.
BY_NAME: Final = "libgcc_s.so.1"


_COMPILED: Final = "__pycache__"


def main() -> int:
    """Fills the directory; 1 with a sentence when a library is missing."""
    options = _arguments()
    stdlib = Path(sysconfig.get_path("stdlib"))
    environment, interpreter = Path(sys.prefix), Path(sys.executable).resolve()
    target, home = options.target, options.home or environment
    programs = tuple(path.name for path in (environment / "bin").iterdir() if not _PROGRAMS.fullmatch(path.name))
    unwanted = {stdlib: _LIBRARY, Path(sysconfig.get_path("purelib")): _PACKAGES, environment / "bin": programs}
    always = (_COMPILED,) if options.compile else ()
    copied = [_tree(stdlib, _below(target, stdlib), unwanted, always), _tree(environment, _below(target, home), unwanted, always)]
    missing = _libraries([path for root in (*copied, _file(interpreter, target)) for path in _objects(root)], target)
    link = environment / "bin" / "python"
    while link.is_symlink() and link.is_relative_to(environment):  # these were copied with it
        link = _linked(link)
    _links(link, target)
    if home != environment:
        _move(_below(target, home), home)
    for name, text in FILES.items():
        place = target / name
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_text(text)
    _file(Path("/etc/ld.so.cache"), target)
    scratch = target / "tmp"
    scratch.mkdir(exist_ok=True)
    scratch.chmod(0o1777)  # a mode that is given to mkdir is cut by the umask
    if options.compile:
        _compile(copied, target)
    if missing:
        sys.stderr.write("no such library on this machine: " + ", ".join(sorted(missing)) + "\n")
    return 1 if missing else 0


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description="Fills the root of an image from this interpreter's environment.")
    parser.add_argument("target", type=Path)
    parser.add_argument("--home", type=Path)
    parser.add_argument("--compile", action="store_true")
    return parser.parse_args()


def _below(target: Path, path: Path) -> Path:
    return target / path.relative_to("/")


def _tree(source: Path, place: Path, unwanted: dict[Path, tuple[str, ...]], always: tuple[str, ...]) -> Path:
    def ignore(folder: str, names: list[str]) -> list[str]:
        patterns = (*unwanted.get(Path(folder), ()), *always)
        return [name for name in names if any(fnmatch(name, pattern) for pattern in patterns)]

    shutil.copytree(source, place, symlinks=True, ignore=ignore, dirs_exist_ok=True)
    return place


def _file(source: Path, target: Path) -> Path:
    place = _below(target, source)
    if source.exists():
        place.parent.mkdir(parents=True, exist_ok=True)
        shutil.copy2(source, place)
    return place


def _linked(link: Path) -> Path:
    """Follows a link, one step."""
    return Path(os.path.normpath(link.parent / link.readlink()))


def _links(link: Path, target: Path) -> None:
    """Copies a chain of symbolic links up to the file that it leads to."""
    while link.is_symlink():
        place = _below(target, link)
        place.parent.mkdir(parents=True, exist_ok=True)
        if not place.is_symlink():
            place.symlink_to(link.readlink())
        link = _linked(link)


def _move(place: Path, home: Path) -> None:
    """Makes a copied environment run at its path in the image, and forget where it was."""
    lines = (place / "pyvenv.cfg").read_text().splitlines()
    (place / "pyvenv.cfg").write_text("".join(f"{line}\n" for line in lines if not line.startswith("command ")))
    for record in place.glob("lib/python3*/site-packages/*.dist-info/RECORD"):  # programs have digests by where they were
        record.write_text("".join(line for line in record.read_text().splitlines(keepends=True) if not line.startswith("../")))
    script = place / "bin" / "dynamo-webhooks"
    script.write_text(f"#!{home}/bin/python\nimport sys\n\nfrom dynamo_webhooks.cli.main import main\n\nsys.exit(main())\n")


def _compile(folders: list[Path], target: Path) -> None:
    """Compiles all modules in order, in one process, so that the same modules give the same bytes."""
    words = ["-q", "-f", "--invalidation-mode", "unchecked-hash", "-s", str(target), "-p", "/"]
    command = [sys.executable, "-m", "compileall", *words, *map(str, folders)]
    subprocess.run(command, env={**os.environ, "PYTHONHASHSEED": "0"}, check=True)  # noqa: S603 - our own files


def _objects(root: Path) -> list[Path]:
    files = [root] if root.is_file() else [path for path in root.rglob("*") if path.is_file() and not path.is_symlink()]
    return [path for path in files if (path.suffix == ".so" or ".so." in path.name or os.access(path, os.X_OK)) and _is_elf(path)]


def _is_elf(path: Path) -> bool:
    with path.open("rb") as opened:
        return opened.read(4) == ELF


def _libraries(objects: list[Path], target: Path) -> set[str]:
    """Copies the shared libraries of the objects to where the loader looks for them; returns the names of those that are not there."""
    libraries: set[str] = set()
    missing: set[str] = set()
    ldd = shutil.which("ldd") or "/usr/bin/ldd"
    for path in objects:
        listed = subprocess.run([ldd, path], capture_output=True, text=True, check=False).stdout  # noqa: S603 - our own files
        libraries.update(re.findall(r"^\s*(?:\S+ => )?(/\S+) \(0x", listed, re.MULTILINE))
        missing.update(re.findall(r"^\s*(\S+) => not found", listed, re.MULTILINE))
    beside = {Path(name).with_name(BY_NAME) for name in libraries if Path(name).name.startswith("libc.so")}
    for library in sorted({*map(Path, libraries), *beside}):
        if not library.is_relative_to(target):
            _file(library, target)
    return missing


if __name__ == "__main__":
    sys.exit(main())
