"""Which part of the text a value comes from, and in which order keys are written so that they stay where they stood."""

import json
from bisect import bisect_left, bisect_right
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import repeat
from typing import Any, Final

from ...api.paths import Path
from .tree import Form, TextEntry, TextNode, find_entry, is_same_json, resolve_alias

Origin = Callable[[Path], Path | None]


class EntrySources:
    """Finds the entries of the old text that the values of the new one are written from."""

    def __init__(self, root: TextEntry, value: Any, origin: Origin, *, keeps_aliases: bool, trusts_aliases: bool = False) -> None:
        """`origin` maps new paths to old ones; aliases stay if it `keeps_aliases`, even changed ones if it `trusts_aliases`."""
        self._root = root
        self.trusts_aliases = trusts_aliases
        self.keeps_aliases = keeps_aliases
        self._sources: dict[Path, TextEntry] = {}
        self._first_starts: dict[Path, int | None] = {}
        self._used: set[tuple[int, str]] = set()
        self._copied: list[tuple[Path, TextEntry]] = []
        self._lone: list[tuple[Path, TextEntry]] = []  # scalars that a whole block became
        self._lists: list[tuple[Path, list[Any], list[TextEntry]]] = []
        self._collect(value, (), [root], origin)
        self._match()
        self._disown()
        self._starts = sorted({entry.start for entry in self._sources.values()})
        self._record_starts(value, ())
        self._around: dict[int, list[TextEntry]] = {}
        self._wrap(root, set(self._starts))

    def _collect(self, value: Any, path: Path, around: list[TextEntry], origin: Origin) -> None:
        """Finds the entries; inside of a value that is copied there is nothing to find. `around` are those around it."""
        old = origin(path)
        source = None if old is None else find_entry(self._root, old)
        if source is not None:
            self._sources[path] = source
            around = [*around, source]
            if self.copies(source.node, value):
                self._copied.append((path, source))
                return
            if source.node.entries and not _members(value):
                self._lone.append((path, source))
        if isinstance(value, list):
            self._lists.append((path, value, around))
        origins = self._origins(value, path, origin) if isinstance(value, list) else repeat(origin)
        for (step, below), its in zip(_members(value), origins, strict=False):
            self._collect(below, (*path, step), around, its)
            if source is not None and self._sources.get((*path, step)) is source and not source.node.entries:
                self._sources.pop(path, None)  # a scalar became a map around it; its comments are the scalar's

    def _origins(self, items: list[Any], path: Path, origin: Origin) -> list[Origin]:
        """The origin of each item of a list: which old item it was is decided by what they say."""
        guesses = [origin((*path, index)) for index in range(len(items))]
        lists = dict.fromkeys(guess[:-1] for guess in guesses if guess and isinstance(guess[-1], int))
        old_paths = [(*list_path, index) for list_path in lists for index in range(self._length(list_path))]
        at = {old_path: index for index, old_path in enumerate(old_paths)}
        old = [entry.node.data for old_path in old_paths if (entry := find_entry(self._root, old_path)) is not None]
        indices = match_partners(items, old, [None if guess is None else at.get(guess) for guess in guesses])
        return [
            origin if guess is None or guess[:-1] not in lists else _elsewhere(origin, guess, None if index is None else old_paths[index])
            for guess, index in zip(guesses, indices, strict=True)
        ]

    def _length(self, path: Path) -> int:
        entry = find_entry(self._root, path)
        return len(resolve_alias(entry.node).entries) if entry is not None and isinstance(resolve_alias(entry.node).data, list) else 0

    def _match(self) -> None:
        """Finds items that stood at another place in their list, or in another list."""
        twins = ListItems(self._root, [entry for _, entry in self._copied])
        for path, items, around in self._lists:
            for index, item in enumerate(items):
                old = self._sources.get((*path, index))
                if (old is None or not is_same_json(old.node.data, item)) and (twin := twins.of(item, around)) is not None:
                    self._forget(item, (*path, index))
                    self._sources[*path, index] = twin
                    self._copied.append(((*path, index), twin))

    def _disown(self) -> None:
        """Drop the source of a value that was composed of several, so that no comment is duplicated or misplaced."""
        # where aliases are expanded, their values stay in several places
        regions = CopiedRegions(self._copied if self.keeps_aliases else [])
        copied = {path for path, _ in self._copied}.difference(path for path, _ in regions.again)
        for path in [path for path, source in self._sources.items() if path not in copied and regions.hold(source)]:
            del self._sources[path]
        starts = sorted(entry.start for entry in self._sources.values())
        for path, source in self._lone:
            if bisect_left(starts, source.node.end) - bisect_left(starts, source.start) > 1:
                self._sources.pop(path, None)

    def _forget(self, value: Any, path: Path) -> None:
        self._sources.pop(path, None)
        for step, below in _members(value):
            self._forget(below, (*path, step))

    def _record_starts(self, value: Any, path: Path) -> set[int]:
        """Records where a value, or its first part if others are used elsewhere, stood; returns the old offsets of all its parts."""
        source, parts, starts = self._sources.get(path), set(), []
        if source is None or not self.copies(source.node, value):
            for step, below in _members(value):
                parts |= self._record_starts(below, (*path, step))
                starts += [start for start in (self._first_starts[*path, step],) if start is not None]
        if source is not None:
            first, last = bisect_left(self._starts, source.start), bisect_left(self._starts, source.node.end)
            if not starts or all(start in parts for start in self._starts[first + 1 : last]):
                starts = [source.start]
            parts.add(source.start)
        self._first_starts[path] = min(starts) if starts else None
        return parts

    def _wrap(self, entry: TextEntry, kept_starts: set[int]) -> TextEntry | None:
        """Give the surroundings of a removed entry to the first entry inside it that is kept."""
        if entry.start in kept_starts and entry is not self._root:
            for below in entry.node.entries:
                self._wrap(below, kept_starts)
            return entry
        firsts = [first for below in entry.node.entries if (first := self._wrap(below, kept_starts)) is not None]
        if firsts and entry is not self._root:
            self._around.setdefault(firsts[0].start, []).insert(0, entry)
        return firsts[0] if firsts else None

    def find(self, path: Path) -> TextEntry | None:
        """The old entry of the value at a path; None for new values, and inside copied values."""
        return self._sources.get(path)

    def all(self) -> Iterable[tuple[Path, TextEntry]]:
        """The paths of all values that come from the old text, with their old entries."""
        return self._sources.items()

    def around(self, entry: TextEntry) -> list[TextEntry]:
        """The entry itself behind those around it that are nothing any more, but whose comments may still be good."""
        return [*self._around.get(entry.start, ()), entry]

    def first_use(self, entry: TextEntry, part: str) -> bool:
        """Whether a part of an entry's surroundings is not written yet; marks it as written."""
        mark = (entry.start, part)
        new = mark not in self._used
        self._used.add(mark)
        return new

    def node_of(self, entry: TextEntry) -> TextNode:
        """The entry's value; where aliases are expanded, that of the anchor."""
        return entry.node if self.keeps_aliases else resolve_alias(entry.node)

    def copies(self, node: TextNode, value: Any) -> bool:
        """Whether a value can be written by copying a node's text."""
        if self.trusts_aliases and (node.form is Form.ALIAS or self._merges(node, value)):
            return True
        return (self.keeps_aliases or resolve_alias(node).local) and is_same_json(node.data, value)

    def _merges(self, node: TextNode, value: Any) -> bool:
        """Whether a merge key brings in all that a map may have changed in."""
        own = {entry.key: entry.node for entry in node.entries}
        merges = len(node.by_key) > len(own) and isinstance(value, dict) and value.keys() >= own.keys()
        return merges and all(self.copies(written, value[key]) for key, written in own.items() if key is not None)

    def order(self, value: dict[str, Any], path: Path) -> list[str]:
        """Keys in the order in which what they hold stood in the text; new ones behind the key that they follow in the value."""
        starts = {key: self._first_starts.get((*path, key)) for key in value}
        ordered = sorted((key for key in value if starts[key] is not None), key=lambda key: starts[key] or 0)
        before = None
        for key in value:
            if starts[key] is None:
                ordered.insert(0 if before is None else ordered.index(before) + 1, key)
            before = key
        return ordered


def _elsewhere(origin: Origin, guess: Path, old_path: Path | None) -> Origin:
    """The origin of an item that was another one than its place says, or none."""
    if guess == old_path:
        return origin

    def moved(path: Path) -> Path | None:
        old = origin(path)
        if old is None or old[: len(guess)] != guess:
            return old
        return None if old_path is None else (*old_path, *old[len(guess) :])

    return moved


def _members(value: Any) -> Sequence[tuple[str | int, Any]]:
    if isinstance(value, dict):
        return list(value.items())
    return list(enumerate(value)) if isinstance(value, list) else ()


class CopiedRegions:
    """The outermost of the entries that are copied as they are; `again` are the others, which would be copied a second time."""

    def __init__(self, copied: Iterable[tuple[Path, TextEntry]]) -> None:
        self.again: list[tuple[Path, TextEntry]] = []
        self._starts: list[int] = []
        self._ends: list[int] = []
        for path, entry in sorted(copied, key=lambda pair: (pair[1].start, -pair[1].node.end)):
            if self.hold(entry):
                self.again.append((path, entry))
            else:
                self._starts.append(entry.start)
                self._ends.append(entry.node.end)

    def hold(self, entry: TextEntry) -> bool:
        """Whether an entry is one of them, or inside one."""
        index = bisect_right(self._starts, entry.start) - 1
        return index >= 0 and entry.start < self._ends[index] and entry.node.end <= self._ends[index]


_MAX_PAIRS: Final = 100_000  # that are compared; in longer lists items stay where they are


def match_partners(new: Sequence[Any], old: Sequence[Any], guesses: Sequence[int | None]) -> list[int | None]:
    """For each new item the index of the old one that it was, None where it was none; `guesses` says where places alone point to."""
    if len(new) == len(old) and all(guess is not None and _is_like(item, old[guess]) for item, guess in zip(new, guesses, strict=True)):
        return list(guesses)
    if len(new) * len(old) > _MAX_PAIRS:
        return [guess if guess is not None and guess < len(old) else None for guess in guesses]
    matched: list[int | None] = [None] * len(new)
    taken: set[int] = set()
    for *_, index, other in sorted(_pairs(new, old, guesses)):
        if matched[index] is None and other not in taken:
            matched[index] = other
            taken.add(other)
    if len(new) == len(old):
        for index, guess in enumerate(guesses):
            if matched[index] is None and guess is not None and guess not in taken and _is_changed(new[index], old[guess]):
                matched[index] = guess
    return matched


def _is_like(new: Any, old: Any) -> bool:
    """Whether an item says mostly what an old one says."""
    if is_same_json(new, old):
        return True
    words = set(_words(new))
    return not _has_other_name(new, old) and 2 * len(words.intersection(_words(old))) > len(words)


def match_items(item: Any, other: Any) -> bool:
    """Whether two values say something in common, and are not named differently."""
    return not _has_other_name(item, other) and not set(_words(item)).isdisjoint(_words(other))


def _pairs(new: Sequence[Any], old: Sequence[Any], guesses: Sequence[int | None]) -> Iterator[tuple[int, bool, int, int, int]]:
    """Two items that may be one, the likeliest least: how much of what they say is the same counts first, then where places point to."""
    old_words = [set(_words(item)) for item in old]
    for index, item in enumerate(new):
        words = set(_words(item))
        for other, candidate in enumerate(old):
            shared = len(words & old_words[other])
            if shared and not _has_other_name(item, candidate):
                yield -shared, guesses[index] != other, abs(index - other), index, other


def _is_changed(new: Any, old: Any) -> bool:
    """Whether an item may be an old one in the same place that it has nothing in common with: another with a name of its own is not."""
    return not _has_other_name(new, old) or is_same_json({**new, "name": ""}, {**old, "name": ""})


def _has_other_name(value: Any, other: Any) -> bool:
    names = [item.get("name") if isinstance(item, dict) else None for item in (value, other)]
    return None not in names and names[0] != names[1]


def _words(value: Any) -> Iterator[Any]:
    """The values in an item, without the names of its fields, which another version calls otherwise, and switches, which all have."""
    if isinstance(value, (dict, list)):
        for below in value.values() if isinstance(value, dict) else value:
            yield from _words(below)
    elif value is not None and not isinstance(value, bool):
        yield value


class ListItems:
    """The items of all lists of a document that are maps, each found once: environment variables are merged, split, put in order."""

    def __init__(self, root: TextEntry, copied: list[TextEntry]) -> None:
        """Reads the document on demand; the contents of `copied` entries already have their places."""
        self._root = root
        self._copied = copied
        self._items: dict[str, list[TextEntry]] | None = None
        self._taken: set[int] = set()

    def of(self, value: Any, around: list[TextEntry]) -> TextEntry | None:
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

    def _read(self) -> dict[str, list[TextEntry]]:
        self._taken = {item.start for entry in self._copied for item in (entry, *_items(entry))}
        by_text: dict[str, list[TextEntry]] = {}
        for item in _items(self._root):
            by_text.setdefault(json.dumps(item.node.data, sort_keys=True), []).append(item)
        return by_text


def _items(above: TextEntry) -> Iterator[TextEntry]:
    for entry in above.node.entries:
        if entry.key is None and entry.node.form is not Form.ALIAS and isinstance(entry.node.data, dict) and entry.node.data:
            yield entry
        yield from _items(entry)
