"""The contract between the loop and the controller of a kind."""

from collections.abc import Iterable
from typing import Protocol

from ...kube.protocol import Node
from ..common.keys import Key
from ..common.problems import PassResult, Problem
from .cache import Cache
from .context import Context
from .switch import Switch
from .watch import Change, Watch


class Controller(Protocol):
    """Reconciles the objects of one kind."""

    kind: str
    watches: tuple[Watch, ...]  # of the kind, and of what its passes read beside it; a kind that several watch is watched once
    switch: Switch | None = None  # of a kind that configuration or permissions may exclude

    def keys_of(self, _change: Change, _cache: Cache, /) -> Iterable[Key]:
        """The objects that a change concerns beside the changed object and its owners."""
        return ()

    async def run(self, _context: Context, /) -> None:
        """What goes on beside the passes while this process leads; it is cancelled in the end."""
        return

    async def reconcile(self, context: Context, obj: Node, /) -> PassResult:
        """Bring an object one step nearer to its spec. Raises: ApiError, StandDownError."""

    async def report_failure(self, _context: Context, _obj: Node, _problem: Problem, /) -> PassResult | None:
        """Report a lasting error that ended a pass; None if it is only logged and retried. Raises: ApiError, StandDownError."""
        return None
