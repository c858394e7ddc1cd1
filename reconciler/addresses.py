"""Which addresses the reconciler may call: those that a pod can have. Pure."""

import ipaddress
from typing import Final

_NEVER: Final = tuple(
    ipaddress.ip_network(each)
    for each in (
        *("0.0.0.0/8", "127.0.0.0/8", "169.254.0.0/16", "224.0.0.0/3"),  # this host, link-local, multicast and reserved
        *("fe80::/10", "fec0::/10", "ff00::/8"),
        *("100.100.100.200/32", "168.63.129.16/32", "fd00:ec2::254/128", "fd20:ce::254/128"),  # metadata of clouds
        # unspecified, loopback, and forms that carry an IPv4 address: mapped, translated, NAT64, Teredo, 6to4
        *("::/96", "::ffff:0:0/96", "::ffff:0:0:0/96", "64:ff9b::/96", "64:ff9b:1::/48", "2001::/32", "2002::/16"),
    )
)


def host_of(text: str) -> str:
    """The host of a URL, an IPv6 address in brackets; empty for what can't be a pod's address."""
    try:
        address = ipaddress.ip_address(text)
    except ValueError:
        return ""
    if "%" in text or any(address in network for network in _NEVER):
        return ""
    return f"[{address}]" if address.version == 6 else str(address)
