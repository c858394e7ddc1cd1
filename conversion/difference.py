"""Structural differences between two JSON values as data, and their application; total on any input."""

import sys
from typing import Any, Final, TypeAlias

Step: TypeAlias = str | int
# [path, value] sets, [path] removes; lists, because they are stored as JSON
Entry: TypeAlias = list[Any]
MAX_DEPTH: Final = 200  # deeper values are replaced as a whole, which bounds the recursion


def find_differences(have: Any, want: Any) -> list[Entry]:
    """The entries that turn `have` into `want`, in an order independent of the keys'.

    Values are compared by identity first, because a conversion shares copied values.
    """
    if same_text(have, want):
        return []
    entries: list[Entry] = []
    _compare(have, want, (), entries)
    if len(entries) > 1:
        entries.sort(key=_order)
    return entries


def same_text(value: Any, other: Any) -> bool:
    """Whether two values are equal and have the same JSON text, a cheap proof that they are identical.

    Equality alone doesn't distinguish 1, 1.0 and true, the text alone doesn't distinguish NaN and null. Values that can't be encoded count
    as different.
    """
    if "orjson" not in sys.modules:  # importing it would cost a command more than this
        return are_identical(value, other)
    import orjson

    try:
        # encoded first: a value too deep to encode is too deep to compare
        return orjson.dumps(value, option=orjson.OPT_SORT_KEYS) == orjson.dumps(other, option=orjson.OPT_SORT_KEYS) and bool(value == other)
    except TypeError:
        return False


def _order(entry: Entry) -> list[tuple[bool, int, str]]:
    return [(type(step) is int, step, "") if type(step) is int else (False, 0, str(step)) for step in entry[0]]


def _compare(have: Any, want: Any, path: tuple[Step, ...], entries: list[Entry]) -> None:
    """Compare two values that are not the same object."""
    kind = type(want)
    if type(have) is kind and len(path) < MAX_DEPTH:
        if kind is dict:
            for key, theirs in want.items():
                mine = have.get(key, _ABSENT)
                if mine is _ABSENT:
                    entries.append([[*path, key], theirs])
                elif mine is not theirs and (type(mine) is not str or mine != theirs):  # most are strings
                    _compare(mine, theirs, (*path, key), entries)
            if len(have) != len(want) or have.keys() != want.keys():
                entries.extend([[*path, key]] for key in have if key not in want)
            return
        if kind is list and len(have) == len(want):
            for index, theirs in enumerate(want):
                mine = have[index]
                if mine is not theirs and (type(mine) is not str or mine != theirs):
                    _compare(mine, theirs, (*path, index), entries)
            return
    if not are_identical(have, want):
        entries.append([[*path], want])


_ABSENT: Final = object()


def are_identical(first: Any, other: Any) -> bool:
    """Whether two values are the same JSON; 1, 1.0 and true differ."""
    if first is other:
        return True
    kind = type(first)
    if kind is not type(other):
        return False
    if kind is dict:
        return len(first) == len(other) and all(key in other and are_identical(value, other[key]) for key, value in first.items())
    if kind is list:
        return len(first) == len(other) and all(are_identical(mine, theirs) for mine, theirs in zip(first, other, strict=True))
    return bool(first == other)


def apply_differences(value: Any, entries: list[Entry]) -> Any:
    """The value with the entries applied; entries without a place have no effect. The input doesn't change.

    Each object or list on the paths is copied once.
    """
    holder, copies = {"": value}, dict[int, Any]()
    for entry in entries:
        if _reaches(holder[""], entry[0], takes=len(entry) == 1):
            _put(holder, entry, copies)
    return holder[""]


def _reaches(node: Any, path: list[Step], *, takes: bool) -> bool:
    """Whether an entry has a place: missing members are created, missing elements aren't."""
    for depth, step in enumerate(path):
        if type(step) is int and type(node) is list:
            if not 0 <= step < len(node):
                return False
        elif type(step) is not str or (node is not None and type(node) is not dict):
            return False
        elif node is None or step not in node:
            return not takes and all(type(later) is str for later in path[depth:])
        node = node[step]
    return not takes or (bool(path) and type(path[-1]) is str)


def _put(holder: dict[str, Any], entry: Entry, copies: dict[int, Any]) -> None:
    """Apply an entry; `copies` are the objects and lists that were already copied, by identity."""
    parent: Any = holder
    key: Any = ""  # name in an object, or index in a list
    for step in entry[0]:
        child = parent[key] if type(parent) is list else parent.get(key)
        if id(child) not in copies:
            child = {} if child is None else child.copy()
            parent[key] = child
            copies[id(child)] = child
        parent, key = child, step
    if len(entry) > 1:
        parent[key] = entry[1]
    else:
        del parent[key]


def is_well_formed(entries: Any) -> bool:
    """Whether decoded JSON has the shape of entries, as `differences` gives them between two objects."""
    return type(entries) is list and all(type(entry) is list and 1 <= len(entry) <= 2 and _is_path(entry[0]) for entry in entries)


def _is_path(path: Any) -> bool:
    return type(path) is list and 1 <= len(path) <= MAX_DEPTH and all(type(step) in (str, int) for step in path)
