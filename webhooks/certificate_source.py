"""Certificates of the serving process: brought by the watching process and mounted files, watched, measured and reported."""

import asyncio
import base64
import binascii
import logging
import time
from collections.abc import Callable, Mapping
from contextlib import suppress
from datetime import datetime
from pathlib import Path
from typing import Any, Final, NamedTuple

from ..certs.context import Change, Directory, Offer, ReloadingContext
from ..certs.delivery import Delivery, Gate, PairChoice, PairContent, Source
from ..certs.files import PairError
from ..certs.names import TLS_AUTHORITY, TLS_CERTIFICATE, TLS_KEY
from ..kube.times import now as local_now
from .meters import Meter

_LOG: Final = logging.getLogger("webhooks.certificates")
_SERVED: Final = logging.getLogger("webhooks.server")


class SecretNames(NamedTuple):
    """The Secret and the trust ConfigMap that deliver the pair, and the name that it must have."""

    namespace: str
    secret: str
    trust: str  # the ConfigMap
    server_name: str


class CertificateSource:
    """Holds delivered pairs, by the rules of certs/delivery.py; contexts call `offer`."""

    def __init__(
        self, names: SecretNames, directory: Path, *, now: Callable[[], datetime] = local_now, seconds: Callable[[], float] = time.monotonic
    ) -> None:
        self._delivery = Delivery(names.server_name)
        self._files = Directory(directory)
        self._now, self._seconds = now, seconds
        self._warned = ""
        self.stale = ""  # why the API server's last data may be outdated; empty while the watch is healthy

    def on_delivery(self, report: Mapping[str, Any]) -> None:
        """Takes a report of `SecretWatch`."""
        self.stale = str(report["why"])
        content: PairContent | str = self.stale or "it has not answered yet"
        if (pair := report["pair"]) is not None:
            try:
                content = PairContent(*(base64.b64decode(pair[name]) for name in (TLS_CERTIFICATE, TLS_KEY, TLS_AUTHORITY)))
            except (binascii.Error, ValueError):
                content = "the Secret's data must be base64"
        self._delivery.store(Source.API, content)
        usable = report["usable"]
        self._delivery.restrict(Gate(listed=bool(report["heard"]), usable=None if usable is None else frozenset(usable)))

    def offer(self) -> Offer:
        """The pair to serve now. Raises PairError when there is none."""
        choice = self._choice()
        if choice.pair is None:
            raise PairError(choice.trouble)
        content = choice.pair.content
        return Offer(content.certificate, content.key, content.bundle, choice.pair.source, choice.trouble)

    def _choice(self) -> PairChoice:
        try:
            self._delivery.store(Source.FILE, PairContent(*self._files.offer()[:3]))
        except PairError as error:
            self._delivery.store(Source.FILE, str(error))
        choice = self._delivery.choose(self._now(), self._seconds())
        if choice.warning and choice.warning != self._warned:
            _LOG.warning("%s", choice.warning)
        self._warned = choice.warning
        return choice


class ServedCertificate:
    """Looks at a context's source from time to time, and whenever there is news."""

    def __init__(self, context: ReloadingContext, meter: Meter) -> None:
        self.context = context
        self._meter = meter
        self._news = asyncio.Event()

    @property
    def bundle(self) -> bytes:
        """The authorities that clients trust, as they came with the pair that is served."""
        return self.context.served.bundle if self.context.served is not None else b""

    def hurry(self) -> None:
        """There is news: ends a pause."""
        self._news.set()

    async def pause(self, seconds: float) -> None:
        """Waits until it is time for another look."""
        with suppress(TimeoutError):
            async with asyncio.timeout(seconds):
                await self._news.wait()
        self._news.clear()

    def refresh(self) -> None:
        """Takes a new pair into use when there is one, and logs what happened."""
        context, change = self.context, self.context.refresh()
        if change is Change.LOADED:
            self._meter.count("certificate_reloads")
            leaf = context.leaf
            _SERVED.info("certificate %s loaded, valid until %s", leaf and leaf.serial, leaf and leaf.not_after.isoformat())
            if context.reason:
                _SERVED.warning("another certificate is not used: %s", context.reason)
        elif change is Change.REFUSED:
            self._meter.count("certificate_refusals")
            _SERVED.error("a certificate can't be used%s: %s", ", the last good pair stays" * context.loaded, context.reason)
        clients, change = context.clients, context.refresh_clients()
        if clients is not None and change is Change.LOADED:
            _SERVED.info("%d authorities of client certificates loaded", len(clients.authorities))
        elif clients is not None and change is Change.REFUSED:
            _SERVED.error(
                "authorities of client certificates can't be used%s: %s", ", the last stay" * bool(clients.authorities), clients.reason
            )

    def reasons(self) -> list[str]:
        """Lists why clients can't be served with the certificate."""
        if not self.context.loaded:
            return [f"no certificate: {self.context.reason}"]
        return ["the certificate has expired"] if self.context.expired else []

    def gauges(self) -> dict[str, float]:
        """The current measurements, by name."""
        leaf = self.context.leaf
        return {
            "leaf_not_after_seconds": leaf.not_after.timestamp() if leaf is not None else 0.0,
            "certificate_refused": float(bool(self.context.reason)),
        }

    def report(self) -> dict[str, Any]:
        """The served certificate, and why a newer one isn't served."""
        served, clients = self.context.served, self.context.clients
        return {
            "certificate": served.facts() if served is not None else {},
            "trouble": "; ".join(filter(None, (self.context.reason, clients.reason if clients is not None else ""))),
        }
