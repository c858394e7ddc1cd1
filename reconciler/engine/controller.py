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
    watches: tuple[Watch, ...]  # of the kind, and of what its passes read beside it; of several watches of a kind the first counts
    # for a kind of this project that configuration or permissions may exclude; the status of its objects then reports why
    switch: Switch | None = None

    def keys_of(self, _change: Change, _cache: Cache, /) -> Iterable[Key]:
        """The objects that a change concerns beside its owners, and beside the object itself if its metadata or spec changed.

        Return its own key if passes read anything else of it, such as the data of a ConfigMap.
        """
        return ()

    async def run(self, _context: Context, /) -> None:
        """Run a task beside the passes while this process leads; it is cancelled at the end."""
        return

    async def reconcile(self, context: Context, obj: Node, /) -> PassResult:
        """Bring an object one step nearer to its spec; one that is gone gets no pass. Raises: ApiError, StandDownError."""

    async def report_failure(self, _context: Context, _obj: Node, _problem: Problem, /) -> PassResult | None:
        """Report a lasting error that ended a pass; None if it is only logged and retried. Raises: ApiError, StandDownError."""
        return None
