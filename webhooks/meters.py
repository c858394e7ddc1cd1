"""Counts answered requests in plain dictionaries, which metrics.py prints."""

from collections import defaultdict
from typing import Final, TypeAlias

from ..kube.metrics import observe
from .envelope import ConversionKey, ConversionStatistics, Verdict
from .routes import Route

# of the Go operator's durations, and of its framework's
BUCKETS: Final = (0.001, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0)
_SIZES: Final = tuple(4.0**power for power in range(5, 15))  # 1 KiB to 256 MiB
# what else is spread over buckets. An API server gives a conversion up after 30 s, and most reviews take some milliseconds
SPREADS: Final = {
    "request_size_bytes": _SIZES,
    "conversion_duration_seconds": (0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 20.0, 30.0, 60.0),
    "review_objects": (1.0, 2.0, 5.0, 10.0, 50.0, 100.0, 500.0, 1000.0, 5000.0, 10000.0),
}
# (path, operation, outcome, code of the review); path and operation are "" where no route or review was found
RequestKey: TypeAlias = tuple[str, str, str, int]
RuleKey: TypeAlias = tuple[str, str, str]  # the path, the operation, and the name of the rule
# of a request to the API server: the code, the method and the host. Plain, as serving processes don't load kube/protocol.py
TrafficKey: TypeAlias = tuple[str, str, str]


class Meter:
    """The counters; they only grow, except `reading`."""

    __slots__ = ("bounds", "callers", "conversions", "counts", "denials", "reading", "requests", "skipped", "spoke", "spreads")

    def __init__(self) -> None:
        # path -> requests whose body is arriving; responses take no turn of the loop
        self.reading: dict[str, int] = {}
        self.requests: dict[RequestKey, list[float]] = {}
        self.spreads: dict[str, dict[tuple[str, ...], list[float]]] = {name: {} for name in SPREADS}
        self.denials: dict[RuleKey, int] = defaultdict(int)  # by the first rule that refused
        self.spoke: dict[RuleKey, int] = defaultdict(int)  # every rule or default that fired
        self.conversions: dict[ConversionKey, list[float]] = {}  # objects, and seconds in all
        self.skipped: dict[tuple[str, str], int] = defaultdict(int)  # path, and why no rule ran
        self.callers: dict[tuple[str, str], int] = defaultdict(int)  # path, and whether the caller's certificate is verified and allowed
        self.bounds: dict[str, int] = defaultdict(int)  # how often each bound of limits.py was met
        self.counts: dict[str, int] = defaultdict(int)  # everything that has a name and nothing else

    def answered(self, route: Route | None, verdict: Verdict, seconds: float, size: int) -> None:
        """Counts one answered request; labels come from our own tables, so that clients can't make series."""
        path = route.path if route is not None else ""
        observe(self.requests, (path, verdict.operation, verdict.outcome, verdict.code), BUCKETS, seconds)
        observe(self.spreads["request_size_bytes"], (path,), _SIZES, size)
        if verdict.rules:
            for rule in verdict.rules:
                self.spoke[path, verdict.operation, rule] += 1
            if verdict.outcome == "denied":
                self.denials[path, verdict.operation, verdict.rules[0]] += 1
        if verdict.skipped:
            self.skipped[path, verdict.skipped] += 1
        if verdict.bound:
            self.count_bound(verdict.bound)
        if verdict.tally is not None:
            self._converted(verdict.tally, seconds)

    def count_bound(self, bound: str) -> None:
        """Counts that a bound of limits.py was met."""
        self.bounds[bound] += 1

    def count(self, name: str, by: int = 1) -> None:
        """Adds to a named counter."""
        self.counts[name] += by

    def _converted(self, tally: ConversionStatistics, whole: float) -> None:
        for name, value in (("conversion_duration_seconds", whole), ("review_objects", tally.objects)):
            observe(self.spreads[name], (), SPREADS[name], value)
        for key, (objects, seconds) in tally.counts.items():
            series = self.conversions.setdefault(key, [0.0, 0.0])
            series[0] += objects
            series[1] += seconds
        if tally.damaged:
            self.count("conversion_damaged_annotations", tally.damaged)
