"""Watches, measures and reports the certificate of one serving process."""

from __future__ import annotations

import asyncio
import logging
from contextlib import suppress
from typing import Any, Final

from ..certs.context import Change, ReloadingContext
from .meters import Meter

_LOG: Final = logging.getLogger("webhooks.server")


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

    def look(self) -> None:
        """Takes a new pair into use when there is one, and logs what happened."""
        context, change = self.context, self.context.refresh()
        if change is Change.LOADED:
            self._meter.count("certificate_reloads")
            leaf = context.leaf
            _LOG.info("certificate %s loaded, valid until %s", leaf and leaf.serial, leaf and leaf.not_after.isoformat())
            if context.reason:
                _LOG.warning("another certificate is not used: %s", context.reason)
        elif change is Change.REFUSED:
            self._meter.count("certificate_refusals")
            _LOG.error("a certificate can't be used%s: %s", ", the last good pair stays" * context.loaded, context.reason)
        self._look_at_clients()

    def _look_at_clients(self) -> None:
        clients, change = self.context.clients, self.context.refresh_clients()
        if clients is not None and change is Change.LOADED:
            _LOG.info("%d authorities of client certificates loaded", len(clients.authorities))
        elif clients is not None and change is Change.REFUSED:
            _LOG.error(
                "authorities of client certificates can't be used%s: %s", ", the last stay" * bool(clients.authorities), clients.reason
            )

    def reasons(self) -> list[str]:
        """Why clients can't be served with it."""
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
