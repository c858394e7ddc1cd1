"""Addresses of IP, and their ranges."""

import ipaddress
from collections.abc import Callable
from dataclasses import dataclass
from operator import attrgetter
from typing import ClassVar, TypeAlias

from ..errors import EvaluationError
from ..overloads import function, method

_Address: TypeAlias = ipaddress.IPv4Address | ipaddress.IPv6Address


@dataclass(frozen=True, slots=True)
class IP:
    """An address."""

    address: _Address
    kind: ClassVar = "net.IP"

    def __eq__(self, other: object) -> bool:
        return isinstance(other, IP) and _plain(self.address) == _plain(other.address)

    def __hash__(self) -> int:
        return hash(_plain(self.address))


@dataclass(frozen=True, slots=True)
class CIDR:
    """An address and how many of its bits the range has in common."""

    address: _Address
    bits: int
    kind: ClassVar = "net.CIDR"


def _plain(address: _Address) -> _Address:
    """An address of IPv4 that is written in IPv6 is the same address."""
    mapped = address.ipv4_mapped if isinstance(address, ipaddress.IPv6Address) else None
    return address if mapped is None else mapped


def _parse(text: str) -> _Address:
    try:
        address = ipaddress.ip_address(text)
    except ValueError:
        raise EvaluationError(f"IP Address '{text[:60]}' parse error during conversion from string") from None
    if "%" in text:
        raise EvaluationError("IP Address with zone value is not allowed")
    if "." in text and _plain(address) is not address:
        raise EvaluationError("IPv4-mapped IPv6 address is not allowed")
    return address


def _parse_range(text: str) -> CIDR:
    address, _, bits = text.partition("/")
    if "%" in address:
        raise EvaluationError("CIDR with zone value is not allowed")
    if not (bits.isascii() and bits.isdigit()) or len(bits) > 3 or (bits[0] == "0" and bits != "0"):
        raise EvaluationError("network address parse error during conversion from string")
    try:
        cidr = CIDR(_parse(address), int(bits))
    except EvaluationError as wrong:
        mapped = "IPv4-mapped" in str(wrong)
        raise EvaluationError(str(wrong) if mapped else "network address parse error during conversion from string") from None
    if cidr.bits > cidr.address.max_prefixlen:
        raise EvaluationError("network address parse error during conversion from string")
    return cidr


def _reading(name: str, parse: Callable[[str], object]) -> None:
    """Declares a function that returns whether a text can be parsed."""

    @function(name, str)
    def reads(text: str) -> bool:
        try:
            parse(text)
        except EvaluationError:
            return False
        return True


_reading("isIP", _parse)
_reading("isCIDR", _parse_range)
function("ip", str)(lambda text: IP(_parse(text)))
function("cidr", str)(_parse_range)
function("ip.isCanonical", str)(lambda text: str(_parse(text)) == text)
function("string", IP)(lambda value: str(value.address))
function("string", CIDR)(lambda value: f"{value.address}/{value.bits}")
method("family", IP)(attrgetter("address.version"))
method("isUnspecified", IP)(attrgetter("address.is_unspecified"))
method("isLoopback", IP)(attrgetter("address.is_loopback"))
method("isLinkLocalUnicast", IP)(attrgetter("address.is_link_local"))
method("ip", CIDR)(lambda value: IP(value.address))
method("prefixLength", CIDR)(attrgetter("bits"))


@method("isLinkLocalMulticast", IP)
def _is_link_local_multicast(value: IP) -> bool:
    networks = {4: "224.0.0.0/24", 6: "ff02::/16"}
    return value.address in ipaddress.ip_network(networks[value.address.version])


@method("isGlobalUnicast", IP)
def _is_global(value: IP) -> bool:
    address = value.address
    special = address.is_unspecified or address.is_loopback or address.is_multicast or address.is_link_local
    return not special and str(address) != "255.255.255.255"


def _network(value: CIDR) -> ipaddress.IPv4Network | ipaddress.IPv6Network:
    return ipaddress.ip_network((str(value.address), value.bits), strict=False)


@method("containsCIDR", CIDR, CIDR)
def _contains(value: CIDR, other: CIDR) -> bool:
    return other.bits >= value.bits and other.address in _network(value)


method("containsCIDR", CIDR, str)(lambda value, other: _contains(value, _parse_range(other)))
method("containsIP", CIDR, IP)(lambda value, other: other.address in _network(value))
method("containsIP", CIDR, str)(lambda value, other: _parse(other) in _network(value))
method("masked", CIDR)(lambda value: CIDR(_network(value).network_address, value.bits))
