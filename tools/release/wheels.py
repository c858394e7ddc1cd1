"""The locked wheels of an interpreter and a processor, fetched by pip, which compares each with its hash in the lock file."""

import sys
from pathlib import Path
from typing import Final

from tools.release.distributions import run
from tools.release.source import ROOT

PYTHONS: Final = ("3.11", "3.12", "3.13", "3.14")
PROCESSORS: Final = {"x86_64": "amd64", "aarch64": "arm64"}  # as Linux and as Go name them
FILES_LOCK: Final = ROOT / "requirements-files.lock"  # what commands on files need
EDITOR_LOCK: Final = ROOT / "requirements-lsp.lock"  # and the language server
SERVER_LOCK: Final = ROOT / "requirements-server.lock"
_LINUX: Final = ("manylinux2014", "manylinux_2_17", "manylinux_2_28")  # on glibc; pip takes the first that there is


def fetch(target: Path) -> list[Path]:
    """Fetches what commands on files and the language server need, for each interpreter and processor, into a folder; pure Python once."""
    for version in PYTHONS:
        for processor in PROCESSORS:
            platforms = [word for system in _LINUX for word in ("--platform", f"{system}_{processor}")]
            download(target, EDITOR_LOCK, "--python-version", version, "--implementation", "cp", *platforms)
    return sorted(target.glob("*.whl"))


def download(target: Path, lock: Path, *words: str) -> None:
    """Fetches the wheels of a lock file into a folder. Raises: ReleaseError."""
    always = ["--quiet", "--no-deps", "--only-binary", ":all:", "--require-hashes", "--dest", str(target), "--requirement", str(lock)]
    run([sys.executable, "-m", "pip", "download", *always, *words], ROOT)
