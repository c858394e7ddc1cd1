"""`provision`: the certificate provisioner. Flags and configuration become an installation here; the work is the room `certs`'s."""

from __future__ import annotations

import asyncio
import contextlib
import os
from typing import TYPE_CHECKING, Final

from cli.apart import load_settings
from cli.exits import OK, REFUSED, UNREACHABLE, UsageError
from cli.output import say

if TYPE_CHECKING:
    import argparse
    import socket
    from collections.abc import Iterator

    from api.operator.settings import Endpoint, ProvisionerSettings
    from certs.installation import Installation
    from cli.certs.process import Pace
    from webhooks.sockets import Address

HELP: Final = "make and renew certificates, and keep every configuration object trusting them"


def configure(parser: argparse.ArgumentParser) -> None:
    """Declares the flags."""
    add = parser.add_argument
    add("--config", metavar="FILE", required=True, help="an OperatorConfiguration, YAML or JSON")
    add("--kubeconfig", metavar="FILE", default="", help="how to reach the cluster; without it KUBECONFIG, or the pod's own files")
    add("--probe-listen", metavar="HOST:PORT", help="where /healthz is served (default :8081)")
    add("--metrics-listen", metavar="HOST:PORT", help="where /metrics is served (default :8080)")
    add("--once", action="store_true", help="do what can be done now and end; 1 when not everything is ready then")


def run(args: argparse.Namespace) -> int:
    """Provisions until SIGTERM or SIGINT; with `--once` until there is nothing to do but to wait.

    Raises: UsageError for a configuration that can't be used.
    """
    from certs.installation import installation
    from cli.certs import process

    settings = settings_of(args)
    about = installation(settings)
    if args.once:
        from kube.config import ConfigError
        from kube.errors import ApiError

        with _logged(settings):
            try:
                reason = asyncio.run(process.once(about, args.kubeconfig))
            except ConfigError as error:
                raise UsageError(f"--kubeconfig: {error}") from None
            except ApiError as error:
                say(error.message)
                return UNREACHABLE
        say(f"not ready: {reason}" if reason else "ready")
        return REFUSED if reason else OK
    return serve(args, settings, about)


def serve(args: argparse.Namespace, settings: ProvisionerSettings, about: Installation, pace: Pace | None = None) -> int:
    """Provisions until it is told to stop; tests have a quicker pace than anybody else."""
    from cli.certs import process

    sockets = listeners(args, settings)
    with _logged(settings):
        asyncio.run(process.serve(about, args.kubeconfig, *sockets, pace))
    return OK


def settings_of(args: argparse.Namespace) -> ProvisionerSettings:
    """The settings in effect. Raises: UsageError when it isn't known where we are, or what the configuration says is wrong."""
    settings = load_settings("provisioner", args.config, os.environ)
    if not settings.identity.namespace:
        raise UsageError("operator.namespace: must name the namespace of the installation; outside a pod set it, or POD_NAMESPACE")
    return settings


def listeners(args: argparse.Namespace, settings: ProvisionerSettings) -> tuple[socket.socket, socket.socket]:
    """The bound sockets of probes and metrics, the same one when they share an address."""
    probes, metrics = (
        _address("--probe-listen", args.probe_listen, settings.probes),
        _address("--metrics-listen", args.metrics_listen, settings.metrics),
    )
    if settings.metrics_secure:
        say("server.metrics.secure is for the server: the provisioner has no certificate of its own, and serves metrics over plain HTTP")
    probing = _bind("--probe-listen", "probes", probes)
    if metrics == probes and metrics.port:
        return probing, probing
    return probing, _bind("--metrics-listen", "metrics", metrics)


def _address(flag: str, text: str | None, configured: Endpoint) -> Address:
    from webhooks.sockets import Address, AddressError, parse

    try:
        return Address(*configured) if text is None else parse(text)
    except AddressError as error:
        raise UsageError(f"{flag}: {error}") from None


def _bind(flag: str, what: str, address: Address) -> socket.socket:
    from webhooks.sockets import AddressError, bind

    try:
        bound, [sock] = bind(address)
    except AddressError as error:
        raise UsageError(f"{flag}: {error}") from None
    say(f"{what} http://{bound}")
    return sock


@contextlib.contextmanager
def _logged(settings: ProvisionerSettings) -> Iterator[None]:
    """Log lines go to stderr, as JSON unless the configuration says otherwise."""
    from webhooks.logs import Lines, install, remove

    lines = Lines()
    handler = install(lines, settings.logs)
    try:
        yield
    finally:
        remove(handler)
        lines.close()
