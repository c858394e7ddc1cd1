"""Which namespaces other operators have claimed by a Lease, judged by our own monotonic clock. Pure: the watch is elsewhere."""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any, Final

from ..api.operator.scope import ScopeSettings

LEASE_NAME: Final = "dynamo-operator-namespace-scope"  # the name alone marks it; holder and labels are free
BELIEVED: Final = 3600  # seconds at most, whatever a Lease says: no single write excludes a namespace for longer
USUAL_DURATION: Final = 30.0  # seconds, for a Lease that doesn't say: what the Go operator writes by default


@dataclass(slots=True)
class _Claim:
    spec: dict[str, Any]
    until: float  # on the monotonic clock


@dataclass(slots=True)
class Claims:
    """The namespaces that Leases claim. Times in a Lease count only when it is first seen; later its changes do."""

    scope: ScopeSettings
    _claims: dict[str, _Claim] = field(default_factory=dict)
    _lost: float | None = None  # when the watch was lost, since when renewals are unseen

    def governs(self, namespace: str, now: float) -> bool:
        """Whether a namespace is ours; `now` is the monotonic clock. The one answer for validators, defaulters and reconcilers."""
        if self.scope.restricted:
            return namespace == self.scope.restricted
        claim = self._claims.get(namespace)
        return claim is None or claim.until <= self._time(now)

    def excluded(self, now: float) -> frozenset[str]:
        """The namespaces that others have claimed."""
        return frozenset() if self.scope.restricted else frozenset(name for name in self._claims if not self.governs(name, now))

    def seen(self, lease: dict[str, Any], now: float, wall: datetime) -> None:
        """Takes a Lease as it is now; only a change of its spec renews a claim, so that a label does not revive an expired Lease."""
        metadata, spec = (part if isinstance(part := lease.get(name), dict) else {} for name in ("metadata", "spec"))
        namespace = metadata.get("namespace")
        if not namespace or not isinstance(namespace, str) or metadata.get("name") != LEASE_NAME:
            return
        known = self._claims.get(namespace)
        if known is not None and known.spec == spec:
            return
        duration = _duration(spec)
        alive = known is not None or _fresh(metadata, spec, duration, wall, self.scope.max_skew)
        now = self._time(now)
        self._claims[namespace] = _Claim(spec, now + duration + self.scope.grace if alive else now)

    def gone(self, namespace: str) -> None:
        """The Lease was deleted: its holder left in good order, and the namespace is ours at once."""
        self._claims.pop(namespace, None)

    def only(self, namespaces: frozenset[str]) -> None:
        """Forgets all others: what a complete list does not hold has been deleted."""
        for namespace in [name for name in self._claims if name not in namespaces]:
            del self._claims[namespace]

    def lost(self, now: float) -> None:
        """The watch is down: renewals can't be seen, so nothing runs out until it is back."""
        self._lost = now if self._lost is None else self._lost

    def regained(self, now: float) -> None:
        """The watch is back: claims continue with their remaining time."""
        if self._lost is not None:
            for claim in self._claims.values():
                claim.until += now - self._lost
            self._lost = None

    def _time(self, now: float) -> float:
        return now if self._lost is None else self._lost


def _duration(spec: dict[str, Any]) -> float:
    seconds = spec.get("leaseDurationSeconds")
    return float(min(seconds, BELIEVED)) if isinstance(seconds, int) and seconds > 0 else USUAL_DURATION


def _fresh(metadata: dict[str, Any], spec: dict[str, Any], duration: float, wall: datetime, skew: float) -> bool:
    """Whether a Lease that was never seen before is alive by its own times; the Go operator renews a new one only after a while."""
    times = [_time_of(spec.get("renewTime"))]
    if times == [None]:
        times = [_time_of(spec.get("acquireTime")), _time_of(metadata.get("creationTimestamp"))]
    # a difference, because a sum can exceed the last representable year, and any user may write a Lease of that name
    return any(time is not None and (wall - time).total_seconds() <= duration + skew for time in times)


def _time_of(text: object) -> datetime | None:
    try:
        found = datetime.fromisoformat(text) if isinstance(text, str) else None
    except ValueError:
        return None
    return found if found is None or found.tzinfo is not None else found.replace(tzinfo=UTC)
