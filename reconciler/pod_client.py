"""Calls to pods over the network. Addresses and answers are untrusted: only addresses that a pod can have are called."""

import ipaddress
from collections.abc import Callable
from typing import Final

import aiohttp
from yarl import URL

FAILURES: Final = (aiohttp.ClientError, OSError, ValueError)  # what a call raises; a TimeoutError is an OSError
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


class PodClient:
    """A client without proxy, cookies, redirects or credentials, which reads no more of an answer than its caller asks for."""

    def __init__(self, connector: Callable[[], aiohttp.BaseConnector | None] = lambda: None) -> None:
        """Opens nothing yet; `connector` is another way to addresses."""
        self._connector = connector
        self._session: aiohttp.ClientSession | None = None

    async def call(self, method: str, url: URL, seconds: float, connect: float, most: int, body: bytes | None = None) -> tuple[int, bytes]:
        """The status and the first `most` bytes of an answer, within so many seconds. Raises: FAILURES."""
        if self._session is None:
            jar = aiohttp.DummyCookieJar()
            self._session = aiohttp.ClientSession(connector=self._connector(), cookie_jar=jar, trust_env=False, auto_decompress=False)
        timeout = aiohttp.ClientTimeout(total=seconds, sock_connect=connect)
        # 64 KiB of a compressed answer could become 64 MiB
        headers = {"Accept-Encoding": "identity", **({"Content-Type": "application/json"} if body is not None else {})}
        request = self._session.request(method, url, data=body, headers=headers, timeout=timeout, allow_redirects=False)
        async with request as response:
            read = bytearray()
            while len(read) < most and (piece := await response.content.read(most - len(read))):
                read += piece
            return response.status, bytes(read)

    async def close(self) -> None:
        """Closes the session, if one is open."""
        if self._session is not None:
            await self._session.close()


def host_of(text: str) -> str:
    """Returns the host of a URL, an IPv6 address in brackets; empty for a text that can't be a pod's address."""
    try:
        address = ipaddress.ip_address(text)
    except ValueError:
        return ""
    if "%" in text or any(address in network for network in _NEVER):
        return ""
    return f"[{address}]" if address.version == 6 else str(address)
