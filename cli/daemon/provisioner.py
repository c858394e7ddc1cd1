"""The provisioner as a process, or for one round. What it does is in certs/provision.py; listeners and end are in run.py."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, NamedTuple

from dynamo_webhooks.certs.provision import COMPONENT, Provisioner
from dynamo_webhooks.certs.timings import ROUND_APART
from dynamo_webhooks.cli.cluster import connected
from dynamo_webhooks.cli.daemon.run import Side, identity, run_daemon

if TYPE_CHECKING:
    from dynamo_webhooks.certs.installation import Installation
    from dynamo_webhooks.kube.client import Client
    from dynamo_webhooks.kube.lease import Timings

ONCE: Final = 60.0  # seconds for which `--once` waits for the Lease


class Pace(NamedTuple):
    """What is fixed but in tests: how far apart rounds of probes are, in seconds, and the Lease."""

    apart: float = ROUND_APART.total_seconds()
    lease: Timings | None = None


async def serve(about: Installation, kubeconfig: str, side: Side, pace: Pace | None = None) -> None:
    """Provisions until SIGTERM or SIGINT, then releases the Lease."""
    apart, lease = pace or Pace()

    def made(client: Client) -> Provisioner:
        return Provisioner(client, about, identity(), apart=apart, lease=lease)

    await run_daemon("provisioner", COMPONENT, kubeconfig, made, side)


async def once(about: Installation, kubeconfig: str) -> str:
    """One round of steps; why not everything is ready, empty when it is.

    Raises: UsageError when nobody knows where the API server is; ApiError when it refuses or fails.
    """
    try:
        async with connected(COMPONENT, kubeconfig) as client:
            cause = await Provisioner(client, about, identity()).once(ONCE)
    except TimeoutError:
        return "another provisioner holds the Lease"
    return cause[1] if cause else ""
