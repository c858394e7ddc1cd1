"""What a text is made of: values with the stretch of text that each takes, and the comments around them. Building it is build.py's."""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import Enum
from typing import Any

from ...api.paths import Path


class Form(Enum):
    """How a value is written."""

    SCALAR = "scalar"
    BLOCK = "block"  # a map or list by indentation
    FLOW = "flow"  # a map or list in brackets
    ALIAS = "alias"


@dataclass(slots=True)
class Node:
    """One value. Offsets count characters of the text; `end` is behind the last character that belongs to it, comments never do."""

    data: Any
    form: Form
    start: int
    end: int
    column: int = 0  # of the keys or dashes of a block
    entries: list[Entry] = field(default_factory=list)
    by_key: dict[str, Entry] = field(default_factory=dict)  # those that a merge key brings in too
    known: bool = True  # whether its entries are all that it consists of
    local: bool = True  # whether it can be moved: no anchors, aliases and merge keys
    stands_for: Node | None = None


@dataclass(slots=True)
class Entry:
    """A key with its value, or an item of a list. In a block `first` to `last` are its lines, with the comments that are its own."""

    key: str | None
    node: Node
    start: int  # of the key or the dash
    mark: int  # behind the colon or the dash
    column: int = 0
    first: int = 0  # where its lines begin: comments and blank lines above it are its own
    last: int = 0  # the end of its last line, without the line's end


def resolve_alias(node: Node) -> Node:
    """The value that an alias refers to; any other is itself."""
    return node.stands_for if node.stands_for is not None else node


def entry_at(root: Entry, path: Path) -> Entry | None:
    """The entry at a path below a root; None where there is none."""
    found: Entry | None = root
    for step in path:
        if found is None:
            return None
        node = resolve_alias(found.node)
        if isinstance(step, int):
            items = node.entries if isinstance(node.data, list) else []
            found = items[step] if 0 <= step < len(items) else None
        else:
            found = node.by_key.get(step)
    return found


def is_same_json(one: Any, other: Any) -> bool:
    """Whether two values are the same in JSON: the order of keys is nothing, true is not 1."""
    if isinstance(one, dict):
        return isinstance(other, dict) and one.keys() == other.keys() and all(is_same_json(value, other[key]) for key, value in one.items())
    if isinstance(one, list):
        return isinstance(other, list) and len(one) == len(other) and all(map(is_same_json, one, other))
    return bool(one == other and isinstance(one, bool) is isinstance(other, bool))
