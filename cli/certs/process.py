"""The provisioner as a process: its connection, its listener for probes and metrics, its end. What it does is in certs/provision.py."""

from __future__ import annotations

import asyncio
import contextlib
import secrets
import signal
from typing import TYPE_CHECKING, Final, NamedTuple

from certs.provision import COMPONENT, Provisioner
from certs.timings import ROUND_APART
from cli.output import say
from kube.config import ConfigError
from kube.identity import instance
from webhooks.probes import METRICS, PROBES, Probes

if TYPE_CHECKING:
    import socket

    from certs.installation import Installation
    from kube.client import Client
    from kube.lease import Timings

AGAIN: Final = 10.0  # seconds before another attempt to find out where the API server is
ONCE: Final = 60.0  # seconds for which `--once` waits for the Lease


class Pace(NamedTuple):
    """What is fixed but in tests: how far apart rounds of probes are, in seconds, and the Lease."""

    apart: float = ROUND_APART.total_seconds()
    lease: Timings | None = None


async def serve(about: Installation, kubeconfig: str, probes: socket.socket, metrics: socket.socket, pace: Pace | None = None) -> None:
    """Provisions until SIGTERM or SIGINT, then releases the Lease."""
    loop, stopped = asyncio.get_running_loop(), asyncio.Event()
    for number in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(number, stopped.set)
    state = _State()
    listener = Probes(state)
    if probes is metrics:
        await listener.listen(loop, probes, PROBES | METRICS)
    else:
        await listener.listen(loop, probes, PROBES)
        await listener.listen(loop, metrics, METRICS)
    work = asyncio.ensure_future(_provision(about, kubeconfig, state, pace or Pace()))
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


async def once(about: Installation, kubeconfig: str) -> str:
    """One round of steps; why not everything is ready, empty when it is.

    Raises: ConfigError when nobody knows where the API server is; ApiError when it refuses or fails.
    """
    client = await _connected(kubeconfig)
    try:
        cause = await Provisioner(client, about, _identity()).once(ONCE)
    except TimeoutError:
        return "another provisioner holds the Lease"
    finally:
        await client.close()
    return cause[1] if cause else ""


class _State:
    """What probes and metrics ask, also before there is a connection."""

    def __init__(self) -> None:
        self.provisioner: Provisioner | None = None
        self.reason = "the provisioner has not started yet"

    async def checks(self) -> dict[str, list[str]]:
        return {"provisioner": await self.provisioner.reasons() if self.provisioner else [self.reason]}

    async def metrics(self) -> bytes:
        return await self.provisioner.metrics() if self.provisioner else b""


async def _provision(about: Installation, kubeconfig: str, state: _State, pace: Pace) -> None:
    while True:
        try:
            client = await _connected(kubeconfig)
            break
        except ConfigError as error:
            if str(error) != state.reason:
                say(f"no API server yet: {error}")
            state.reason = str(error)
            await asyncio.sleep(AGAIN)
    with contextlib.suppress(asyncio.CancelledError):
        state.provisioner = Provisioner(client, about, _identity(), apart=pace.apart, lease=pace.lease)
        await state.provisioner.run()
    await client.close()


async def _connected(kubeconfig: str) -> Client:
    from kube.client import connect

    return await connect(COMPONENT, kubeconfig)


def _identity() -> str:
    """This process, told from its own earlier lives."""
    return f"{instance()}_{secrets.token_hex(4)}"
