"""The reconciler as a process: its connection, its listener for probes and metrics, its end."""

from __future__ import annotations

import asyncio
import contextlib
from typing import TYPE_CHECKING

from cli.lasting import connected, identity, until_stopped
from reconciler.loop.marks import MANAGER
from reconciler.loop.reconciler import Reconciler
from webhooks.probes import Probes

if TYPE_CHECKING:
    import socket

    from api.operator.settings import ReconcilerSettings
    from kube.lease import Timings


async def serve(
    settings: ReconcilerSettings, kubeconfig: str, probes: socket.socket, metrics: socket.socket, lease: Timings | None = None
) -> None:
    """Reconciles until SIGTERM or SIGINT, then releases the Lease; tests have a shorter `lease` than anybody else."""
    state = _State()
    await until_stopped(_reconcile(settings, kubeconfig, state, lease), Probes(state, state.details), probes, metrics)


class _State:
    """What probes and metrics ask, also before there is a connection. It serves nobody, hence it is ready when it runs."""

    def __init__(self) -> None:
        self.reconciler: Reconciler | None = None
        self.reason = "the reconciler has not started yet"

    async def checks(self) -> dict[str, list[str]]:
        return {}

    async def details(self) -> list[str]:
        return await self.reconciler.details() if self.reconciler else [self.reason]

    async def metrics(self) -> bytes:
        return await self.reconciler.metrics() if self.reconciler else b""


async def _reconcile(settings: ReconcilerSettings, kubeconfig: str, state: _State, lease: Timings | None) -> None:
    client = await connected(MANAGER, kubeconfig, state)
    try:
        state.reconciler = Reconciler(client, settings, identity(), lease=lease)
        await state.reconciler.run()
    finally:
        with contextlib.suppress(asyncio.CancelledError):
            await client.close()
