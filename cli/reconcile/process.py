"""The reconciler as a process: its connection, its listener for probes and metrics, its end."""

from __future__ import annotations

import asyncio
import contextlib
import secrets
import signal
from typing import TYPE_CHECKING, Final

from cli.output import say
from kube.config import ConfigError
from kube.identity import instance
from reconciler.loop.marks import MANAGER
from reconciler.loop.reconciler import Reconciler
from webhooks.probes import METRICS, PROBES, Probes

if TYPE_CHECKING:
    import socket

    from api.operator.settings import ReconcilerSettings
    from kube.client import Client
    from kube.lease import Timings

AGAIN: Final = 10.0  # seconds before another attempt to find out where the API server is


async def serve(
    settings: ReconcilerSettings, kubeconfig: str, probes: socket.socket, metrics: socket.socket, lease: Timings | None = None
) -> None:
    """Reconciles until SIGTERM or SIGINT, then releases the Lease; tests have a shorter `lease` than anybody else."""
    loop, stopped = asyncio.get_running_loop(), asyncio.Event()
    for number in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(number, stopped.set)
    state = _State()
    listener = Probes(state, state.details)
    if probes is metrics:
        await listener.listen(loop, probes, PROBES | METRICS)
    else:
        await listener.listen(loop, probes, PROBES)
        await listener.listen(loop, metrics, METRICS)
    work = asyncio.ensure_future(_reconcile(settings, kubeconfig, state, lease))
    stopping = asyncio.ensure_future(stopped.wait())
    try:
        await asyncio.wait({work, stopping}, return_when=asyncio.FIRST_COMPLETED)
        if work.done():
            work.result()
    finally:
        for task in (work, stopping):
            task.cancel()
        await asyncio.gather(work, stopping, return_exceptions=True)
        await listener.close()


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
    while True:
        try:
            client = await _connected(kubeconfig)
            break
        except ConfigError as error:
            if str(error) != state.reason:
                say(f"no API server yet: {error}")
            state.reason = str(error)
            await asyncio.sleep(AGAIN)
    try:
        state.reconciler = Reconciler(client, settings, _identity(), lease=lease)
        await state.reconciler.run()
    finally:
        with contextlib.suppress(asyncio.CancelledError):
            await client.close()


async def _connected(kubeconfig: str) -> Client:
    from kube.client import connect

    return await connect(MANAGER, kubeconfig)


def _identity() -> str:
    """This process, told from its own earlier lives."""
    return f"{instance()}_{secrets.token_hex(4)}"
