"""Gives this namespace an interface, private mounts, and kernel settings that a kubelet may change."""

import subprocess
from pathlib import Path
from typing import Final

ADDRESS: Final = "10.77.0.1"  # of the node
# what a kubelet sets for the whole kernel: it writes into files that lie over these
_SETTINGS: Final = (
    *("vm/overcommit_memory", "vm/panic_on_oom", "kernel/panic", "kernel/panic_on_oops"),
    *("kernel/keys/root_maxkeys", "kernel/keys/root_maxbytes"),
)


def set_up(home: Path) -> None:
    """Prepares namespaces that are new, so that a node in them touches nothing outside but files in `home`."""
    _mount(home)
    _connect()


def _mount(home: Path) -> None:
    """Puts an empty folder over /run, keeps what is written to /var in memory, and covers settings."""
    _run("mount", "--make-rprivate", "/")
    _run("mount", "-t", "tmpfs", "tmpfs", "/run")
    Path("/run/netns").mkdir()
    private = home / "private"
    private.mkdir(parents=True)
    _run("mount", "-t", "tmpfs", "tmpfs", private)
    for name in ("upper", "work"):
        (private / name).mkdir()
    _run("mount", "-t", "overlay", "overlay", "-o", f"lowerdir=/var,upperdir={private}/upper,workdir={private}/work", "/var")
    for number, setting in enumerate(_SETTINGS):
        file, cover = Path("/proc/sys") / setting, private / f"setting-{number}"
        cover.write_text(file.read_text())
        _run("mount", "--bind", cover, file)


def _connect() -> None:
    """Gives the node its address, on a bridge since a kernel may lack dummy devices, and a default route, which Services need."""
    _run("ip", "link", "set", "lo", "up")
    _run("ip", "link", "add", "node0", "type", "bridge")
    _run("ip", "addr", "add", f"{ADDRESS}/24", "dev", "node0")
    _run("ip", "link", "set", "node0", "up")
    _run("ip", "route", "add", "default", "dev", "node0")
    for setting in ("ip_forward", "conf/all/route_localnet"):
        Path("/proc/sys/net/ipv4", setting).write_text("1")


def _run(*command: str | Path) -> None:
    subprocess.run([str(part) for part in command], check=True)
