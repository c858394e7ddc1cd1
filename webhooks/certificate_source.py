"""Brings pairs to the serving processes, from the watching process and from mounted files, by the rules of certs/delivery.py.

The process that holds the side listeners decides, alone or for its workers: they all serve the same pair, and one that replaces a crashed
one gets what the others serve, though the Secret may hold something newer by then that is not usable yet.
"""

from __future__ import annotations

import base64
import binascii
import logging
import time
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any, Final, NamedTuple

import orjson

from dynamo_webhooks.certs.context import Directory, Offer
from dynamo_webhooks.certs.delivery import Content, Delivery, Gate, Source
from dynamo_webhooks.certs.files import PairError
from dynamo_webhooks.certs.names import TLS_AUTHORITY, TLS_CERTIFICATE, TLS_KEY

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from pathlib import Path

    from dynamo_webhooks.certs.delivery import Choice

_LOG: Final = logging.getLogger("webhooks.certificates")


class SecretNames(NamedTuple):
    """Where the pair comes from when a cluster delivers it, and what it must name."""

    namespace: str
    secret: str
    trust: str  # the ConfigMap
    server_name: str

    def orders(self) -> dict[str, str]:
        """For the process that watches."""
        return {"namespace": self.namespace, "secret": self.secret, "trust": self.trust}


def _now() -> datetime:
    return datetime.now(UTC)


class CertificateSource:
    """Holds delivered pairs; contexts call `offer`, workers get `line`."""

    def __init__(
        self, names: SecretNames, directory: Path, *, now: Callable[[], datetime] = _now, seconds: Callable[[], float] = time.monotonic
    ) -> None:
        """Reads nothing yet."""
        self._delivery = Delivery(names.server_name)
        self._files = Directory(directory)
        self._now, self._seconds = now, seconds
        self._warned = ""
        self.away = ""  # why the API server's last data may be outdated; empty while the watch is healthy

    def delivered(self, report: Mapping[str, Any]) -> None:
        """Takes a report of secret_watch.py."""
        self.away = str(report["why"])
        pair = report["pair"]
        self._delivery.hold(Source.API, _content(pair) if pair is not None else self.away or "it has not answered yet")
        usable = report["usable"]
        self._delivery.restrict(Gate(heard=bool(report["heard"]), usable=None if usable is None else frozenset(usable)))

    def offer(self) -> Offer:
        """The pair to serve now. Raises PairError when there is none."""
        choice = self._choice()
        if choice.pair is None:
            raise PairError(choice.trouble)
        content = choice.pair.content
        return Offer(content.certificate, content.key, content.bundle, choice.pair.source, choice.trouble)

    def bundle(self) -> bytes:
        """The authorities that clients trust; empty when there is no pair."""
        try:
            return self.offer().bundle
        except PairError:
            return b""

    def line(self) -> bytes:
        """The same for workers, as one line of JSON; it holds a key: never log it."""
        try:
            offer = self.offer()
        except PairError as error:
            return orjson.dumps({"trouble": str(error)}, option=orjson.OPT_APPEND_NEWLINE)
        texts = {name: base64.b64encode(value).decode() for name, value in zip(_PARTS, offer[:3], strict=True)}
        return orjson.dumps({**texts, "source": offer.source, "trouble": offer.trouble}, option=orjson.OPT_APPEND_NEWLINE)

    def _choice(self) -> Choice:
        try:
            self._delivery.hold(Source.FILE, Content(*self._files.offer()[:3]))
        except PairError as error:
            self._delivery.hold(Source.FILE, str(error))
        choice = self._delivery.choose(self._now(), self._seconds())
        if choice.warning and choice.warning != self._warned:
            _LOG.warning("%s", choice.warning)
        self._warned = choice.warning
        return choice


class ForwardedCertificate:
    """The worker's last delivered pair, for its context."""

    def __init__(self, line: bytes) -> None:
        """Begins with what is known when the worker starts."""
        self._offer: Offer | str = ""
        self.take(line)

    def take(self, line: bytes) -> None:
        """Takes a line of the source."""
        told = orjson.loads(line)
        parts = [base64.b64decode(told[name]) for name in _PARTS] if _PARTS[0] in told else []
        self._offer = Offer(parts[0], parts[1], parts[2], told["source"], told["trouble"]) if parts else str(told["trouble"])

    def offer(self) -> Offer:
        """The pair to serve now. Raises PairError when there is none."""
        if isinstance(self._offer, str):
            raise PairError(self._offer)
        return self._offer


_PARTS: Final = (TLS_CERTIFICATE, TLS_KEY, TLS_AUTHORITY)


def _content(data: Mapping[str, str]) -> Content | str:
    try:
        return Content(*(base64.b64decode(data[name]) for name in _PARTS))
    except (binascii.Error, ValueError):
        return "the Secret's data must be base64"
