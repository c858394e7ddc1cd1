"""Tests a node in namespaces of its own, with which the kernel ends all of it: `python -m tests.node [ARGUMENT OF PYTEST...]`."""

import os
import shlex
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Final

from tests.cluster.assets.build import CERT_MANAGER, CONTROL_PLANE, LWS, NODE, SCHEDULER, build
from tests.cluster.processes import die_with_parent
from tests.node.cgroups import make_cgroups, remove_cgroups
from tests.node.image import make_engine_image, make_image, make_older_image
from tests.node.lacking import NAMESPACES, find_lacking
from tests.node.node import CGROUPS, IMAGES
from tests.node.pause import make_pause

# each has a cluster: tests mostly wait for programs, and those for their intervals
_MACHINES: Final = int(os.environ.get("MACHINES", "4"))


def main(arguments: Sequence[str]) -> int:
    """Builds what isn't built, which needs the network, and runs pytest. Where no node can run, says why, and fails only in CI."""
    if reason := find_lacking():
        sys.stderr.write(f"{reason}\n")
        return int(bool(os.environ.get("CI")))
    for programs in (CONTROL_PLANE, SCHEDULER, NODE, CERT_MANAGER, LWS):
        build(programs)
    images = make_image(), make_older_image(), make_engine_image()
    remove_cgroups()
    before = _look()
    cgroups = make_cgroups(_MACHINES)
    with tempfile.TemporaryDirectory(prefix="node-", ignore_cleanup_errors=True) as home:
        workers = [part for number in range(_MACHINES) for part in ("--tx", _worker(f"{home}/{number}", f"/{cgroups}/{number}"))]
        marked = ["-m", "node", "--durations=40", f"--basetemp={home}/tests"]
        # in their order, since tests of a module share an installation
        ordered = ["-p", "no:randomly", "--dist", "loadscope", "--no-loadscope-reorder"]
        command = [sys.executable, "-m", "pytest", *marked, *ordered, *workers, *arguments]
        around = {**os.environ, IMAGES: ":".join(map(str, [make_pause(Path(home)), *images]))}
        done = subprocess.run(command, check=False, env=around, preexec_fn=die_with_parent)
        processes = [f"process {file.parent.name}" for file in Path("/proc").glob("[0-9]*/cmdline") if home in _read(file)]
    left = [*processes, *remove_cgroups(cgroups), *sorted(_look() - before)]
    for each in left:
        sys.stderr.write(f"left behind: {each}\n")
    return done.returncode or int(bool(left))


def _worker(home: str, cgroups: str) -> str:
    """The process of pytest that runs tests on a machine of its own, as execnet names it."""
    inside = [sys.executable, "-m", "tests.node.inside", home, sys.executable]
    command = ["setpriv", "--pdeathsig", "KILL", "unshare", *NAMESPACES, *inside]
    return f"popen//python={shlex.join(command)}//env:{CGROUPS}={cgroups}"


def _read(file: Path) -> str:
    """The text of a file of a process; empty if that has ended."""
    try:
        return file.read_text(errors="replace")
    except OSError:
        return ""


def _look() -> set[str]:
    """The interfaces, mounts and rules of this machine that a node might have made."""
    interfaces = {f"interface {path.name}" for path in Path("/sys/class/net").iterdir()}
    mounts = {f"mount {line.split()[1]}" for line in Path("/proc/self/mounts").read_text().splitlines()}
    rules = subprocess.run(["iptables-save"], capture_output=True, text=True, check=False).stdout.splitlines()
    return interfaces | mounts | {f"rule {line}" for line in rules if line.startswith("-A")}


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
