"""Items of lists found again by what they say, wherever they stood: lists of environment variables are merged, split and put in order."""

import json
from collections.abc import Iterator
from typing import Any

from .tree import Entry, Form


class Twins:
    """The items of all lists of a document that are maps, each to be found once."""

    def __init__(self, root: Entry, copied: list[Entry]) -> None:
        """Reads the document on demand; the contents of `copied` entries already have their places."""
        self._root = root
        self._copied = copied
        self._items: dict[str, list[Entry]] | None = None
        self._taken: set[int] = set()

    def of(self, value: Any, around: list[Entry]) -> Entry | None:
        """An item that says the same, within the innermost of the entries around the value that holds one."""
        if not isinstance(value, dict) or not value:
            return None
        if self._items is None:
            self._items = self._read()
        free = [item for item in self._items.get(_said(value), ()) if item.start not in self._taken]
        for entry in reversed(around):
            for item in free:
                if entry.start <= item.start < entry.node.end:
                    self._taken.add(item.start)
                    return item
        return None

    def _read(self) -> dict[str, list[Entry]]:
        self._taken = {item.start for entry in self._copied for item in (entry, *_items(entry))}
        found: dict[str, list[Entry]] = {}
        for item in _items(self._root):
            found.setdefault(_said(item.node.data), []).append(item)
        return found


def _said(value: Any) -> str:
    return json.dumps(value, sort_keys=True)


def _items(above: Entry) -> Iterator[Entry]:
    for entry in above.node.entries:
        if entry.key is None and entry.node.form is not Form.ALIAS and isinstance(entry.node.data, dict) and entry.node.data:
            yield entry
        yield from _items(entry)
