"""API servers as a reconciler sees them that dies after a write, or whose writes fail once each. Leases and Events are always written."""

import asyncio
from typing import Any, Final, cast

from dynamo_webhooks.kube.protocol import Cluster
from dynamo_webhooks.kube.resources import Resource

WRITES: Final = frozenset({"create", "replace", "json_patch", "merge_patch", "apply", "delete"})
SPARED: Final = frozenset({"leases", "events"})


class Dying:
    """Lets one write through, of whose success the reconciler never hears; nor can it write anything else."""

    def __init__(self) -> None:
        self.dead = asyncio.Event()
        self._cluster: Cluster | None = None
        self._writes = 0

    def around(self, cluster: Cluster) -> Cluster:
        """What the reconciler calls."""
        self._cluster = cluster
        return cast("Cluster", self)

    def __getattr__(self, name: str) -> Any:
        call = getattr(self._cluster, name)

        async def write(resource: Resource, *arguments: Any, **more: Any) -> Any:
            if resource.plural in SPARED:
                return await call(resource, *arguments, **more)
            self._writes += 1
            if self._writes == 1:
                await call(resource, *arguments, **more)
                self.dead.set()
            return await asyncio.Event().wait()

        return write if name in WRITES else call
