"""Which item of an old list each item of a new one was, in this list or another: by what they say, since places shift."""

import json
from collections.abc import Iterator, Sequence
from typing import Any, Final, NamedTuple

from .tree import Entry, Form, is_same_json

_MOST: Final = 100_000  # pairs that are compared; in longer lists items stay where they are


class _Pair(NamedTuple):
    """Two items that may be one; the greater, the likelier."""

    shared: int  # how much of what they say is the same
    guessed: bool
    new: int
    old: int


def partners(new: Sequence[Any], old: Sequence[Any], guesses: Sequence[int | None]) -> list[int | None]:
    """For each new item the index of the old one that it was, None where it was none; `guesses` says where places alone point to."""
    if len(new) == len(old) and all(guess is not None and _is_like(item, old[guess]) for item, guess in zip(new, guesses, strict=True)):
        return list(guesses)
    if len(new) * len(old) > _MOST:
        return [guess if guess is not None and guess < len(old) else None for guess in guesses]
    found: list[int | None] = [None] * len(new)
    taken: set[int] = set()
    for pair in sorted(_pairs(new, old, guesses), key=lambda pair: (-pair.shared, not pair.guessed, abs(pair.new - pair.old), pair)):
        if found[pair.new] is None and pair.old not in taken:
            found[pair.new] = pair.old
            taken.add(pair.old)
    if len(new) == len(old):
        for index, guess in enumerate(guesses):
            if found[index] is None and guess is not None and guess not in taken and _is_changed(new[index], old[guess]):
                found[index] = guess
    return found


def _is_like(new: Any, old: Any) -> bool:
    """Whether an item says mostly what an old one says."""
    if is_same_json(new, old):
        return True
    words = set(_words(new))
    return not _has_other_name(new, old) and 2 * len(words.intersection(_words(old))) > len(words)


def match_items(one: Any, other: Any) -> bool:
    """Whether two values say something in common, and are not named differently."""
    return not _has_other_name(one, other) and not set(_words(one)).isdisjoint(_words(other))


def _pairs(new: Sequence[Any], old: Sequence[Any], guesses: Sequence[int | None]) -> Iterator[_Pair]:
    said = [set(_words(item)) for item in old]
    for index, item in enumerate(new):
        words = set(_words(item))
        for other, candidate in enumerate(old):
            shared = len(words & said[other])
            if shared and not _has_other_name(item, candidate):
                yield _Pair(shared, guesses[index] == other, index, other)


def _is_changed(new: Any, old: Any) -> bool:
    """Whether an item may be an old one in the same place that it has nothing in common with: another with a name of its own is not."""
    return not _has_other_name(new, old) or is_same_json({**new, "name": ""}, {**old, "name": ""})


def _has_other_name(one: Any, other: Any) -> bool:
    names = [item.get("name") if isinstance(item, dict) else None for item in (one, other)]
    return None not in names and names[0] != names[1]


def _words(value: Any) -> Iterator[Any]:
    """The values in an item, without the names of its fields, which another version calls otherwise, and switches, which all have."""
    if isinstance(value, (dict, list)):
        for below in value.values() if isinstance(value, dict) else value:
            yield from _words(below)
    elif value is not None and not isinstance(value, bool):
        yield value


class Twins:
    """The items of all lists of a document that are maps, each found once: environment variables are merged, split, put in order."""

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
        free = [item for item in self._items.get(json.dumps(value, sort_keys=True), ()) if item.start not in self._taken]
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
            found.setdefault(json.dumps(item.node.data, sort_keys=True), []).append(item)
        return found


def _items(above: Entry) -> Iterator[Entry]:
    for entry in above.node.entries:
        if entry.key is None and entry.node.form is not Form.ALIAS and isinstance(entry.node.data, dict) and entry.node.data:
            yield entry
        yield from _items(entry)
