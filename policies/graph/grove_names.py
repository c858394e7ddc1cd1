"""Lengths of the names that Grove makes of a graph and its components, in closed form."""

from typing import Final

from ..at import At, Findings
from ..components import count_nodes, forces_scaling_group, interpod_gms, is_multinode
from ..grove import explain_off_grove
from ..review import Fields, is_line_1_6
from ..rule import GRAPH, Stage, rule
from ..words import format_words

MAX_NAME_BYTES: Final = 45  # that Grove allows for set, scaling group and clique together
MIN_SET_BYTES: Final = 8  # below which the name of a PodCliqueSet is never cut
# A service of at most this many ASCII characters fits whatever its layout: inter-pod GMS on 2**31 - 1 nodes needs twice that and 15 more,
# and the shortest set name eight; a service on a single node fits with many more.
ALWAYS_FITS: Final = 11
SINGLE_FITS: Final = MAX_NAME_BYTES - MIN_SET_BYTES
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
    """Counts the bytes that a component takes of MAX_NAME_BYTES: its own name, and its longest clique's where it has a scaling group."""
    own = byte_length(name)
    if interpod_gms(component):
        rank = max(count_nodes(component) - 1, 0)
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
    return max(MIN_SET_BYTES, MAX_NAME_BYTES - widest)


def _fnv1a(data: bytes) -> int:
    """The 32-bit FNV-1a hash."""
    value = _FNV_OFFSET
    for byte in data:
        value = (value ^ byte) * _FNV_PRIME & 0xFFFFFFFF
    return value


_MAX_NAME_CHARACTERS: Final = 253  # no valid name of a graph has more


@rule("DYN107", where=GRAPH, when="components", stage=Stage.NAMES, needs=("grove",))
def grove_name_length(at: At) -> Findings:
    """The names of the graph and the component are together too long for Grove.

    Why
        Grove combines the names of the graph, the component and, if a replica has several pods, the role. The combined name may have 45
        bytes. The name of a component with a scaling group (`forceScalingGroup`, for example) occurs twice. The operator shortens a
        graph's name to as little as 8 bytes, but never a component's name.

    Fix
        Give the {service} a shorter name. If the graph's name has 8 bytes or more, a {service}'s name may have 37 bytes on a single node,
        18 there with its own scaling group, 16 on several nodes, and 15 with an inter-pod GPU memory service.

    Example
         metadata: {name: disaggregated}
         spec:
           components:
        -    - {name: prefill-and-decode, type: worker, multinode: {nodeCount: 2}}  # expect
        -    - {name: prefill-worker-of-the-very-large-model, type: worker}  # expect
        +    - {name: prefill-worker-a, type: worker, multinode: {nodeCount: 2}}
        +    - {name: prefill-worker-of-the-very-large-one, type: worker}
    """
    if certainly_fit(at.value["components"]):
        return
    budgets = [(index, name, budget(name, component)) for index, name, component in at.components]
    graph, widest = at.review.metadata.get("name") or "", max((wanted for _, _, wanted in budgets), default=0)
    prefix = set_length(graph, widest)
    too_long = [(index, name, wanted) for index, name, wanted in budgets if prefix + wanted > MAX_NAME_BYTES]
    if not too_long or explain_off_grove(at):
        return
    size = byte_length(graph)
    # only a shortened name is reported as such
    shown = f'graph "{graph[:_MAX_NAME_CHARACTERS]}" ({size} bytes' + (
        f', shortened to "{set_name(graph, widest)}")' if prefix < size else ")"
    )
    for index, name, wanted in too_long:
        length = prefix + wanted
        text = f"must fit Grove's {MAX_NAME_BYTES} bytes together with the graph's name, needs {length}: {shown}"
        surplus = -(-(length - MAX_NAME_BYTES) // (1 if wanted == byte_length(name) else 2))
        whole = format_words('{text} and {service} "{name}" ({own} bytes)', text=text, name=name, own=byte_length(name))
        fix = format_words("shorten the {service}'s name by {surplus} bytes", surplus=surplus)
        place = ("components", index, "name") if is_line_1_6(at.review) else ("components", index)
        yield at.invalid(place, name, whole, fix=fix)
