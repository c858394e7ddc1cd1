"""Builds programs for tests once: `python -m tests.cluster.assets.build [SET...]`, without a name all of them.

The modules beside this file pin every source. The binaries land outside the checkout, in the user's cache, each set in a directory whose
name is the hash of what it is built from. `KUBEBUILDER_ASSETS` names a directory of a ready-made control plane instead. Starting the
programs is `harness.py`'s and `neighbours.py`'s.
"""

from __future__ import annotations

import fcntl
import hashlib
import os
import shutil
import subprocess
import sys
import tempfile
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

HERE: Final = Path(__file__).parent
VERSION: Final = "v1.34.4"


@dataclass(frozen=True, slots=True)
class AssetSet:
    """Programs that are built and cached together, and directories of upstream modules that are copied beside them."""

    name: str  # begins the name of its directory
    programs: Mapping[str, tuple[str, str]]  # program -> the module beside this file that it is built in, and its package there
    directories: Mapping[str, tuple[str, str, str]] = field(default_factory=dict)  # name -> module beside this file, Go module, path in it


CONTROL_PLANE: Final = AssetSet(
    "assets",
    {
        "etcd": ("etcd", "."),
        "kube-apiserver": ("kubernetes", "./kube-apiserver"),
        "kube-controller-manager": ("kubernetes", "./kube-controller-manager"),
        "kubectl": ("kubernetes", "./kubectl"),
    },
)
HELM: Final = AssetSet("helm", {"helm": ("helm", "helm.sh/helm/v3/cmd/helm")})
LWS: Final = AssetSet("lws", {"lws": ("lws", "sigs.k8s.io/lws/cmd")}, {"config": ("lws", "sigs.k8s.io/lws", "config")})
SCHEDULER: Final = AssetSet("kube-scheduler", {"kube-scheduler": ("kubernetes", "./kube-scheduler")})
KWOK: Final = AssetSet("kwok", {"kwok": ("kwok", "sigs.k8s.io/kwok/cmd/kwok")})
CERT_MANAGER: Final = AssetSet(
    "cert-manager",
    {"cert-manager": ("cert-manager", "github.com/cert-manager/cert-manager/cmd/controller")},
    {"crds": ("cert-manager", "github.com/cert-manager/cert-manager", "deploy/crds")},
)
PROMTOOL: Final = AssetSet("promtool", {"promtool": ("promtool", "github.com/prometheus/prometheus/cmd/promtool")})
SETS: Final = {each.name: each for each in (CONTROL_PLANE, HELM, LWS, SCHEDULER, KWOK, CERT_MANAGER, PROMTOOL)}
# The control plane cannot start without these; ready-made directories of other projects often lack the fourth.
NEEDED: Final = ("etcd", "kube-apiserver", "kubectl")
_STAMPS: Final = {"gitVersion": VERSION, "gitMajor": "1", "gitMinor": "34"}


class AssetsMissingError(Exception):
    """There are no binaries and none can be built; the message says what to do."""


def directory_of(wanted: AssetSet = CONTROL_PLANE) -> Path:
    """Names the directory of a set for what is pinned now; it may not exist yet."""
    root = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
    digest = hashlib.sha256()
    for path in sorted(_sources(wanted)):
        digest.update(path.read_bytes())
    return Path(root) / "dynamo-webhooks" / f"{wanted.name}-{digest.hexdigest()[:16]}"


def _sources(wanted: AssetSet) -> set[Path]:
    found = {HERE / module / name for module, _ in wanted.programs.values() for name in ("go.mod", "go.sum")}
    return found | {path for module, package in wanted.programs.values() for path in (HERE / module / package).glob("*.go")}


def ready_made() -> Path | None:
    """Returns the directory that `KUBEBUILDER_ASSETS` names. Raises AssetsMissingError when a program is not in it."""
    named = os.environ.get("KUBEBUILDER_ASSETS")
    if not named:
        return None
    lacking = [program for program in NEEDED if not (Path(named) / program).is_file()]
    if lacking:
        raise AssetsMissingError(f"KUBEBUILDER_ASSETS names a directory without {', '.join(lacking)}")
    return Path(named)


def find(wanted: AssetSet = CONTROL_PLANE) -> Path | None:
    """Returns the directory of a set when it is there already, without building anything."""
    if wanted is CONTROL_PLANE and (found := ready_made()):
        return found
    target = directory_of(wanted)
    return target if target.is_dir() else None


def build(wanted: AssetSet = CONTROL_PLANE) -> Path:
    """Returns the directory of a set, building it first when it is not there: minutes of two cores, up to 300 MB.

    Two callers at once build once: the second waits for the first. A build that is broken off leaves nothing that looks complete.
    """
    return find(wanted) or _built(wanted, directory_of(wanted))


def build_helm() -> Path:
    """Returns the path of helm, building it first when it is not there: a minute, 60 MB."""
    return build(HELM) / "helm"


def _built(wanted: AssetSet, target: Path) -> Path:
    if shutil.which("go") is None:
        ready = ", and KUBEBUILDER_ASSETS is not set" if wanted is CONTROL_PLANE else ""
        raise AssetsMissingError(f"there is no go on the PATH to build {', '.join(wanted.programs)} with{ready}")
    target.parent.mkdir(parents=True, exist_ok=True)
    with (target.parent / "building.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not target.is_dir():
            _build_into(target, wanted)
    return target


def _build_into(target: Path, wanted: AssetSet) -> None:
    with tempfile.TemporaryDirectory(prefix="building-", dir=target.parent) as scratch:
        finished = Path(scratch) / "assets"
        finished.mkdir()
        for program, (module, package) in wanted.programs.items():
            sys.stderr.write(f"building {program}\n")
            _compile(HERE / module, package, finished / program)
        for name, (module, source, path) in wanted.directories.items():
            found = _go(HERE / module, f"finding {source}", "list", "-m", "-f", "{{.Dir}}", source).strip()
            _copy(Path(found) / path, finished / name)
        finished.rename(target)


def _copy(source: Path, target: Path) -> None:
    """Copies a directory of the module cache, but not its modes: nothing there can be written or deleted."""
    for file in (found for found in source.rglob("*") if found.is_file()):
        (target / file.relative_to(source)).parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(file, target / file.relative_to(source))


def _compile(module: Path, package: str, output: Path) -> None:
    stamps = " ".join(f"-X k8s.io/component-base/version.{name}={value}" for name, value in _STAMPS.items())
    _go(module, f"building {output.name}", "build", "-p", "2", "-trimpath", "-ldflags", f"-s -w {stamps}", "-o", str(output), package)


def _go(module: Path, doing: str, *words: str) -> str:
    settings = {"GOTOOLCHAIN": "local", "GOFLAGS": "-mod=readonly -buildvcs=false", "CGO_ENABLED": "0", "GOWORK": "off"}
    done = subprocess.run(["go", *words], cwd=module, env={**os.environ, **settings}, capture_output=True, text=True, check=False)
    if done.returncode:
        remedy = "modules come from the module cache, or from where GOPROXY says: `go mod download` there shows whether they can be had"
        raise AssetsMissingError(f"{doing} failed in {module}; {remedy}\n{done.stderr[-2000:]}")
    return done.stdout


def main(names: Sequence[str]) -> int:
    """Builds what is missing of the named sets and writes where each is to standard output."""
    if unknown := set(names) - {*SETS}:
        sys.stderr.write(f"no set is named {', '.join(sorted(unknown))}; there are {', '.join(SETS)}\n")
        return 2
    try:
        for name in names or SETS:
            sys.stdout.write(f"{build(SETS[name])}\n")
    except AssetsMissingError as missing:
        sys.stderr.write(f"{missing}\n")
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
