"""The role of one pod in a multinode replica, for each orchestrator."""

from __future__ import annotations

from typing import Final, NamedTuple

from ....api.paths import Path
from ....conversion.lens.protocol import Fields
from ..errors import RenderError
from ..names import lower_name

LEADER_ADDRESS: Final = "DYNAMO_LEADER_ADDRESS"
RANK: Final = "DYNAMO_RANK"
MAX_NODES: Final = 1024  # a LeaderWorkerSet or PodCliqueSet could hold no more names
_LWS_LEADER = "$(LWS_LEADER_ADDRESS)"
_LWS_RANK = "$(LWS_WORKER_INDEX)"
_GROVE_INDEX = "$(GROVE_PCSG_POD_INDEX)"  # of a pod in its scaling group, the leader's first
_GROVE_RANK = "$((GROVE_PCLQ_POD_INDEX + 1))"  # the workers of a clique count from 0, without the leader
_GROVE_POD = "$(GROVE_PCLQ_POD_INDEX)"
_GROVE_REPLICA = "$(GROVE_PCSG_NAME)-$(GROVE_PCSG_INDEX)"
_GROVE_DOMAIN = "$(GROVE_HEADLESS_SERVICE)"


class Role(NamedTuple):
    """A leader or a worker. Addresses contain the orchestrator's variables."""

    leader: bool
    nodes: int
    host: str  # the leader's address; Kubernetes replaces `$(VAR)`
    others: tuple[str, ...]  # addresses of the other nodes, for a shell
    rank: str  # of this node
    needs_shell: bool  # whether the rank has to be computed
    waits_for_names: bool  # whether a leader must wait until other nodes' names resolve
    rank_variable: str  # of this node, from the orchestrator's variables

    @property
    def env(self) -> list[Fields]:
        """The facts that launch arguments may name, on every orchestrator alike."""
        return [{"name": LEADER_ADDRESS, "value": self.host}, {"name": RANK, "value": self.rank_variable}]

    def by_names(self) -> Role:
        """The role for arguments of a container that has these variables."""
        return self._replace(host=f"$({LEADER_ADDRESS})", rank=f"$({RANK})", needs_shell=False)

    @property
    def reckoned(self) -> str:
        """The rank for a shell's arithmetic. Kubernetes doesn't replace a variable inside `$((`."""
        return _LWS_RANK[2:-1] if self.rank == _LWS_RANK else self.rank


def check_nodes(nodes: int, path: Path) -> None:
    """Refuse replicas with more nodes than any cluster: the object lists each node. Raises: RenderError with the path of the component."""
    if nodes > MAX_NODES:
        raise RenderError((*path, "multinode", "nodeCount"), f"must be at most {MAX_NODES} for children to be made, got {nodes}")


def make_lws_roles(nodes: int) -> tuple[Role, Role]:
    """Leader and worker in a LeaderWorkerSet, whose workers have the leader's name with a number before the first dot."""
    others = tuple(f"""$(echo "$LWS_LEADER_ADDRESS" | sed 's/\\./-{number}\\./')""" for number in range(1, nodes))
    leader = Role(True, nodes, _LWS_LEADER, others, "0", False, True, _LWS_RANK)
    return leader, leader._replace(leader=False, rank=_LWS_RANK)


def make_grove_roles(component: str, nodes: int) -> tuple[Role, Role]:
    """Leader and worker in a scaling group of Grove with one clique for the leader and one for all workers."""
    others = tuple(_grove_host(component, f"wkr-{number}") for number in range(nodes - 1))
    leader = Role(True, nodes, _grove_host(component, "ldr-0"), others, "0", False, False, _GROVE_INDEX)
    return leader, leader._replace(leader=False, rank=_GROVE_RANK, needs_shell=True)


def make_grove_rank(component: str, nodes: int, rank: int) -> Role:
    """The role of a rank whose engines have their own clique; each engine joins those of the same number in other cliques."""
    others = tuple(_grove_host(component, f"wkr-{number}-{_GROVE_POD}") for number in range(1, nodes))
    return Role(rank == 0, nodes, _grove_host(component, f"ldr-{_GROVE_POD}"), others, str(rank), False, False, str(rank))


def _grove_host(component: str, pod: str) -> str:
    return f"{_GROVE_REPLICA}-{lower_name(component)}-{pod}.{_GROVE_DOMAIN}"
