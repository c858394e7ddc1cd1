"""The reconciler as a process. What it does is in reconciler/loop; its connection, listeners and end are in cli/lasting.py."""

from __future__ import annotations

from typing import TYPE_CHECKING

from dynamo_webhooks.cli.lasting import Side, identity, last
from dynamo_webhooks.reconciler.loop.marks import MANAGER
from dynamo_webhooks.reconciler.loop.reconciler import Reconciler

if TYPE_CHECKING:
    from dynamo_webhooks.api.operator.settings import ReconcilerSettings
    from dynamo_webhooks.kube.lease import Timings


async def serve(settings: ReconcilerSettings, kubeconfig: str, side: Side, lease: Timings | None = None) -> None:
    """Reconciles until SIGTERM or SIGINT, then releases the Lease; tests have a shorter `lease` than anybody else."""
    await last("reconciler", MANAGER, kubeconfig, lambda client: Reconciler(client, settings, identity(), lease=lease), side)
