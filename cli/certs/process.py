"""The provisioner as a process: its connection, its listener for probes and metrics, its end. What it does is in certs/provision.py."""

from __future__ import annotations

import asyncio
import contextlib
from typing import TYPE_CHECKING, Final, NamedTuple

from certs.provision import COMPONENT, Provisioner
from certs.timings import ROUND_APART
from cli.lasting import connected, identity, until_stopped
from webhooks.probes import Probes

if TYPE_CHECKING:
    import socket

    from certs.installation import Installation
    from kube.lease import Timings

ONCE: Final = 60.0  # seconds for which `--once` waits for the Lease


class Pace(NamedTuple):
    """What is fixed but in tests: how far apart rounds of probes are, in seconds, and the Lease."""

    apart: float = ROUND_APART.total_seconds()
    lease: Timings | None = None


async def serve(about: Installation, kubeconfig: str, probes: socket.socket, metrics: socket.socket, pace: Pace | None = None) -> None:
    """Provisions until SIGTERM or SIGINT, then releases the Lease."""
    state = _State()
    await until_stopped(_provision(about, kubeconfig, state, pace or Pace()), Probes(state), probes, metrics)


async def once(about: Installation, kubeconfig: str) -> str:
    """One round of steps; why not everything is ready, empty when it is.

    Raises: ConfigError when nobody knows where the API server is; ApiError when it refuses or fails.
    """
    from kube.client import connect

    client = await connect(COMPONENT, kubeconfig)
    try:
        cause = await Provisioner(client, about, identity()).once(ONCE)
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
    client = await connected(COMPONENT, kubeconfig, state)
    with contextlib.suppress(asyncio.CancelledError):
        state.provisioner = Provisioner(client, about, identity(), apart=pace.apart, lease=pace.lease)
        await state.provisioner.run()
    await client.close()
