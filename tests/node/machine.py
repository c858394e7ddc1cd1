"""Gives this namespace an interface, private mounts, and kernel settings that a kubelet may change."""

import subprocess
from pathlib import Path
from typing import Final

from tests.node.place import FIRST, Place

_NAMESPACES: Final = Path("/run/netns")
_BRIDGE: Final = "node0"
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
    _NAMESPACES.mkdir()
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
    _run("ip", "link", "add", _BRIDGE, "type", "bridge")
    _furnish(FIRST, _BRIDGE)
    _run("ip", "route", "add", "default", "dev", _BRIDGE)


def connect_beside(place: Place) -> None:
    """Makes a network namespace for another node, joined to the bridge, with routes to each other's pods."""
    _run("ip", "netns", "add", place.name)
    _run("ip", "link", "add", place.link, "type", "veth", "peer", "name", "uplink", "netns", place.name)
    _run("ip", "link", "set", place.link, "master", _BRIDGE, "up")
    _furnish(place, "uplink")
    _run("ip", "route", "add", place.pods, "via", place.address)
    _run(*enter(place, ["ip", "route", "add", "default", "via", FIRST.address]))


def remove_beside(place: Place) -> None:
    """Removes that again."""
    _run("ip", "route", "delete", place.pods)
    _run("ip", "link", "delete", place.link)
    _run("ip", "netns", "delete", place.name)


def set_link(place: Place, state: str) -> None:
    """Takes the cable of a node beside the machine out ("down"), or puts it in ("up")."""
    _run("ip", "link", "set", place.link, state)


def enter(place: Place, command: list[str | Path]) -> list[str | Path]:
    """The command line that runs a command in the network of a node; `ip netns exec` would hide the cgroups."""
    return [*(["nsenter", f"--net={_NAMESPACES / place.name}"] if place.number else []), *command]


def _furnish(place: Place, interface: str) -> None:
    """Gives a node its address, and lets it pass on what isn't for itself."""
    for command in (
        ["link", "set", "lo", "up"],
        ["addr", "add", f"{place.address}/24", "dev", interface],
        ["link", "set", interface, "up"],
    ):
        _run(*enter(place, ["ip", *command]))
    for setting in ("ip_forward", "conf/all/route_localnet"):
        _run(*enter(place, ["sh", "-c", f"echo 1 > /proc/sys/net/ipv4/{setting}"]))


def _run(*command: str | Path) -> None:
    subprocess.run([str(part) for part in command], check=True)
