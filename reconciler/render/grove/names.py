"""Names inside a PodCliqueSet, which Grove combines to names of pods of limited length."""

from typing import Final

from ..graph import Graph, Member, is_inter_pod, read_experimental
from ..names import dns_name, lower_name

MAX_NAMES_CHARACTERS: Final = 45  # Grove's limit of set, scaling group and clique together
_MIN_NAME_CHARACTERS: Final = 8


def set_name(graph: Graph) -> str:
    """The name of a graph's set: the graph's, or a prefix with a digest if cliques' names would be too long."""
    room = max(_MIN_NAME_CHARACTERS, MAX_NAMES_CHARACTERS - max((_needs(member) for member in graph.members), default=0))
    if len(graph.name) <= room:
        return graph.name
    return f"{graph.name[: room - 5]}-{_fnv(graph.name) & 0xFFFF:04x}"


def runner(graph: Graph, member: Member) -> str:
    """The object that Grove makes for a component: a PodClique, or a PodCliqueScalingGroup."""
    return f"{set_name(graph)}-0-{lower_name(member.name)}"


def is_grouped(member: Member) -> bool:
    """Whether a component's cliques scale together, as one replica."""
    forced = (read_experimental(member.fields, "grove") or {}).get("forceScalingGroup") is True
    return forced or member.nodes > 1 or is_inter_pod(member.fields)


def least(member: Member) -> int:
    """The replicas of a component that Grove starts together, and without which it gives the rest up."""
    minimum = member.fields.get("minAvailable")
    return minimum if isinstance(minimum, int) else 1


def leader(member: Member) -> str:
    """The clique of the leader."""
    return f"{lower_name(member.name)}-ldr"


def workers(member: Member) -> str:
    """The clique of all workers."""
    return f"{lower_name(member.name)}-wkr"


def server(member: Member, rank: int) -> str:
    """The clique that holds the weights of one rank."""
    return f"{lower_name(member.name)}-gms-{rank}"


def engine(member: Member, rank: int) -> str:
    """The clique of the engines of one rank."""
    if member.nodes == 1:
        return lower_name(member.name)
    return leader(member) if rank == 0 else f"{workers(member)}-{rank}"


def claim(member: Member, rank: int) -> str:
    """The claim that the pods of one rank share."""
    return f"{dns_name(member.name)}-gpu-rank-{rank}"


def cliques(member: Member) -> list[str]:
    """The names of all cliques of a component."""
    if is_inter_pod(member.fields):
        return [name for rank in range(member.nodes) for name in (server(member, rank), engine(member, rank))]
    return [leader(member), workers(member)] if member.nodes > 1 else [lower_name(member.name)]


def _needs(member: Member) -> int:
    longest = max(len(name) for name in cliques(member))
    return len(lower_name(member.name)) + longest if is_grouped(member) else longest


def _fnv(text: str) -> int:
    """32-bit FNV-1a, with which the Go operator shortens names."""
    out = 0x811C9DC5
    for byte in text.encode("utf-8", "surrogatepass"):
        out = (out ^ byte) * 0x01000193 & 0xFFFFFFFF
    return out
