"""Structural differences between two JSON values as data: what to set and what to take away, and applying that; total on any input."""

from __future__ import annotations

from typing import Any, Final, TypeAlias

Step: TypeAlias = str | int
# [path, value] sets, [path] takes away; plain lists, because they travel as JSON
Entry: TypeAlias = list[Any]
DEPTH: Final = 200  # deeper values are replaced as a whole: the recursion stays bounded


def differences(have: Any, want: Any) -> list[Entry]:
    """What makes `want` of `have`, in a stable order."""
    found: list[Entry] = []
    _compare(have, want, [], found)
    return found


def _compare(have: Any, want: Any, path: list[Step], found: list[Entry]) -> None:
    if type(have) is type(want) and have == want and not _hides_types(want):
        return
    if type(have) is dict and type(want) is dict and len(path) < DEPTH:
        for key in sorted(have.keys() | want.keys()):
            if key not in want:
                found.append([[*path, key]])
            elif key not in have:
                found.append([[*path, key], want[key]])
            else:
                _compare(have[key], want[key], [*path, key], found)
    elif type(have) is list and type(want) is list and len(have) == len(want) and len(path) < DEPTH:
        for index, (mine, theirs) in enumerate(zip(have, want, strict=True)):
            _compare(mine, theirs, [*path, index], found)
    elif not identical(have, want):
        found.append([path, want])


def _hides_types(value: Any) -> bool:
    # 1 == 1.0 == True in Python, so equal containers may still differ as JSON
    return type(value) in (dict, list)


def identical(one: Any, other: Any) -> bool:
    """Whether two values are the same JSON, telling 1 from 1.0 and from true."""
    if type(one) is not type(other) or one != other:
        return False
    if type(one) is dict:
        return all(identical(value, other[key]) for key, value in one.items())
    if type(one) is list:
        return all(identical(mine, theirs) for mine, theirs in zip(one, other, strict=True))
    return True


def applied(value: Any, entries: list[Entry]) -> Any:
    """The value with the entries applied; what an entry can't reach is left alone, and nothing of the input changes."""
    for entry in entries:
        value = _apply(value, entry[0], entry)
    return value


def _apply(node: Any, path: list[Step], entry: Entry) -> Any:
    if not path:
        return entry[1] if len(entry) > 1 else node
    step, rest = path[0], path[1:]
    if type(step) is int and type(node) is list:
        return [*node[:step], _apply(node[step], rest, entry), *node[step + 1 :]] if 0 <= step < len(node) else node
    if type(step) is not str or (node is not None and type(node) is not dict):
        return node
    node = node or {}
    if not rest and len(entry) == 1:
        return {key: value for key, value in node.items() if key != step}
    if step not in node and (len(entry) == 1 or (rest and type(rest[0]) is int)):
        return node
    return {**node, step: _apply(node.get(step), rest, entry)}


def well_formed(entries: Any) -> bool:
    """Whether decoded JSON has the shape of entries, as `differences` gives them between two objects."""
    return type(entries) is list and all(type(entry) is list and 1 <= len(entry) <= 2 and _is_path(entry[0]) for entry in entries)


def _is_path(path: Any) -> bool:
    return type(path) is list and 1 <= len(path) <= DEPTH and all(type(step) in (str, int) for step in path)
