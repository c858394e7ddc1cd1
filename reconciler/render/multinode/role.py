"""The part that one pod plays in a replica of several nodes, in the words of the orchestrator that runs it."""

from __future__ import annotations

from typing import NamedTuple


class Role(NamedTuple):
    """A leader or a worker. Addresses are texts that the orchestrator's variables complete."""

    leader: bool
    nodes: int
    host: str  # the leader's address, `$(VAR)` being replaced by Kubernetes
    others: tuple[str, ...]  # addresses of the other nodes, for a shell
    rank: str  # of this node
    needs_shell: bool  # whether the rank has to be computed
    waits_for_names: bool  # whether a leader must wait until the others' names resolve
