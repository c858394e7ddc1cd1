"""Counting requests: plain dictionaries that one worker fills, snapshots that add up over workers. How they are printed: metrics.py."""

from __future__ import annotations

from bisect import bisect_left
from typing import TYPE_CHECKING, Any, Final, TypeAlias

if TYPE_CHECKING:
    from webhooks.envelope import Verdict
    from webhooks.routes import Route
    from webhooks.tally import Tally, TallyKey

BUCKETS: Final = (0.001, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0)

# (path, operation, outcome, code of the review); path and operation are "" where no route or review was found
RequestKey: TypeAlias = tuple[str, str, str, int]
RuleKey: TypeAlias = tuple[str, str, str]  # the path, the operation, and the name of the rule
Snapshot: TypeAlias = dict[str, Any]


class Meter:
    """The counters of one process; they only grow, but for `reading`."""

    __slots__ = ("conversions", "counts", "denials", "reading", "requests", "spoke")

    def __init__(self) -> None:
        """Everything is zero."""
        # path -> requests whose body is still arriving; an answer itself takes no turn of the loop, so nobody could see it in flight
        self.reading: dict[str, int] = {}
        self.requests: dict[RequestKey, list[float]] = {}  # seconds in all, bytes in all, then a count for each bucket and beyond
        self.denials: dict[RuleKey, int] = {}  # by the first rule that refused
        self.spoke: dict[RuleKey, int] = {}  # every rule or default that had something to say
        self.conversions: dict[TallyKey, list[float]] = {}  # objects, and seconds in all
        self.counts: dict[str, float] = {}  # everything that has a name and nothing else

    def answered(self, route: Route | None, verdict: Verdict, seconds: float, size: int) -> None:
        """Counts one answered request; labels come from our own tables, so that clients can't make series."""
        path = route.path if route is not None else ""
        key = (path, verdict.operation, verdict.outcome, verdict.code)
        series = self.requests.get(key)
        if series is None:
            series = self.requests[key] = [0.0] * (len(BUCKETS) + 3)
        series[0] += seconds
        series[1] += size
        series[2 + bisect_left(BUCKETS, seconds)] += 1
        if verdict.rules:
            for rule in verdict.rules:
                word = (path, verdict.operation, rule)
                self.spoke[word] = self.spoke.get(word, 0) + 1
            if verdict.outcome == "denied":
                first = (path, verdict.operation, verdict.rules[0])
                self.denials[first] = self.denials.get(first, 0) + 1
        if verdict.tally is not None:
            self._converted(verdict.tally)

    def _converted(self, tally: Tally) -> None:
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
        return {
            "reading": dict(self.reading),
            "requests": [[*key, *values] for key, values in self.requests.items()],
            "denials": [[*key, value] for key, value in self.denials.items()],
            "spoke": [[*key, value] for key, value in self.spoke.items()],
            "conversions": [[*key, *values] for key, values in self.conversions.items()],
            "counts": dict(self.counts),
        }

    def add(self, snapshot: Snapshot) -> None:
        """Adds another process's snapshot to this one."""
        for path, value in snapshot["reading"].items():
            self.reading[path] = self.reading.get(path, 0) + value
        for path, operation, outcome, code, *values in snapshot["requests"]:
            series = self.requests.setdefault((path, operation, outcome, code), [0.0] * len(values))
            series[:] = [a + b for a, b in zip(series, values, strict=True)]
        for name, table in (("denials", self.denials), ("spoke", self.spoke)):
            for path, operation, rule, value in snapshot[name]:
                table[path, operation, rule] = table.get((path, operation, rule), 0) + value
        for kind, version, outcome, objects, seconds in snapshot["conversions"]:
            total = self.conversions.setdefault((kind, version, outcome), [0.0, 0.0])
            total[:] = [total[0] + objects, total[1] + seconds]
        for name, value in snapshot["counts"].items():
            self.counts[name] = self.counts.get(name, 0) + value
