"""Copies an installed application with all that it needs to run, and nothing else, into an empty directory: `python collect.py DIR`.

Run by the interpreter of the virtual environment that is to be copied; the result is the whole file system of the container image.
There is no shell in it, no package installer and no program but the interpreter.
"""

from __future__ import annotations

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
# Folder -> what is left out of it: of the standard library what only people at a terminal or builders of packages use, of the environment
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


def main() -> int:
    """Fills the directory; 1 with a sentence when a library is missing."""
    target = Path(sys.argv[1])
    stdlib = Path(sysconfig.get_path("stdlib"))
    environment, interpreter = Path(sys.prefix), Path(sys.executable).resolve()
    packages = Path(sysconfig.get_path("purelib"))
    programs = tuple(path.name for path in (environment / "bin").iterdir() if not _PROGRAMS.fullmatch(path.name))
    unwanted = {stdlib: _LIBRARY, packages: _PACKAGES, environment / "bin": programs}
    copied = [_tree(stdlib, target, unwanted), _tree(environment, target, unwanted), _file(interpreter, target)]
    _links(environment / "bin" / "python", target)
    missing = _libraries([path for root in copied for path in _objects(root)], target)
    for name, text in FILES.items():
        place = target / name
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_text(text)
    _file(Path("/etc/ld.so.cache"), target)
    scratch = target / "tmp"
    scratch.mkdir(exist_ok=True)
    scratch.chmod(0o1777)  # a mode that is given to mkdir is cut by the umask
    if missing:
        sys.stderr.write("no such library on this machine: " + ", ".join(sorted(missing)) + "\n")
    return 1 if missing else 0


def _tree(source: Path, target: Path, unwanted: dict[Path, tuple[str, ...]]) -> Path:
    def ignore(folder: str, names: list[str]) -> list[str]:
        return [name for name in names if any(fnmatch(name, pattern) for pattern in unwanted.get(Path(folder), ()))]

    place = target / source.relative_to("/")
    shutil.copytree(source, place, symlinks=True, ignore=ignore, dirs_exist_ok=True)
    return place


def _file(source: Path, target: Path) -> Path:
    place = target / source.relative_to("/")
    if source.exists():
        place.parent.mkdir(parents=True, exist_ok=True)
        shutil.copy2(source, place)
    return place


def _links(link: Path, target: Path) -> None:
    """Copies a chain of symbolic links up to the file that it leads to."""
    while link.is_symlink():
        place = target / link.relative_to("/")
        place.parent.mkdir(parents=True, exist_ok=True)
        if not place.is_symlink():
            place.symlink_to(link.readlink())
        link = Path(os.path.normpath(link.parent / link.readlink()))


def _objects(root: Path) -> list[Path]:
    files = [root] if root.is_file() else [path for path in root.rglob("*") if path.is_file() and not path.is_symlink()]
    return [path for path in files if (path.suffix == ".so" or ".so." in path.name or os.access(path, os.X_OK)) and _is_elf(path)]


def _is_elf(path: Path) -> bool:
    with path.open("rb") as opened:
        return opened.read(4) == ELF


def _libraries(objects: list[Path], target: Path) -> set[str]:
    """Copies the shared libraries of the objects to where the loader looks for them; returns the names of those that are not there."""
    found: set[str] = set()
    missing: set[str] = set()
    ldd = shutil.which("ldd") or "/usr/bin/ldd"
    for path in objects:
        listed = subprocess.run([ldd, path], capture_output=True, text=True, check=False).stdout  # noqa: S603 - our own files
        found.update(re.findall(r"^\s*(?:\S+ => )?(/\S+) \(0x", listed, re.MULTILINE))
        missing.update(re.findall(r"^\s*(\S+) => not found", listed, re.MULTILINE))
    beside = {Path(name).with_name(BY_NAME) for name in found if Path(name).name.startswith("libc.so")}
    for library in sorted({*map(Path, found), *beside}):
        if not library.is_relative_to(target):
            _file(library, target)
    return missing


if __name__ == "__main__":
    sys.exit(main())
