"""Which pair a server uses: the newest good one that its sources hold, and a new issuer's only when trust in it is published.

Nothing is read here: what the API server and the mounted files hold is handed in, and so is the time. docs/certificates.md has the rules.
"""

from dataclasses import dataclass, field
from datetime import datetime
from enum import StrEnum
from typing import Final, NamedTuple

from .certificate import Certificate, read_certificates
from .files import CERTIFICATE, PairError, judge
from .names import TLS_AUTHORITY

TRUST_TIMEOUT_SECONDS: Final = 300.0  # in which a server without any other pair waits for trust in the issuer of the one it has
UNLISTED_TIMEOUT_SECONDS: Final = 10.0  # the same, while the API server, which may be unreachable, has not listed trusted issuers
DELETED_LIST_SECONDS: Final = 10.0  # for which a deleted list of issuers still counts: it may only be recreated
_MAX_INTERMEDIATES: Final = 5  # anything longer is a mistake


class Source(StrEnum):
    """Source of a pair."""

    API = "api"
    FILE = "file"


@dataclass(frozen=True, slots=True)
class PairContent:
    """The three keys of the serving Secret as one source holds them. They never show in a text."""

    certificate: bytes = field(repr=False)
    key: bytes = field(repr=False)
    bundle: bytes = field(repr=False)


class AcceptedPair(NamedTuple):
    """A pair that is valid by itself."""

    content: PairContent
    source: Source
    leaf: Certificate
    authorities: frozenset[str]  # fingerprints of those in its bundle that it chains to


class PairChoice(NamedTuple):
    """The pair to serve, and the problems of others."""

    pair: AcceptedPair | None
    trouble: str = ""  # why what a source holds is not served; empty when there is nothing to complain of
    warning: str = ""  # why the served pair should be replaced


@dataclass(frozen=True, slots=True)
class Gate:
    """The issuers whose certificates may be served; `listed` is False until the API server has listed them."""

    listed: bool = False
    usable: frozenset[str] | None = None  # fingerprints; None: no list, every issuer may be used


def accept(content: PairContent, source: Source, server_name: str, now: datetime) -> AcceptedPair:
    """Judges one pair. `server_name` is the name that the API server verifies. Raises: PairError with the first rule that is broken."""
    leaf = judge(content.certificate, content.key, now)
    if server_name not in leaf.names:
        raise PairError(f"{CERTIFICATE} must name {server_name}, and names {', '.join(sorted(leaf.names)) or 'nothing'}")
    bundle = read_certificates(content.bundle)
    if not bundle:
        raise PairError(f"{TLS_AUTHORITY} must hold the PEM certificates of the authorities that {CERTIFICATE} chains to")
    authorities = _anchors(read_certificates(content.certificate), bundle)
    if not authorities:
        raise PairError(f"{CERTIFICATE} must chain to an authority in {TLS_AUTHORITY}")
    return AcceptedPair(content, source, leaf, authorities)


def _anchors(chain: tuple[Certificate, ...], bundle: tuple[Certificate, ...]) -> frozenset[str]:
    """The authorities of the bundle above the first certificate, directly or by way of the others of its chain."""
    reached = [chain[0]]
    for _ in range(_MAX_INTERMEDIATES):
        anchors = frozenset(anchor.fingerprint for anchor in bundle if any(anchor.issued(each) for each in reached))
        if anchors:
            return anchors
        reached = [
            certificate for certificate in chain[1:] if certificate.is_authority and any(certificate.issued(each) for each in reached)
        ]
    return frozenset()


class Delivery:
    """Keeps the content of each source, the usable issuers and the served pair; each `choose` decides afresh."""

    def __init__(self, server_name: str) -> None:
        """`server_name` must be among the names of a pair."""
        self._server_name = server_name
        self._contents: dict[Source, PairContent | str] = {Source.API: "the API server has not answered yet"}
        self._gate = self._latest = Gate()  # in effect, and as last read
        self._gone_since: float | None = None  # since when there is no list any more
        self._served: AcceptedPair | None = None
        self._since: dict[str, float] = {}  # leaf -> when it was first held back

    def store(self, source: Source, content: PairContent | str) -> None:
        """Stores the content of a source, or a string with the reason why it has none."""
        self._contents[source] = content

    def restrict(self, gate: Gate) -> None:
        """Stores the issuers that may be used."""
        self._latest = gate

    def choose(self, now: datetime, seconds: float) -> PairChoice:
        """The pair to serve now; `seconds` is a monotonic clock. With no better one the served stays, even expired: its error is clear."""
        self._gate = self._choose_gate(seconds)
        good, refused, empty = self._judge_all(now)
        served = self._served
        works = served is not None and served.leaf.valid_at(now)
        free = [pair for pair in good if self._is_trusted(pair)]
        held = {pair.leaf.fingerprint: pair for pair in good if pair not in free}
        self._since = {print_: self._since.get(print_, seconds) for print_ in held}
        late = [pair for pair in held.values() if seconds - self._since[pair.leaf.fingerprint] >= self._patience(works=works)]
        best = self._newest(free, works=works) or (None if free else self._newest(late, works=works))
        warning = ""
        if best is not None:
            if best not in free:
                warning = f"serving a certificate although {self._explain()}: nothing better came in time"
            self._served = best
        waiting = [f"{pair.source}: waiting, because {self._explain()}" for pair in held.values() if pair is not best]
        trouble = "; ".join([*refused, *waiting, *(empty if self._served is None else ())])
        return PairChoice(self._served, trouble, warning)

    def _judge_all(self, now: datetime) -> tuple[list[AcceptedPair], list[str], list[str]]:
        """Good pairs, why others are refused, and why sources hold none."""
        good: list[AcceptedPair] = []
        refused: list[str] = []
        empty: list[str] = []
        for source, content in sorted(self._contents.items()):
            if isinstance(content, str):
                empty.append(f"{source}: {content}")
                continue
            try:
                good.append(accept(content, source, self._server_name, now))
            except PairError as error:
                if self._served is None or content != self._served.content:
                    refused.append(f"{source}: {error}")
        return good, refused, empty

    def _choose_gate(self, seconds: float) -> Gate:
        vanished = self._latest.listed and self._latest.usable is None and self._gate.usable is not None
        self._gone_since = (seconds if self._gone_since is None else self._gone_since) if vanished else None
        return self._gate if self._gone_since is not None and seconds - self._gone_since < DELETED_LIST_SECONDS else self._latest

    def _is_trusted(self, pair: AcceptedPair) -> bool:
        """Whether clients already trust it: its issuer is listed, or issued the served pair."""
        if self._gate.listed and (self._gate.usable is None or pair.authorities & self._gate.usable):
            return True
        return self._served is not None and bool(pair.authorities & self._served.authorities)

    def _patience(self, *, works: bool) -> float:
        """Seconds to hold a pair back: forever while another one works and its issuer isn't listed."""
        if works:
            return float("inf") if self._gate.listed else TRUST_TIMEOUT_SECONDS
        return TRUST_TIMEOUT_SECONDS if self._gate.listed else UNLISTED_TIMEOUT_SECONDS

    def _newest(self, some: list[AcceptedPair], *, works: bool) -> AcceptedPair | None:
        """The newest, the API server's before the same from a file; files lag behind, so an older one from there changes nothing."""
        served = self._served
        if served is not None and works and served.source is Source.API:
            some = [pair for pair in some if pair.source is Source.API or pair.leaf.not_before > served.leaf.not_before]
        return max(some, key=lambda pair: (pair.leaf.not_before, pair.source is Source.API), default=None)

    def _explain(self) -> str:
        listed = "is not among the usable ones" if self._gate.listed else "is not known to be usable: the trust ConfigMap has not been read"
        return f"its issuer {listed}"
