"""Which snapshots new pods are restored from, watched in DynamoCheckpoints and reported as they change; admission/new_pods.py uses them."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any, Final

from ...admission.new_pods import OFFER, read_offers
from ...kube.protocol import Cluster, Node
from ...kube.reflector import Reflector
from ...kube.resources import resource_of_kind

_GATHER: Final = 0.05  # seconds for which changes are gathered
_METADATA: Final = ("name", "namespace", "resourceVersion", "deletionTimestamp")


class SnapshotWatch:
    """Reports `{"offers": ...}` once the checkpoints are known, and after each change."""

    def __init__(self, cluster: Cluster, namespace: str, report: Callable[[dict[str, Any]], None]) -> None:
        """`namespace` is that of a restricted operator; empty for all."""
        self._checkpoints = Reflector(cluster, resource_of_kind("DynamoCheckpoint", "v1alpha1"), namespace, trim=_trim)
        self._report = report
        self._changed = asyncio.Event()

    async def run(self) -> None:
        """Watches until it is cancelled."""
        self._checkpoints.subscribe(lambda _old, _new: self._changed.set())
        last: dict[str, dict[str, str]] | None = None
        async with asyncio.TaskGroup() as tasks:
            tasks.create_task(self._checkpoints.run())
            await self._checkpoints.synced.wait()
            while True:
                self._changed.clear()
                found = read_offers(self._checkpoints.store.values())
                if found != last:
                    last = found
                    self._report({"offers": found})
                await self._changed.wait()
                await asyncio.sleep(_GATHER)


def _trim(checkpoint: Node) -> None:
    """Keeps the fields of a checkpoint that are read."""
    metadata, phase = checkpoint["metadata"], (checkpoint.get("status") or {}).get("phase")
    offers = {name: text for name, text in (metadata.get("annotations") or {}).items() if name.startswith(OFFER)}
    checkpoint["metadata"] = {**{name: metadata[name] for name in _METADATA if name in metadata}, "annotations": offers}
    checkpoint["status"] = {"phase": phase}
    checkpoint.pop("spec", None)
