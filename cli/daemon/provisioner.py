"""Runs the provisioner as a process, or for one round."""

from typing import Final, NamedTuple

from ...certs.installation import Installation
from ...certs.provision import COMPONENT, Provisioner
from ...certs.state import ROUND_APART
from ...kube.client import Client
from ...kube.lease import Timings
from ..installation.connection import connect_cluster
from .run import SideListeners, make_identity, run_daemon

LEASE_TIMEOUT_SECONDS: Final = 60.0  # of `--once`


class ProvisionerTimings(NamedTuple):
    """Values that only tests change: the seconds between rounds of probes, and the Lease."""

    apart: float = ROUND_APART.total_seconds()
    lease: Timings | None = None


async def serve(about: Installation, kubeconfig: str, side: SideListeners, pace: ProvisionerTimings | None = None) -> None:
    """Provisions until SIGTERM or SIGINT, then releases the Lease."""
    apart, lease = pace or ProvisionerTimings()

    def make_provisioner(client: Client) -> Provisioner:
        return Provisioner(client, about, make_identity(), apart=apart, lease=lease)

    await run_daemon("provisioner", COMPONENT, kubeconfig, make_provisioner, side)


async def run_once(about: Installation, kubeconfig: str) -> str:
    """Runs one round of steps; returns why the installation is not ready, empty when it is. Raises: UsageError, ApiError."""
    try:
        async with connect_cluster(COMPONENT, kubeconfig) as client:
            cause = await Provisioner(client, about, make_identity()).once(LEASE_TIMEOUT_SECONDS)
    except TimeoutError:
        return "another provisioner holds the Lease"
    return cause[1] if cause else ""
