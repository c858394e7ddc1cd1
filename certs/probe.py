"""Asks each address behind the Service for the certificate that it presents, over TLS; nothing is verified, only looked at."""

from __future__ import annotations

import asyncio
import contextlib
import ssl
import time
from collections.abc import Awaitable, Callable, Iterable, Mapping
from typing import Any, Final, NamedTuple, TypeAlias

from ..kube.errors import ForbiddenError
from ..kube.protocol import Cluster
from ..kube.resources import ENDPOINT_SLICES
from .certificate import Certificate, read_certificate
from .state import ROUND_APART, Endpoint

HANDSHAKE_TIMEOUT_SECONDS: Final = 2.0  # a look waits for handshakes, a repair of one bundle does not
MAX_CONCURRENT_HANDSHAKES: Final = 32
PROBE_TIMEOUT_SECONDS: Final = 15.0  # however many addresses the slices name
PORT_NAME: Final = "webhook"  # of the Service's port that serves webhooks, where it has several

Address: TypeAlias = tuple[str, int]
Ask: TypeAlias = "Callable[[Address, str], Awaitable[Certificate | None]]"


class _ProbeResult(NamedTuple):
    leaf: Certificate | None
    rounds: int
    at: float  # last probe of this address


class Prober:
    """Keeps what each endpoint presented, and in how many rounds in a row."""

    def __init__(
        self,
        cluster: Cluster,
        service: str,
        namespace: str,
        server_name: str,
        *,
        ask: Ask | None = None,
        apart: float = ROUND_APART.total_seconds(),
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        """`apart` is seconds between two rounds that count; an address is asked no more often unless it is forgotten."""
        self._cluster, self._service, self._namespace, self._server_name = cluster, service, namespace, server_name
        self._ask, self._apart, self._clock = ask or present, apart, clock
        self._results: dict[Address, _ProbeResult] = {}

    def forget(self) -> None:
        """Probes every endpoint at the next look; the counts of rounds continue."""
        self._results = {address: result._replace(at=float("-inf")) for address, result in self._results.items()}

    async def probe(self) -> tuple[Endpoint, ...] | None:
        """All endpoints of the Service with what they present; None when it isn't permitted to know them."""
        try:
            ready = await self._addresses(self._service)
        except ForbiddenError:
            return None
        self._results = {address: result for address, result in self._results.items() if address in ready}
        for address in ready.keys() - self._results.keys():
            self._results[address] = _ProbeResult(None, 0, float("-inf"))
        now = self._clock()
        due = sorted(
            (address for address in ready if now - self._results[address].at >= self._apart),
            key=lambda candidate: self._results[candidate].leaf is None,
        )
        gate = asyncio.Semaphore(MAX_CONCURRENT_HANDSHAKES)
        with contextlib.suppress(TimeoutError):  # those that answered before are asked first
            async with asyncio.timeout(PROBE_TIMEOUT_SECONDS):
                await asyncio.gather(*(self._round(address, gate) for address in due))
        return tuple(
            Endpoint(_named(address), self._results[address].leaf, self._results[address].rounds, ready[address])
            for address in sorted(ready)
        )

    async def anybody_behind(self, service: str) -> bool:
        """Whether another Service of the namespace has ready endpoints; no when that may not be known."""
        try:
            return any((await self._addresses(service)).values())
        except ForbiddenError:
            return False

    async def _round(self, address: Address, gate: asyncio.Semaphore) -> None:
        async with gate:
            leaf = await self._ask(address, self._server_name)
        old, now = self._results[address], self._clock()
        extra = old.at == float("-inf")  # a probe that doesn't count as another round
        rounds = old.rounds + (not extra) if leaf == old.leaf else 1
        self._results[address] = _ProbeResult(leaf, rounds if leaf else 0, now)

    async def _addresses(self, service: str) -> dict[Address, bool]:
        """Address and port -> whether it is ready."""
        labels = f"kubernetes.io/service-name={service}"
        listing = await self._cluster.list(ENDPOINT_SLICES, self._namespace, labels=labels)
        addresses: dict[Address, bool] = {}
        for piece in listing.items:
            for host, ready in _hosts(piece):
                for port in _ports(piece.get("ports") or ()):
                    addresses[host, port] = addresses.get((host, port), False) or ready
        return addresses


async def present(address: Address, server_name: str) -> Certificate | None:
    """The certificate that an address presents for a server name; None when it doesn't answer in time."""
    writer = None
    looking = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)  # nothing is verified: the presented certificate is judged afterwards
    looking.check_hostname, looking.verify_mode = False, ssl.CERT_NONE
    try:
        async with asyncio.timeout(HANDSHAKE_TIMEOUT_SECONDS):
            _, writer = await asyncio.open_connection(*address, ssl=looking, server_hostname=server_name)
        der = writer.get_extra_info("ssl_object").getpeercert(binary_form=True)
        return read_certificate(ssl.DER_cert_to_PEM_cert(der).encode()) if der else None
    except (OSError, ssl.SSLError, TimeoutError, UnicodeError):
        return None
    finally:
        if writer is not None:
            writer.close()
            with contextlib.suppress(OSError, ssl.SSLError, TimeoutError):
                async with asyncio.timeout(HANDSHAKE_TIMEOUT_SECONDS):
                    await writer.wait_closed()


def _hosts(piece: Mapping[str, Any]) -> Iterable[tuple[str, bool]]:
    if piece.get("addressType") not in ("IPv4", "IPv6"):
        return
    for endpoint in piece.get("endpoints") or ():
        ready = (endpoint.get("conditions") or {}).get("ready")
        for host in endpoint.get("addresses") or ():
            yield host, ready is not False  # absent means ready, by the API's definition


def _ports(ports: Iterable[Mapping[str, Any]]) -> list[int]:
    numbered = [port for port in ports if port.get("port") and port.get("protocol", "TCP") == "TCP"]
    named = [port for port in numbered if port.get("name") == PORT_NAME]
    return [int(port["port"]) for port in named or numbered]


def _named(address: Address) -> str:
    host, port = address
    return f"[{host}]:{port}" if ":" in host else f"{host}:{port}"
