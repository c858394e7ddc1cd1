"""`provision`: the certificate provisioner. Flags and configuration become an installation here; the work is the room `certs`'s."""

from __future__ import annotations

import argparse
import asyncio
import os
from typing import TYPE_CHECKING, Final

from ..console import flags
from ..console.exits import OK, REFUSED, UNREACHABLE, UsageError
from ..console.output import write_stderr
from ..daemon import listening

if TYPE_CHECKING:
    from ...api.operator.configuration import OperatorConfiguration
    from ...certs.installation import Installation
    from ..daemon.provisioner import Pace

HELP: Final = "make and renew certificates, and write caBundles"


def configure(parser: argparse.ArgumentParser) -> None:
    """Declares the flags."""
    listening.configure(parser)
    parser.add_argument("--once", action="store_true", help="run once; exit code 1 if not everything is ready")
    flags.verbose(parser)


def run(args: argparse.Namespace) -> int:
    """Provisions until SIGTERM or SIGINT; with `--once` until there is nothing to do but to wait. Raises: UsageError."""
    listening.end_on_sigterm()
    from ...certs.installation import installation
    from ..daemon import provisioner

    settings = settings_of(args)
    about = installation(settings)
    if args.once:
        from ...kube.errors import ApiError

        with listening.set_up_logging(settings):
            try:
                reason = asyncio.run(provisioner.once(about, args.kubeconfig))
            except ApiError as error:
                write_stderr(error.message)
                return UNREACHABLE
        write_stderr(f"not ready: {reason}" if reason else "ready")
        return REFUSED if reason else OK
    return serve(args, settings, about)


def serve(args: argparse.Namespace, settings: OperatorConfiguration, about: Installation, pace: Pace | None = None) -> int:
    """Provision until stopped; tests use a quicker pace."""
    from ..daemon import provisioner
    from ..daemon.run import Side

    side = Side(*listening.listeners(args, settings), settings.server.metrics.secure, (listening.reload_level(args),))
    with listening.set_up_logging(settings):
        asyncio.run(provisioner.serve(about, args.kubeconfig, side, pace))
    return OK


def settings_of(args: argparse.Namespace) -> OperatorConfiguration:
    """The settings in effect. Raises: UsageError when it isn't known where we are, or what the configuration says is wrong."""
    settings = listening.load_settings(args.config, os.environ, lenient=args.lenient_config)
    if not settings.operator.namespace:
        raise UsageError("operator.namespace: must name the namespace of the installation; outside a pod set it, or POD_NAMESPACE")
    return settings
