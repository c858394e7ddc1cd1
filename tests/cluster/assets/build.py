"""Builds programs for tests once: `python -m tests.cluster.assets.build [SET...]`, without a name all.

The modules beside this file pin every source. The binaries land outside the checkout, in the user's cache, each set in a directory whose
name is the hash of what it is built from. `KUBERNETES` names another version of the control plane and the scheduler, such as 1.33; its pins
are `kubernetes/1.33.mod` and `.sum`, which `modules.py` writes. `KUBEBUILDER_ASSETS` names a directory of a ready-made control plane
instead. Starting the programs is `harness.py`'s and `neighbours.py`'s.
"""

import fcntl
import hashlib
import os
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

HERE: Final = Path(__file__).parent
USUAL: Final = "1.34"  # the version that answers were recorded on
OLDEST, NEWEST = "1.30", "1.37"  # those that CI tries beside it
KUBERNETES: Final = os.environ.get("KUBERNETES") or USUAL
VERSIONED: Final = ("kube-apiserver", "kube-controller-manager", "kube-scheduler")  # programs that other versions are built of
_BUILD_SECONDS: Final = 3600  # the slowest program takes three minutes of two idle cores
_RELEASE: Final = re.compile(r"k8s\.io/kubernetes (v1\.(\d+)\.\d+)$", re.MULTILINE)


@dataclass(frozen=True, slots=True)
class AssetSet:
    """Programs that are built and cached together, and directories of upstream modules that are copied beside them."""

    name: str  # begins the name of its directory
    programs: Mapping[str, tuple[str, str]]  # program -> the module beside this file that it is built in (MODULE@PINS), its package there
    directories: Mapping[str, tuple[str, str, str]] = field(default_factory=dict)  # name -> module beside this file, Go module, path in it


def module_of(minor: str) -> str:
    """The module of Kubernetes in a version such as 1.33."""
    return "kubernetes" if minor == USUAL else f"kubernetes@{minor}"


def plane_of(minor: str) -> AssetSet:
    """The control plane of a version; etcd and kubectl are the usual ones."""
    pinned = {program: (module_of(minor), f"./{program}") for program in VERSIONED[:2]}
    usual = {"etcd": ("etcd", "."), "kubectl": ("kubernetes", "./kubectl")}
    return AssetSet("assets" if minor == USUAL else f"assets-{minor}", {**usual, **pinned})


CONTROL_PLANE: Final = plane_of(KUBERNETES)
HELM: Final = AssetSet("helm", {"helm": ("helm", "helm.sh/helm/v3/cmd/helm")})
LWS: Final = AssetSet("lws", {"lws": ("lws", "sigs.k8s.io/lws/cmd")}, {"config": ("lws", "sigs.k8s.io/lws", "config")})
LWS_0_9: Final = AssetSet("lws-0.9", {"lws": ("lws@0.9", "sigs.k8s.io/lws/cmd")}, {"config": ("lws@0.9", "sigs.k8s.io/lws", "config")})
SCHEDULER: Final = AssetSet("kube-scheduler", {"kube-scheduler": (module_of(KUBERNETES), "./kube-scheduler")})
NODE: Final = AssetSet("node", {program: ("kubernetes@node", f"./{program}") for program in ("kubelet", "kube-proxy")})
KWOK: Final = AssetSet("kwok", {"kwok": ("kwok", "sigs.k8s.io/kwok/cmd/kwok")})
CERT_MANAGER: Final = AssetSet(
    "cert-manager",
    {"cert-manager": ("cert-manager", "github.com/cert-manager/cert-manager/cmd/controller")},
    {"crds": ("cert-manager", "github.com/cert-manager/cert-manager", "deploy/crds")},
)
PROMTOOL: Final = AssetSet("promtool", {"promtool": ("promtool", "github.com/prometheus/prometheus/cmd/promtool")})
ACTIONLINT: Final = AssetSet("actionlint", {"actionlint": ("actionlint", "github.com/rhysd/actionlint/cmd/actionlint")})
VERSIONS: Final = {minor: plane_of(minor) for minor in (OLDEST, NEWEST)}
_ALL: Final = (CONTROL_PLANE, HELM, LWS, LWS_0_9, SCHEDULER, KWOK, CERT_MANAGER, PROMTOOL, ACTIONLINT, NODE, *VERSIONS.values())
SETS: Final = {each.name: each for each in _ALL}
# The control plane cannot start without these; ready-made directories of other projects often lack the fourth.
NEEDED: Final = ("etcd", "kube-apiserver", "kubectl")


class AssetsMissingError(Exception):
    """There are no binaries and none can be built; the message says what to do."""


def release_of(minor: str = KUBERNETES) -> str:
    """The release that is pinned of a version: v1.34.4."""
    return _released(module_of(minor))[1]


def _released(module: str) -> re.Match[str]:
    match = _RELEASE.search(_pins(module)[0].read_text(encoding="utf-8"))
    assert match, f"{module} names no release of Kubernetes"
    return match


def _pins(module: str) -> tuple[Path, Path]:
    """Both files of a module. Raises AssetsMissingError when that version of Kubernetes has none."""
    name, _, minor = module.partition("@")
    file = HERE / name / f"{minor or 'go'}.mod"
    if not file.is_file():
        there = ", ".join(sorted([USUAL, *(each.stem for each in file.parent.glob("1.*.mod"))]))
        remedy = f"python -m tests.cluster.assets.modules {minor}.N writes those of release {minor}.N"
        raise AssetsMissingError(f"no Kubernetes {minor} is pinned, only {there}; {remedy}")
    return file, file.with_suffix(".sum")


def directory_of(wanted: AssetSet = CONTROL_PLANE) -> Path:
    """Names the directory of a set for what is pinned now; it may not exist yet."""
    root = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
    digest = hashlib.sha256()
    for path in sorted(_sources(wanted)):
        digest.update(path.read_bytes())
    return Path(root) / "dynamo-webhooks" / f"{wanted.name}-{digest.hexdigest()[:16]}"


def _sources(wanted: AssetSet) -> set[Path]:
    pins = {file for module, _ in wanted.programs.values() for file in _pins(module)}
    return pins | {file for module, package in wanted.programs.values() for file in (_home(module) / package).glob("*.go")}


def _home(module: str) -> Path:
    return HERE / module.partition("@")[0]


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
    if wanted is CONTROL_PLANE and (directory := ready_made()):
        return directory
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
            _compile(module, package, finished / program)
        for name, (module, source, path) in wanted.directories.items():
            pins = f"-modfile={_pins(module)[0].name}"
            directory = run_go(_home(module), f"finding {source}", "list", "-m", pins, "-f", "{{.Dir}}", source).strip()
            _copy(Path(directory) / path, finished / name)
        finished.rename(target)


def _copy(source: Path, target: Path) -> None:
    """Copies a directory of the module cache, but not its modes: nothing there can be written or deleted."""
    for file in (path for path in source.rglob("*") if path.is_file()):
        (target / file.relative_to(source)).parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(file, target / file.relative_to(source))


def _compile(module: str, package: str, output: Path) -> None:
    release = _released(module if module.startswith("kubernetes") else "kubernetes")
    stamped = {"gitVersion": release[1], "gitMajor": "1", "gitMinor": release[2]}
    stamps = " ".join(f"-X k8s.io/component-base/version.{name}={value}" for name, value in stamped.items())
    words = ["-p", "2", "-trimpath", f"-modfile={_pins(module)[0].name}", "-ldflags", f"-s -w {stamps}", "-o", str(output), package]
    run_go(_home(module), f"building {output.name}", "build", *words)


def run_go(module: Path, doing: str, *words: str) -> str:
    """Runs go in a module's directory and returns what it writes. Raises AssetsMissingError when it fails or takes an hour."""
    settings = {"GOTOOLCHAIN": "local", "GOFLAGS": "-mod=readonly -buildvcs=false", "CGO_ENABLED": "0", "GOWORK": "off"}
    try:
        done = subprocess.run(
            ["go", *words], cwd=module, env={**os.environ, **settings}, capture_output=True, text=True, check=False, timeout=_BUILD_SECONDS
        )
    except subprocess.TimeoutExpired as late:
        raise AssetsMissingError(f"{doing} in {module} took longer than {_BUILD_SECONDS} s") from late
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
