"""The parts of a text that are copied as they are, each once."""

from __future__ import annotations

from bisect import bisect_right
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable

    from dynamo_webhooks.api.paths import Path
    from dynamo_webhooks.cli.rewrite.tree import Entry


class Regions:
    """The outermost of the entries that are copied; `again` are the others, which would be copied a second time."""

    def __init__(self, copied: Iterable[tuple[Path, Entry]]) -> None:
        """Takes new paths with the entries that they are copied from."""
        self.again: list[tuple[Path, Entry]] = []
        self._starts: list[int] = []
        self._ends: list[int] = []
        for path, entry in sorted(copied, key=lambda one: (one[1].start, -one[1].node.end)):
            if self.hold(entry):
                self.again.append((path, entry))
            else:
                self._starts.append(entry.start)
                self._ends.append(entry.node.end)

    def hold(self, entry: Entry) -> bool:
        """Whether an entry stands in one of them, or is one."""
        index = bisect_right(self._starts, entry.start) - 1
        return index >= 0 and entry.start < self._ends[index] and entry.node.end <= self._ends[index]
