"""Tests a node in namespaces of its own, with which the kernel ends all of it: `python -m tests.node [ARGUMENT OF PYTEST...]`."""

import os
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path

from tests.cluster.assets.build import CONTROL_PLANE, NODE, SCHEDULER, build
from tests.cluster.processes import die_with_parent
from tests.node.cgroups import make_cgroups, remove_cgroups
from tests.node.image import make_image
from tests.node.lacking import NAMESPACES, find_lacking


def main(arguments: Sequence[str]) -> int:
    """Builds what isn't built, which needs the network, and runs pytest. Where no node can run, says why, and fails only in CI."""
    if reason := find_lacking():
        sys.stderr.write(f"{reason}\n")
        return int(bool(os.environ.get("CI")))
    for programs in (CONTROL_PLANE, SCHEDULER, NODE):
        build(programs)
    image = make_image()
    remove_cgroups()
    before = _look()
    cgroups = make_cgroups()
    with tempfile.TemporaryDirectory(prefix="node-", ignore_cleanup_errors=True) as home:
        command = ["unshare", *NAMESPACES, sys.executable, "-m", "tests.node.inside", home, *arguments]
        around = {**os.environ, "DYNAMO_NODE_IMAGE": str(image), "DYNAMO_NODE_CGROUPS": f"/{cgroups}"}
        done = subprocess.run(command, check=False, env=around, preexec_fn=die_with_parent)
    left = [*remove_cgroups(cgroups), *sorted(_look() - before)]
    for each in left:
        sys.stderr.write(f"left behind: {each}\n")
    return done.returncode or int(bool(left))


def _look() -> set[str]:
    """The interfaces, mounts and rules of this machine that a node might have made."""
    interfaces = {f"interface {path.name}" for path in Path("/sys/class/net").iterdir()}
    mounts = {f"mount {line.split()[1]}" for line in Path("/proc/self/mounts").read_text().splitlines()}
    rules = subprocess.run(["iptables-save"], capture_output=True, text=True, check=False).stdout.splitlines()
    return interfaces | mounts | {f"rule {line}" for line in rules if line.startswith("-A")}


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
