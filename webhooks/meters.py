"""Counting requests: plain dictionaries that one worker fills, snapshots that add up over workers. How they are printed: metrics.py."""

from __future__ import annotations

from bisect import bisect_left
from typing import TYPE_CHECKING, Any, Final, TypeAlias

if TYPE_CHECKING:
    from dynamo_webhooks.webhooks.conversion_statistics import ConversionKey, ConversionStatistics
    from dynamo_webhooks.webhooks.envelope import Verdict
    from dynamo_webhooks.webhooks.routes import Route

Histogram: TypeAlias = tuple[str, str]  # a name of SPREADS, and the value of its one label or ""
# of the Go operator's durations, and of its framework's
BUCKETS: Final = (0.001, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0)

# what else is spread over buckets. An API server gives a conversion up after 30 s, and most reviews take some milliseconds
SPREADS: Final = {
    "request_size_bytes": tuple(4.0**power for power in range(5, 15)),  # 1 KiB to 256 MiB
    "conversion_duration_seconds": (0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 20.0, 30.0, 60.0),
    "review_objects": (1.0, 2.0, 5.0, 10.0, 50.0, 100.0, 500.0, 1000.0, 5000.0, 10000.0),
}

# (path, operation, outcome, code of the review); path and operation are "" where no route or review was found
RequestKey: TypeAlias = tuple[str, str, str, int]
RuleKey: TypeAlias = tuple[str, str, str]  # the path, the operation, and the name of the rule
# of a request to the API server: the code, the method and the host. Plain, as serving processes don't load kube, where they are counted
TrafficKey: TypeAlias = tuple[str, str, str]
Snapshot: TypeAlias = dict[str, list[tuple[Any, Any]]]  # by the names of tables: keys and values


class Meter:
    """The counters of one process; they only grow, but for `reading`."""

    __slots__ = ("bounds", "callers", "conversions", "counts", "denials", "reading", "requests", "skipped", "spoke", "spreads")

    def __init__(self) -> None:
        """Everything is zero."""
        # path -> requests whose body is arriving; responses take no turn of the loop
        self.reading: dict[str, int] = {}
        self.requests: dict[RequestKey, list[float]] = {}  # seconds in all, then a count for each bucket and beyond
        self.spreads: dict[Histogram, list[float]] = {}  # the sum, then as above
        self.denials: dict[RuleKey, int] = {}  # by the first rule that refused
        self.spoke: dict[RuleKey, int] = {}  # every rule or default that fired
        self.conversions: dict[ConversionKey, list[float]] = {}  # objects, and seconds in all
        self.skipped: dict[tuple[str, str], int] = {}  # path, and why no rule ran
        self.callers: dict[tuple[str, str], int] = {}  # path, and whether the caller's certificate is verified and allowed
        self.bounds: dict[str, int] = {}  # how often each bound of limits.py was met
        self.counts: dict[str, float] = {}  # everything that has a name and nothing else

    def answered(self, route: Route | None, verdict: Verdict, seconds: float, size: int) -> None:
        """Counts one answered request; labels come from our own tables, so that clients can't make series."""
        path = route.path if route is not None else ""
        key = (path, verdict.operation, verdict.outcome, verdict.code)
        series = self.requests.get(key)
        if series is None:
            series = self.requests[key] = [0.0] * (len(BUCKETS) + 2)
        series[0] += seconds
        series[1 + bisect_left(BUCKETS, seconds)] += 1
        self.observe("request_size_bytes", path, size)
        if verdict.rules:
            for rule in verdict.rules:
                word = (path, verdict.operation, rule)
                self.spoke[word] = self.spoke.get(word, 0) + 1
            if verdict.outcome == "denied":
                first = (path, verdict.operation, verdict.rules[0])
                self.denials[first] = self.denials.get(first, 0) + 1
        if verdict.skipped:
            self.skipped[path, verdict.skipped] = self.skipped.get((path, verdict.skipped), 0) + 1
        if verdict.bound:
            self.met(verdict.bound)
        if verdict.tally is not None:
            self._converted(verdict.tally, seconds)

    def observe(self, name: str, label: str, value: float) -> None:
        """Adds one value to a histogram of SPREADS."""
        buckets = SPREADS[name]
        series = self.spreads.get((name, label))
        if series is None:
            series = self.spreads[name, label] = [0.0] * (len(buckets) + 2)
        series[0] += value
        series[1 + bisect_left(buckets, value)] += 1

    def called(self, path: str, caller: str) -> None:
        """Counts a request to a path by its caller: `verified` or `unverified`."""
        self.callers[path, caller] = self.callers.get((path, caller), 0) + 1

    def met(self, bound: str) -> None:
        """Counts that a bound of limits.py was met."""
        name = str(bound)  # a plain one, as JSON wants keys
        self.bounds[name] = self.bounds.get(name, 0) + 1

    def _converted(self, tally: ConversionStatistics, whole: float) -> None:
        self.observe("conversion_duration_seconds", "", whole)
        self.observe("review_objects", "", tally.objects)
        for key, (objects, seconds) in tally.counts.items():
            series = self.conversions.setdefault(key, [0.0, 0.0])
            series[0] += objects
            series[1] += seconds
        if tally.damaged:
            self.count("conversion_damaged_annotations", tally.damaged)

    def count(self, name: str, by: float = 1) -> None:
        """Adds to a named counter."""
        self.counts[name] = self.counts.get(name, 0) + by

    def snapshot(self) -> Snapshot:
        """Everything as JSON-able data, to be sent to another process."""
        return {name: list(getattr(self, name).items()) for name in self.__slots__}

    def add(self, snapshot: Snapshot) -> None:
        """Adds another process's snapshot to this one."""
        for name, rows in snapshot.items():
            table = getattr(self, name)
            for words, value in rows:
                key = words if isinstance(words, str) else tuple(words)
                if isinstance(value, list):
                    table[key] = [a + b for a, b in zip(table.get(key) or [0.0] * len(value), value, strict=True)]
                else:
                    table[key] = table.get(key, 0) + value
