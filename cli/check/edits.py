"""Remedies that need nobody's judgement, as edits of an object; `check --fix` makes them."""

from __future__ import annotations

import copy
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from dynamo_webhooks.api.paths import lookup
from dynamo_webhooks.cli.nearest import SURE, nearest

if TYPE_CHECKING:
    from collections.abc import Iterable

    from dynamo_webhooks.api.paths import Path

REMOVE: Final = "remove"
RENAME: Final = "rename"
SET: Final = "set"
ADD: Final = "add"


class Edit(NamedTuple):
    """One edit: a field that goes, comes, gets another name, or another value; and which object of its file has it, by number."""

    what: str
    path: Path
    value: Any = None  # the new value, or the new name
    number: int = 0


def spelling(data: Any, path: Path, known: Iterable[str]) -> Edit | None:
    """The edit of an unknown field into the known one that it resembles, unless that is there, too, or the name is no text."""
    word = path[-1]
    near = nearest(word, known, SURE) if isinstance(word, str) else None
    parent = lookup(data, path[:-1])
    return Edit(RENAME, path, near) if near is not None and isinstance(parent, dict) and near not in parent else None


def retyped(wanted: str, value: Any, written: str) -> Edit | None:
    """The edit, without its path, of a scalar into the type that its field has; `written` is how it stands in the file."""
    if wanted == "string" and isinstance(value, (bool, int, float)) and written and written[0] not in "\"'&*!|>{[":
        return Edit(SET, (), written)
    word = value.strip() if isinstance(value, str) else ""
    if wanted == "integer" and word.lstrip("-").isascii() and word.lstrip("-").isdecimal() and len(word) < 19:
        return Edit(SET, (), int(word))
    if wanted == "boolean" and word.lower() in ("true", "false"):
        return Edit(SET, (), word.lower() == "true")
    return None


def edited(data: Any, edits: Iterable[Edit]) -> Any:
    """A copy of an object with edits in it, without new names: later items of lists before earlier ones, and none of what is gone."""
    out = copy.deepcopy(data)
    for edit in sorted(dict.fromkeys(edits), key=_last_first):
        parent: Any = lookup(out, edit.path[:-1])
        step: Any = edit.path[-1]
        if edit.what == ADD and isinstance(parent, dict):
            parent.setdefault(step, edit.value)
        if not (isinstance(parent, dict) and step in parent) and not (isinstance(parent, list) and _in(parent, step)):
            continue
        if edit.what == REMOVE:
            del parent[step]
        elif edit.what == SET:
            parent[step] = edit.value
    return out


def _last_first(edit: Edit) -> tuple[tuple[int, int, str], ...]:
    return tuple((1, -step, "") if isinstance(step, int) else (0, 0, str(step)) for step in edit.path)


def _in(items: list[Any], step: Any) -> bool:
    return isinstance(step, int) and 0 <= step < len(items)
