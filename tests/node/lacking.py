"""Finds what a machine lacks to run a node."""

import os
import shutil
import subprocess
from pathlib import Path
from typing import Final

from tests.node.cgroups import find_hierarchies

# program -> Debian's package of it
_PROGRAMS: Final = {
    "containerd": "containerd",
    "runc": "runc",
    "ctr": "containerd",
    "iptables": "iptables",
    "conntrack": "conntrack",
    "buildah": "buildah",
    "gcc": "gcc",
    "unshare": "util-linux",
    "setpriv": "util-linux",
    "ip": "iproute2",
}
PLUGINS: Final = "/usr/lib/cni"  # of Debian's containernetworking-plugins
NAMESPACES: Final = ("--net", "--mount", "--pid", "--fork", "--mount-proc", "--kill-child")


def find_lacking() -> str:
    """Says in a sentence why no node can run here; empty if one can."""
    if os.geteuid() != 0:
        return "a node needs root, for its namespaces, mounts and cgroups"
    packages = {package for program, package in _PROGRAMS.items() if shutil.which(program) is None}
    if not Path(PLUGINS).is_dir():
        packages.add("containernetworking-plugins")
    if packages:
        return f"a node needs Debian's packages {', '.join(sorted(packages))}"
    tried = subprocess.run(["unshare", *NAMESPACES, "mount", "-t", "tmpfs", "tmpfs", "/run"], capture_output=True, text=True, check=False)
    hierarchies = find_hierarchies()
    if not hierarchies or not all(os.access(hierarchy, os.W_OK) for hierarchy in hierarchies):
        return "a node needs cgroups that may be written"
    if tried.returncode:
        return f"a node needs namespaces and mounts of its own: {tried.stderr.strip()}"
    return ""
