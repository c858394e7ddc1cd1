"""Parts that daemons share: settings, bound sockets for probes and metrics, and logs on stderr."""

import contextlib
import logging
import os
import signal
import socket
from collections.abc import Iterator, Mapping

from ...api.operator.configuration import OperatorConfiguration
from ...webhooks.sockets import Address, AddressError, bind, parse
from ..console.exits import UsageError
from ..console.output import write_stderr
from ..installation.configuration import load_configuration
from .options import DaemonOptions, ServerOptions


def end_on_sigterm() -> None:
    """Ends the process at SIGTERM while it starts: the kernel has no default action for the first process of a container."""
    signal.signal(signal.SIGTERM, lambda number, _frame: os._exit(128 + number))


def parse_listeners(options: DaemonOptions | ServerOptions, settings: OperatorConfiguration) -> tuple[socket.socket, socket.socket]:
    """The bound sockets of probes and metrics, one where they share an address; says where they are. Raises: UsageError."""
    health, measured = settings.server.health_probe, settings.server.metrics
    probes = parse_address("--probe-listen", options.probe_listen, health.bind_address, health.port)
    metrics = parse_address("--metrics-listen", options.metrics_listen, measured.bind_address, measured.port)
    shared = metrics == probes and metrics.port
    if shared and measured.secure:
        raise UsageError("server.metrics.secure: must be false when metrics and probes share an address: the kubelet asks without TLS")
    probing = _listening("--probe-listen", "probes", probes)
    if shared:
        write_stderr(f"metrics http://{metrics}")
        return probing, probing
    return probing, _listening("--metrics-listen", "metrics", metrics, "https" if measured.secure else "http")


def parse_address(flag: str, text: str | None, host: str, port: int) -> Address:
    """Reads the address to listen at: the flag, else the configured host and port. Raises: UsageError."""
    try:
        return Address(host, port) if text is None else parse(text)
    except AddressError as error:
        raise UsageError(f"{flag}: {error}") from None


def bind_socket(flag: str, where: Address) -> tuple[Address, socket.socket]:
    """A socket at an address, after the address with the port that was picked. Raises: UsageError."""
    try:
        return bind(where)
    except AddressError as error:
        raise UsageError(f"{flag}: {error}") from None


def _listening(flag: str, what: str, where: Address, scheme: str = "http") -> socket.socket:
    bound, sock = bind_socket(flag, where)
    sock.listen()  # before the address is printed: early clients wait in the queue instead of being refused
    write_stderr(f"{what} {scheme}://{bound}")
    return sock


@contextlib.contextmanager
def set_up_logging(settings: OperatorConfiguration) -> Iterator[None]:
    """Log lines go to stderr, as JSON unless the configuration says otherwise."""
    from ...webhooks.log_lines import Lines
    from ...webhooks.logs import install, remove

    lines = Lines()
    handler = install(lines, settings.logging)
    try:
        yield
    finally:
        remove(handler)
        lines.close()


def load_settings(file: str, environment: Mapping[str, str], *, lenient: bool = False) -> OperatorConfiguration:
    """The configuration from a file and the environment; `lenient` logs and passes over unknown keys. Raises: UsageError of all errors."""
    effective = load_configuration(file, environment, lenient=lenient)
    with set_up_logging(effective.configuration):
        for line in effective.unknown:
            logging.getLogger("configuration").warning("%s; ignored", line)
    return effective.configuration
