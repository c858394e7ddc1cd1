"""An environment with the built wheel and its dependencies alone, made without an index from what the tests run in."""

import re
import shutil
import subprocess
import sys
from importlib import metadata
from pathlib import Path
from typing import Final

ROOT: Final = Path(__file__).parents[2]
ROOMS: Final = ("cel", "api", "policies", "conversion", "admission", "certs", "webhooks", "kube", "reconciler", "cli")
PACKAGE: Final = "dynamo_webhooks"  # the one name that is installed


def copy_sources(place: Path, *more: str) -> None:
    """Copies what is installed, and more files beside it, as Git checks it out where it may make no symbolic links: as text files."""
    for room in ROOMS:
        shutil.copytree(ROOT / room, place / room, ignore=shutil.ignore_patterns("__pycache__"))
        (place / PACKAGE).mkdir(exist_ok=True)
        (place / PACKAGE / room).write_text(f"../{room}")
    for name in ("setup.py", "pyproject.toml", "README.md", "LICENSE", f"{PACKAGE}/__init__.py", f"{PACKAGE}/__main__.py", *more):
        shutil.copyfile(ROOT / name, place / name)


def build_wheel(home: Path) -> Path:
    """Builds the wheel from a copy of the sources, so that the checkout stays as it is."""
    source = home / "source"
    copy_sources(source)
    shutil.copytree(ROOT / "tools", source / "tools", ignore=shutil.ignore_patterns("__pycache__"))
    run_pip("wheel", "--no-deps", "--no-build-isolation", "-w", home / "wheel", source)
    [wheel] = (home / "wheel").glob("*.whl")
    return wheel


def run_pip(*words: str | Path) -> None:
    command = [sys.executable, "-m", "pip", "--quiet", "--disable-pip-version-check", *words]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


def install(wheel: Path, place: Path) -> Path:
    """Makes an environment at `place` that holds the wheel and what it needs without an extra; returns its interpreter."""
    python = place / "bin" / "python"
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", place], check=True)
    run_pip("--python", python, "install", "--no-deps", "--no-compile", wheel)
    [packages] = place.glob("lib/python3*/site-packages")
    [own] = packages.glob("dynamo_webhooks-*.dist-info")
    for name in needed(metadata.Distribution.at(own)):
        for file in files(name):
            target = packages / Path(*file.parts)
            target.parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(str(file.locate()), target)
    return python


def needed(distribution: metadata.Distribution) -> set[str]:
    """What is installed here of the distributions that one needs without an extra, and of those that they need."""
    names: set[str] = set()
    waiting = [distribution]
    while waiting:
        for text in waiting.pop().requires or []:
            name = re.split(r"[^A-Za-z0-9._-]", text, maxsplit=1)[0]
            if "extra ==" in text or name in names:
                continue
            try:
                dependency = metadata.distribution(name)
            except metadata.PackageNotFoundError:  # needed elsewhere, by a marker: an older Python, another system
                continue
            names.add(name)
            waiting.append(dependency)
    return names


def files(name: str) -> list[metadata.PackagePath]:
    """The files of an installed distribution that lie among the packages, without compiled modules."""
    return [file for file in metadata.files(name) or [] if ".." not in file.parts and "__pycache__" not in file.parts]
