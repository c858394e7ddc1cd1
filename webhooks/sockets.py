"""Addresses and listening sockets: reading HOST:PORT, and binding so that a port in use is noticed."""

import socket
from typing import NamedTuple

ANY_ADDRESS = "0.0.0.0"  # noqa: S104 - how an address on all interfaces is printed; binding it is the operator's own word


class AddressError(ValueError):
    """An address that can't be listened on; the text is a sentence."""


class Address(NamedTuple):
    """The address to listen at; an empty host means all interfaces, IPv6 too where there is such a thing."""

    host: str
    port: int

    def __str__(self) -> str:
        host = self.host or ANY_ADDRESS
        return f"[{host}]:{self.port}" if ":" in host else f"{host}:{self.port}"


def parse(text: str) -> Address:
    """Reads HOST:PORT, [IPv6]:PORT or :PORT. Raises: AddressError."""
    host, colon, port = text.rpartition(":")
    if host.startswith("[") and host.endswith("]"):
        host = host[1:-1]
    elif ":" in host:
        raise AddressError(f'must be HOST:PORT with an IPv6 host in brackets, got "{text}"')
    if not colon or not (port.isascii() and port.isdecimal()) or int(port) > 65535:
        raise AddressError(f'must be HOST:PORT with a port from 0 to 65535, got "{text}"')
    return Address(host, int(port))


def bind(address: Address) -> tuple[Address, socket.socket]:
    """A socket bound to an address, not listening, after the address with the chosen port. Raises: AddressError: unknown, or taken."""
    try:
        sock = _socket(*_resolve(address))
    except (OSError, UnicodeError) as error:
        reason = error.strerror if isinstance(error, OSError) and error.strerror else "the host is not a name"
        raise AddressError(f"can't listen on {address}: {reason[:1].lower()}{reason[1:]}") from None
    return Address(address.host, sock.getsockname()[1]), sock


def _resolve(address: Address) -> tuple[socket.AddressFamily, tuple[str | int, ...]]:
    if not address.host:
        return (socket.AF_INET6, ("::", address.port)) if socket.has_dualstack_ipv6() else (socket.AF_INET, (ANY_ADDRESS, address.port))
    infos = socket.getaddrinfo(address.host, address.port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE)
    # IPv4 first for a name with both: `localhost` is 127.0.0.1 to most clients
    family, _, _, _, target = min(infos, key=lambda info: info[0] != socket.AF_INET)
    return family, (str(target[0]), *target[1:])


def _socket(family: socket.AddressFamily, target: tuple[str | int, ...]) -> socket.socket:
    made = socket.socket(family, socket.SOCK_STREAM)
    try:
        made.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        if family == socket.AF_INET6:
            made.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_V6ONLY, int(target[0] != "::"))
        made.bind(target)
        made.setblocking(False)
    except BaseException:
        made.close()
        raise
    return made
