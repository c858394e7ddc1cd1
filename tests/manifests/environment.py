"""An environment with the built wheel and its dependencies alone, made without an index from what the tests run in."""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
from importlib import metadata
from pathlib import Path
from typing import Final

ROOT: Final = Path(__file__).parents[2]
ROOMS: Final = ("api", "policies", "conversion", "admission", "certs", "webhooks", "kube", "reconciler", "cli")
PACKAGE: Final = "dynamo_webhooks"  # the one name that is installed: a folder of links to the rooms


def copy_packages(place: Path) -> None:
    """Copies all that is installed, links as links."""
    for folder in (PACKAGE, *ROOMS):
        shutil.copytree(ROOT / folder, place / folder, symlinks=True, ignore=shutil.ignore_patterns("__pycache__"))


def build_wheel(home: Path) -> Path:
    """Builds the wheel from a copy of the sources, so that the checkout stays as it is."""
    source = home / "source"
    copy_packages(source)
    shutil.copytree(ROOT / "tools", source / "tools", ignore=shutil.ignore_patterns("__pycache__"))
    for name in ("pyproject.toml", "README.md", "LICENSE"):
        shutil.copy2(ROOT / name, source)
    command = [
        sys.executable,
        "-m",
        "pip",
        "wheel",
        "--quiet",
        "--disable-pip-version-check",
        "--no-deps",
        "--no-build-isolation",
        "-w",
        str(home / "wheel"),
        str(source),
    ]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    [wheel] = (home / "wheel").glob("*.whl")
    return wheel


def install(wheel: Path, place: Path) -> Path:
    """Makes an environment at `place` that holds the wheel and what it needs without an extra; returns its interpreter."""
    python = place / "bin" / "python"
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", place], check=True)
    command = [
        sys.executable,
        "-m",
        "pip",
        "--python",
        str(python),
        "install",
        "--quiet",
        "--disable-pip-version-check",
        "--no-deps",
        "--no-compile",
        str(wheel),
    ]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    [packages] = place.glob("lib/python3*/site-packages")
    [own] = packages.glob("dynamo_webhooks-*.dist-info")
    for name in _needed(metadata.Distribution.at(own)):
        _copy(metadata.distribution(name), packages)
    return python


def _needed(distribution: metadata.Distribution) -> set[str]:
    names: set[str] = set()
    waiting = [distribution]
    while waiting:
        for text in waiting.pop().requires or []:
            name = re.split(r"[^A-Za-z0-9._-]", text, maxsplit=1)[0]
            if "extra ==" in text or name in names:
                continue
            try:
                found = metadata.distribution(name)
            except metadata.PackageNotFoundError:  # needed elsewhere, by a marker: an older Python, another system
                continue
            names.add(name)
            waiting.append(found)
    return names


def _copy(distribution: metadata.Distribution, packages: Path) -> None:
    for file in distribution.files or []:
        if ".." in file.parts or "__pycache__" in file.parts:
            continue
        place = packages / Path(*file.parts)
        place.parent.mkdir(parents=True, exist_ok=True)
        shutil.copy2(str(file.locate()), place)
