"""Builds etcd, kube-apiserver, kube-controller-manager, kubectl and helm once: `python -m tests.cluster.assets.build`.

The modules beside this file pin every source. The binaries land outside the checkout, in the user's cache, under a name that is the
hash of what they are built from; `KUBEBUILDER_ASSETS` names a directory of ready-made ones instead, which may lack helm: that one lies
in a directory of its own, because no control plane needs it. Starting them is `harness.py`'s.
"""

from __future__ import annotations

import fcntl
import hashlib
import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Mapping

HERE: Final = Path(__file__).parent
VERSION: Final = "v1.34.4"
# Program -> the module it is built in and its package there.
PROGRAMS: Final[dict[str, tuple[str, str]]] = {
    "etcd": ("etcd", "."),
    "kube-apiserver": ("kubernetes", "./kube-apiserver"),
    "kube-controller-manager": ("kubernetes", "./kube-controller-manager"),
    "kubectl": ("kubernetes", "./kubectl"),
}
HELM: Final = ("helm", "helm.sh/helm/v3/cmd/helm")
# The control plane cannot start without these; ready-made directories of other projects often lack the fourth.
NEEDED: Final = ("etcd", "kube-apiserver", "kubectl")
_STAMPS: Final = {"gitVersion": VERSION, "gitMajor": "1", "gitMinor": "34"}


class AssetsMissingError(Exception):
    """There are no binaries and none can be built; the message says what to do."""


def cache_directory() -> Path:
    """Names the directory of the control plane for what is pinned now; it may not exist yet."""
    return _cached("assets", *{module for module, _ in PROGRAMS.values()})


def helm_directory() -> Path:
    """Names the directory of helm for what is pinned now; it may not exist yet."""
    return _cached("helm", HELM[0])


def _cached(name: str, *modules: str) -> Path:
    root = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
    digest = hashlib.sha256()
    for path in sorted(path for pattern in ("go.mod", "go.sum", "*.go") for module in modules for path in (HERE / module).rglob(pattern)):
        digest.update(path.read_bytes())
    return Path(root) / "dynamo-webhooks" / f"{name}-{digest.hexdigest()[:16]}"


def ready_made() -> Path | None:
    """Returns the directory that `KUBEBUILDER_ASSETS` names. Raises AssetsMissingError when a program is not in it."""
    named = os.environ.get("KUBEBUILDER_ASSETS")
    if not named:
        return None
    lacking = [program for program in NEEDED if not (Path(named) / program).is_file()]
    if lacking:
        raise AssetsMissingError(f"KUBEBUILDER_ASSETS names a directory without {', '.join(lacking)}")
    return Path(named)


def find() -> Path | None:
    """Returns the directory of the binaries when they are there already, without building anything."""
    if found := ready_made():
        return found
    target = cache_directory()
    return target if target.is_dir() else None


def build() -> Path:
    """Returns the directory of the binaries, building them first when they are not there: minutes of two cores, 300 MB.

    Two callers at once build once: the second waits for the first. A build that is broken off leaves nothing that looks complete.
    """
    return find() or _built(cache_directory(), PROGRAMS)


def build_helm() -> Path:
    """Returns the path of helm, building it first when it is not there: a minute, 60 MB."""
    target = helm_directory()
    return (target if target.is_dir() else _built(target, {"helm": HELM})) / "helm"


def _built(target: Path, programs: Mapping[str, tuple[str, str]]) -> Path:
    if shutil.which("go") is None:
        raise AssetsMissingError(f"there is no go on the PATH to build {', '.join(programs)} with, and KUBEBUILDER_ASSETS is not set")
    target.parent.mkdir(parents=True, exist_ok=True)
    with (target.parent / "building.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not target.is_dir():
            _build_into(target, programs)
    return target


def _build_into(target: Path, programs: Mapping[str, tuple[str, str]]) -> None:
    with tempfile.TemporaryDirectory(prefix="building-", dir=target.parent) as scratch:
        finished = Path(scratch) / "assets"
        finished.mkdir()
        for program, (module, package) in programs.items():
            sys.stderr.write(f"building {program}\n")
            _compile(HERE / module, package, finished / program)
        finished.rename(target)


def _compile(module: Path, package: str, output: Path) -> None:
    stamps = " ".join(f"-X k8s.io/component-base/version.{name}={value}" for name, value in _STAMPS.items())
    command = ["go", "build", "-p", "2", "-trimpath", "-ldflags", f"-s -w {stamps}", "-o", str(output), package]
    settings = {"GOTOOLCHAIN": "local", "GOFLAGS": "-mod=readonly -buildvcs=false", "CGO_ENABLED": "0", "GOWORK": "off"}
    done = subprocess.run(command, cwd=module, env={**os.environ, **settings}, stderr=subprocess.PIPE, text=True, check=False)
    if done.returncode:
        raise AssetsMissingError(f"building {output.name} failed:\n{done.stderr[-2000:]}")


def main() -> int:
    """Builds what is missing and writes where it is to standard output."""
    try:
        sys.stdout.write(f"{build()}\n{build_helm()}\n")
    except AssetsMissingError as missing:
        sys.stderr.write(f"{missing}\n")
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
