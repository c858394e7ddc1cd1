"""The wheel and the source distribution, built from an export of the commit by the locked setuptools and written again in plain order."""

from __future__ import annotations

import os
import subprocess
import sys
from typing import TYPE_CHECKING, Final

from tools.release.archives import read_tar, read_zip, write_tar, write_zip
from tools.release.source import ReleaseError

if TYPE_CHECKING:
    from pathlib import Path

_PATIENCE: Final = 900  # seconds, for each program
_HOOK: Final = "import sys; from setuptools import build_meta as hooks; getattr(hooks, 'build_' + sys.argv[1])(sys.argv[2])"


def build(source: Path, target: Path, epoch: int) -> tuple[Path, Path]:
    """Builds both into a folder; returns the wheel and the source distribution."""
    for kind in ("wheel", "sdist"):
        run([sys.executable, "-c", _HOOK, kind, str(target)], source, SOURCE_DATE_EPOCH=str(epoch))
    [wheel], [sdist] = target.glob("*.whl"), target.glob("*.tar.gz")
    write_zip(wheel, read_zip(wheel), epoch)
    write_tar(sdist, read_tar(sdist), epoch)
    return wheel, sdist


def run(command: list[str], folder: Path, **environment: str) -> None:
    """Runs a program of the build, with sets in one order. Raises: ReleaseError."""
    around = {**os.environ, "PYTHONHASHSEED": "0", "PIP_DISABLE_PIP_VERSION_CHECK": "1", **environment}
    try:
        done = subprocess.run(command, cwd=folder, env=around, capture_output=True, text=True, check=False, timeout=_PATIENCE)  # noqa: S603
    except subprocess.TimeoutExpired as late:
        raise ReleaseError(f"{command[2]} must end within {_PATIENCE} s, got no end; try again") from late
    if done.returncode:
        raise ReleaseError(f"{' '.join(command[:4])} must succeed, got exit code {done.returncode}: {(done.stderr or done.stdout)[-1500:]}")
