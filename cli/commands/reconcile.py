"""`reconcile`: makes running workloads of graphs. Flags and configuration are read here; the work is the room `reconciler`'s."""

from __future__ import annotations

import asyncio
import os
from functools import partial
from typing import TYPE_CHECKING, Final

from dynamo_webhooks.api.operator.settings import ReconcilerSettings
from dynamo_webhooks.cli import flags
from dynamo_webhooks.cli.daemon import listening
from dynamo_webhooks.cli.daemon.settings import load_settings
from dynamo_webhooks.cli.exits import OK, UsageError

if TYPE_CHECKING:
    import argparse

    from dynamo_webhooks.kube.lease import Timings

HELP: Final = "run graphs: create and maintain their workloads"


def configure(parser: argparse.ArgumentParser) -> None:
    """Declares the flags."""
    listening.configure(parser)
    flags.verbose(parser)


def run(args: argparse.Namespace) -> int:
    """Reconciles until SIGTERM or SIGINT. Raises: UsageError for a configuration that can't be used."""
    return serve(args)


def serve(args: argparse.Namespace, lease: Timings | None = None) -> int:
    """Reconciles until it is told to stop; tests have a shorter Lease than anybody else."""
    from dynamo_webhooks.cli.daemon.run import Side, identity, run_daemon
    from dynamo_webhooks.reconciler.loop.marks import MANAGER
    from dynamo_webhooks.reconciler.loop.reconciler import Reconciler

    settings = settings_of(args)
    side = Side(*listening.listeners(args, settings), settings.metrics_secure, listening.level_source(args))
    with listening.logged(settings):
        made = partial(Reconciler, settings=settings, identity=identity(), lease=lease)
        asyncio.run(run_daemon("reconciler", MANAGER, args.kubeconfig, made, side))
    return OK


def settings_of(args: argparse.Namespace) -> ReconcilerSettings:
    """The settings in effect. Raises: UsageError when it isn't known where the Lease is kept, or the configuration is wrong."""
    settings = load_settings(ReconcilerSettings, args.config, os.environ, lenient=args.lenient_config)
    if settings.leader_lease and not settings.leader_namespace:
        raise UsageError("operator.namespace: must name the namespace of the installation; outside a pod set it, or POD_NAMESPACE")
    return settings
