"""What commands that run for ever share: bound sockets for probes and metrics, and log lines on stderr."""

from __future__ import annotations

import contextlib
import time
from pathlib import Path
from typing import TYPE_CHECKING, Final, TypeAlias

from dynamo_webhooks.cli import flags
from dynamo_webhooks.cli.exits import UsageError
from dynamo_webhooks.cli.output import say

if TYPE_CHECKING:
    import argparse
    import socket
    from collections.abc import Iterator

    from dynamo_webhooks.api.operator.settings import Endpoint, ProvisionerSettings, ReconcilerSettings, ServerSettings
    from dynamo_webhooks.webhooks.log_level import LevelSource
    from dynamo_webhooks.webhooks.sockets import Address

    Settings: TypeAlias = ServerSettings | ProvisionerSettings | ReconcilerSettings


AGAIN_SECONDS: Final = 0.2  # between two tries of a port that is taken


def configure(parser: argparse.ArgumentParser) -> None:
    """Declares the flags of the configuration, the cluster and the listeners."""
    flags.configuration(parser, required=True)
    flags.kubeconfig(parser)
    flags.side_listeners(parser)


def listeners(args: argparse.Namespace, settings: Settings) -> tuple[socket.socket, socket.socket]:
    """The bound sockets of probes and metrics, the same one when they share an address; says where they are.

    Raises: UsageError for an address that can't be used, or that is to be served with and without TLS.
    """
    probes = address("--probe-listen", args.probe_listen, settings.probes)
    metrics = address("--metrics-listen", args.metrics_listen, settings.metrics)
    shared = metrics == probes and metrics.port
    if shared and settings.metrics_secure:
        raise UsageError("server.metrics.secure: must be false when metrics and probes share an address: the kubelet asks without TLS")
    probing = _listening("--probe-listen", "probes", probes)
    if shared:
        say(f"metrics http://{metrics}")
        return probing, probing
    return probing, _listening("--metrics-listen", "metrics", metrics, "https" if settings.metrics_secure else "http")


def address(flag: str, text: str | None, configured: Endpoint) -> Address:
    """Where to listen: what the flag says, else what is configured. Raises: UsageError."""
    from dynamo_webhooks.webhooks.sockets import Address, AddressError, parse

    try:
        return Address(*configured) if text is None else parse(text)
    except AddressError as error:
        raise UsageError(f"{flag}: {error}") from None


def bound(flag: str, where: Address, copies: int = 1, patience: float = 0.0) -> tuple[Address, list[socket.socket]]:
    """Sockets at an address, and the address with the port that was picked; a port that is taken is waited for, `patience` seconds long.

    Raises: UsageError.
    """
    from dynamo_webhooks.webhooks.sockets import AddressError, TakenError, bind

    end = time.monotonic() + patience
    while True:
        try:
            return bind(where, copies)
        except AddressError as error:
            if not isinstance(error, TakenError) or time.monotonic() >= end:
                raise UsageError(f"{flag}: {error}") from None
            if patience:
                say(f"{flag}: {error}; trying again for {patience:g} s, in case workers of a server that crashed are still draining")
                patience = 0.0  # said once
        time.sleep(AGAIN_SECONDS)


def _listening(flag: str, what: str, where: Address, scheme: str = "http") -> socket.socket:
    found, [sock] = bound(flag, where)
    sock.listen()  # before the address is told: who asks at once waits in the queue instead of being refused
    say(f"{what} {scheme}://{found}")
    return sock


def level_source(args: argparse.Namespace) -> LevelSource:
    """Where the log level stands while the process runs: in its configuration file."""
    from dynamo_webhooks.webhooks import child_process
    from dynamo_webhooks.webhooks.log_level import LevelSource

    words = ("config", "--config", args.config, "-o", "json", *(["--lenient-config"] if args.lenient_config else []))
    return LevelSource(Path(args.config), child_process.command("dynamo_webhooks.cli.main", *words))


@contextlib.contextmanager
def logged(settings: Settings) -> Iterator[None]:
    """Log lines go to stderr, as JSON unless the configuration says otherwise."""
    from dynamo_webhooks.webhooks.logs import Lines, install, remove

    lines = Lines()
    handler = install(lines, settings.logs)
    try:
        yield
    finally:
        remove(handler)
        lines.close()
