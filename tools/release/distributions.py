"""Runs the programs of a release: the locked setuptools builds wheels from an export of the commit, pip fetches the locked ones."""

import os
import platform
import re
import shutil
import subprocess
import sys
import sysconfig
from pathlib import Path
from typing import Final

from tools.release.archives import read_zip
from tools.release.source import ROOT, ReleaseError

_TIMEOUT_SECONDS: Final = 1800  # for each program; compilers take a minute of an idle core
_HOOK: Final = "import sys; from setuptools import build_meta; build_meta.build_wheel(sys.argv[1], {'--build-option': sys.argv[2:]})"
MAX_GLIBC_MINOR: Final = 28  # the newest 2.x that compiled modules may need: that of the oldest systems with a Python that is supported
MIN_MUSL_MINOR: Final = 2  # the oldest 1.x of musl that still gets fixes
_VERSIONED: Final = re.compile(rb"(GLIBC_[\d.]+|lib[\w+-]+\.so\.\d+)\0")  # symbols and libraries of glibc and gcc; musl has no versions


def build_wheel(source: Path, target: Path, epoch: int) -> Path:
    """Builds the interpreted wheel into a folder; setuptools writes its files in order, with the time `epoch`."""
    run([sys.executable, "-c", _HOOK, str(target)], source, SOURCE_DATE_EPOCH=str(epoch), DYNAMO_WEBHOOKS_COMPILE="0")
    [wheel] = target.glob("*-none-any.whl")
    return wheel


def build_compiled(source: Path, target: Path, epoch: int) -> Path:
    """Builds the wheel with compiled modules, for this interpreter and processor. Raises: ReleaseError where it needs a newer glibc."""
    wheel = _compile(source, target, f"manylinux_2_{MAX_GLIBC_MINOR}", "gcc", SOURCE_DATE_EPOCH=str(epoch))
    if (needed := newest_glibc(wheel)) > MAX_GLIBC_MINOR:
        raise ReleaseError(f"compiled modules must run on glibc 2.{MAX_GLIBC_MINOR}, got symbols of 2.{needed}; build on an older system")
    return wheel


def build_musl(source: Path, target: Path, epoch: int) -> Path:
    """Builds the same for musl, with this interpreter's headers. Raises: ReleaseError without its compiler, or where it needs glibc."""
    if not shutil.which("musl-gcc"):
        raise ReleaseError("musl-gcc must be installed, got none on the PATH; install Debian's musl-tools")
    suffix = str(sysconfig.get_config_var("EXT_SUFFIX")).replace("-gnu.", "-musl.")
    compiler = "musl-gcc -idirafter /usr/include"  # where Debian's Python has a header that its others include
    wheel = _compile(source, target, f"musllinux_1_{MIN_MUSL_MINOR}", compiler, SOURCE_DATE_EPOCH=str(epoch), SETUPTOOLS_EXT_SUFFIX=suffix)
    if needed := sorted({name for module in _modules(wheel) for name in _VERSIONED.findall(module)}):
        raise ReleaseError(f"modules for musl must need nothing but musl, got {b', '.join(needed).decode()}; look at musl-gcc's specs")
    return wheel


def _compile(source: Path, target: Path, platforms: str, compiler: str, **environment: str) -> Path:
    """Builds the wheel with compiled modules for one form of Linux."""
    tag = f"{platforms}_{platform.machine()}"
    command = [sys.executable, "-c", _HOOK, str(target), f"--plat-name={tag}"]
    linker = f"{compiler} -shared"  # the interpreter's own command may write its folder into each module
    run(command, source, DYNAMO_WEBHOOKS_COMPILE="1", CC=compiler, LDSHARED=linker, **environment)
    [wheel] = target.glob(f"*-{tag}.whl")
    return wheel


def newest_glibc(wheel: Path) -> int:
    """The newest 2.x of glibc that a compiled module in a wheel asks for by the version of a symbol; 0 without compiled modules."""
    return max((int(minor) for module in _modules(wheel) for minor in re.findall(rb"GLIBC_2\.(\d+)", module)), default=0)


def _modules(wheel: Path) -> list[bytes]:
    return [content for name, content in read_zip(wheel).items() if name.endswith(".so")]


def run(command: list[str], folder: Path, **environment: str) -> None:
    """Runs a program of the build, with sets in one order. Raises: ReleaseError."""
    around = {**os.environ, "PYTHONHASHSEED": "0", "PIP_DISABLE_PIP_VERSION_CHECK": "1", **environment}
    try:
        done = subprocess.run(command, cwd=folder, env=around, capture_output=True, text=True, check=False, timeout=_TIMEOUT_SECONDS)  # noqa: S603
    except subprocess.TimeoutExpired as late:
        raise ReleaseError(f"{command[2]} must end within {_TIMEOUT_SECONDS} s, got no end; try again") from late
    except FileNotFoundError as error:
        raise ReleaseError(f"{command[0]} must be installed, got none on the PATH; install it") from error
    if done.returncode:
        raise ReleaseError(f"{' '.join(command[:4])} must succeed, got exit code {done.returncode}: {(done.stderr or done.stdout)[-1500:]}")


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
