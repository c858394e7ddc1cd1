"""How long the names are that Grove makes of a graph and its services, in closed form; what a component is named elsewhere is not here."""

from __future__ import annotations

from typing import Final

from .domain import forces_scaling_group, interpod_gms, is_multinode, node_count
from .review import Fields

NAME_LIMIT: Final = 45  # bytes that Grove allows for set, scaling group and clique together
SHORTEST_SET: Final = 8  # bytes below which the name of a PodCliqueSet is never cut
# A service of at most this many ASCII characters fits whatever its layout: inter-pod GMS on 2**31 - 1 nodes needs twice that and 15 more,
# and the shortest set name eight; a service on a single node fits with many more.
ALWAYS_FITS: Final = 11
SINGLE_FITS: Final = NAME_LIMIT - SHORTEST_SET

_ROLE: Final = len("-ldr")  # every role suffix has three letters
_DASH: Final = len("-")
_HASH: Final = len("-0123")
_FNV_OFFSET: Final = 0x811C9DC5
_FNV_PRIME: Final = 0x01000193


def certainly_fit(components: list[Fields | None]) -> bool:
    """Whether all of a graph's components fit at a glance, as nearly all do; False says nothing."""
    for component in components:
        name = (component.get("name") or "") if component else ""
        length = len(name)
        if length > SINGLE_FITS or not name.isascii():
            return False
        if length > ALWAYS_FITS and component and ("multinode" in component or "experimental" in component):
            return False
    return True


def byte_length(name: str) -> int:
    """Counts the UTF-8 bytes of a name in lower case, which is how it appears in the names of children."""
    # one character at a time, as the operator does: of all characters only this one becomes two in Python
    return len(name.replace("\u0130", "i").lower().encode("utf-8", "surrogatepass"))


def budget(name: str, component: Fields) -> int:
    """Counts the bytes that a component takes of NAME_LIMIT: its own name, and its longest clique's where it has a scaling group."""
    own = byte_length(name)
    if interpod_gms(component):
        rank = max(node_count(component) - 1, 0)
        return own + own + _ROLE + _DASH + len(str(rank))
    if is_multinode(component):
        return own + own + _ROLE
    return own + own if forces_scaling_group(component) else own


def set_length(graph: str, widest: int) -> int:
    """Counts the bytes of the PodCliqueSet's name beside a component of the widest budget."""
    return min(byte_length(graph), _room(widest))


def set_name(graph: str, widest: int) -> str:
    """The PodCliqueSet's name: the graph's, cut and marked with four hex digits of its hash where it would not fit."""
    whole, room = graph.encode("utf-8", "surrogatepass"), _room(widest)
    if len(whole) <= room:
        return graph
    return f"{whole[: room - _HASH].decode('utf-8', 'replace')}-{_fnv1a(whole) & 0xFFFF:04x}"


def _room(widest: int) -> int:
    return max(SHORTEST_SET, NAME_LIMIT - widest)


def _fnv1a(data: bytes) -> int:
    """The 32-bit FNV-1a hash."""
    value = _FNV_OFFSET
    for byte in data:
        value = (value ^ byte) * _FNV_PRIME & 0xFFFFFFFF
    return value
