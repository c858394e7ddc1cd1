"""`provision`: the certificate provisioner. Flags and configuration become an installation here; the work is the room `certs`'s."""

from __future__ import annotations

import asyncio
import os
from typing import TYPE_CHECKING, Final

from dynamo_webhooks.api.operator.settings import ProvisionerSettings
from dynamo_webhooks.cli import flags
from dynamo_webhooks.cli.daemon import listening
from dynamo_webhooks.cli.daemon.settings import load_settings
from dynamo_webhooks.cli.exits import OK, REFUSED, UNREACHABLE, UsageError
from dynamo_webhooks.cli.output import say

if TYPE_CHECKING:
    import argparse

    from dynamo_webhooks.certs.installation import Installation
    from dynamo_webhooks.cli.daemon.provisioner import Pace

HELP: Final = "make and renew certificates, and publish their trust"


def configure(parser: argparse.ArgumentParser) -> None:
    """Declares the flags."""
    listening.configure(parser)
    parser.add_argument("--once", action="store_true", help="run once; exit code 1 if not everything is ready")
    flags.verbose(parser)


def run(args: argparse.Namespace) -> int:
    """Provisions until SIGTERM or SIGINT; with `--once` until there is nothing to do but to wait.

    Raises: UsageError for a configuration that can't be used.
    """
    from dynamo_webhooks.certs.installation import installation
    from dynamo_webhooks.certs.timings import violations
    from dynamo_webhooks.cli.daemon import provisioner

    settings = settings_of(args)
    about = installation(settings)
    if wrong := violations(about.timings):
        raise UsageError(f"certificates: {'; '.join(wrong)}")
    if args.once:
        from dynamo_webhooks.kube.errors import ApiError

        with listening.logged(settings):
            try:
                reason = asyncio.run(provisioner.once(about, args.kubeconfig))
            except ApiError as error:
                say(error.message)
                return UNREACHABLE
        say(f"not ready: {reason}" if reason else "ready")
        return REFUSED if reason else OK
    return serve(args, settings, about)


def serve(args: argparse.Namespace, settings: ProvisionerSettings, about: Installation, pace: Pace | None = None) -> int:
    """Provisions until it is told to stop; tests have a quicker pace than anybody else."""
    from dynamo_webhooks.cli.daemon import provisioner
    from dynamo_webhooks.cli.daemon.run import Side

    side = Side(*listening.listeners(args, settings), settings.metrics_secure, listening.level_source(args))
    with listening.logged(settings):
        asyncio.run(provisioner.serve(about, args.kubeconfig, side, pace))
    return OK


def settings_of(args: argparse.Namespace) -> ProvisionerSettings:
    """The settings in effect. Raises: UsageError when it isn't known where we are, or what the configuration says is wrong."""
    settings = load_settings(ProvisionerSettings, args.config, os.environ, lenient=args.lenient_config)
    if not settings.identity.namespace:
        raise UsageError("operator.namespace: must name the namespace of the installation; outside a pod set it, or POD_NAMESPACE")
    return settings
