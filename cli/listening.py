"""What commands that run for ever without serving webhooks share: bound sockets for probes and metrics, and log lines on stderr."""

from __future__ import annotations

import contextlib
from typing import TYPE_CHECKING, Protocol

from cli.exits import UsageError
from cli.output import say

if TYPE_CHECKING:
    import argparse
    import socket
    from collections.abc import Iterator

    from api.operator.settings import Endpoint, Logs
    from webhooks.sockets import Address


class Listening(Protocol):
    """The settings that matter here."""

    @property
    def probes(self) -> Endpoint:
        """Where /healthz is served."""
        ...

    @property
    def metrics(self) -> Endpoint:
        """Where /metrics is served."""
        ...

    @property
    def metrics_secure(self) -> bool:
        """Whether metrics are asked for over TLS."""
        ...

    @property
    def logs(self) -> Logs:
        """What is logged, and how."""
        ...


def configure(parser: argparse.ArgumentParser) -> None:
    """Declares the flags of the configuration, the cluster and the listeners."""
    add = parser.add_argument
    add("--config", metavar="FILE", required=True, help="an OperatorConfiguration, YAML or JSON")
    add("--kubeconfig", metavar="FILE", default="", help="how to reach the cluster; without it KUBECONFIG, or the pod's own files")
    add("--probe-listen", metavar="HOST:PORT", help="where /healthz is served (default :8081)")
    add("--metrics-listen", metavar="HOST:PORT", help="where /metrics is served (default :8080)")


def listeners(args: argparse.Namespace, settings: Listening, who: str) -> tuple[socket.socket, socket.socket]:
    """The bound sockets of probes and metrics, the same one when they share an address; `who` is the process, in sentences.

    Raises: UsageError for an address that can't be used.
    """
    probes = _address("--probe-listen", args.probe_listen, settings.probes)
    metrics = _address("--metrics-listen", args.metrics_listen, settings.metrics)
    if settings.metrics_secure:
        say(f"server.metrics.secure is for the server: the {who} has no certificate of its own, and serves metrics over plain HTTP")
    probing = _bind("--probe-listen", "probes", probes)
    if metrics == probes and metrics.port:
        return probing, probing
    return probing, _bind("--metrics-listen", "metrics", metrics)


@contextlib.contextmanager
def logged(settings: Listening) -> Iterator[None]:
    """Log lines go to stderr, as JSON unless the configuration says otherwise."""
    from webhooks.logs import Lines, install, remove

    lines = Lines()
    handler = install(lines, settings.logs)
    try:
        yield
    finally:
        remove(handler)
        lines.close()


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
    sock.listen()  # before the address is told: who asks at once waits in the queue instead of being refused
    say(f"{what} http://{bound}")
    return sock
