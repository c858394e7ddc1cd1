"""Brings pairs to the serving process, from the watching process and from mounted files, by the rules of certs/delivery.py."""

import base64
import binascii
import logging
import time
from collections.abc import Callable, Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Final, NamedTuple

from ..certs.context import Directory, Offer
from ..certs.delivery import Choice, Content, Delivery, Gate, Source
from ..certs.files import PairError
from ..certs.names import TLS_AUTHORITY, TLS_CERTIFICATE, TLS_KEY

_LOG: Final = logging.getLogger("webhooks.certificates")


class SecretNames(NamedTuple):
    """The Secret and the trust ConfigMap that deliver the pair, and the name that it must have."""

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
    """Holds delivered pairs; contexts call `offer`."""

    def __init__(
        self, names: SecretNames, directory: Path, *, now: Callable[[], datetime] = _now, seconds: Callable[[], float] = time.monotonic
    ) -> None:
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


_PARTS: Final = (TLS_CERTIFICATE, TLS_KEY, TLS_AUTHORITY)


def _content(data: Mapping[str, str]) -> Content | str:
    try:
        return Content(*(base64.b64decode(data[name]) for name in _PARTS))
    except (binascii.Error, ValueError):
        return "the Secret's data must be base64"
