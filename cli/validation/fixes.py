"""Computes remedies that need no decision, as edits of an object, for `check --fix`."""

import copy
import re
from collections.abc import Iterable
from typing import Any, Final, NamedTuple

from ...api.paths import MISSING, Path, lookup
from ...policies.finding import Finding, Mend
from ..console.nearest import MIN_SURE_RATIO, find_nearest

REMOVE: Final = "remove"
RENAME: Final = "rename"
SET: Final = "set"
MOVE: Final = "move"  # a field of the other version to its place in the own one; the value is the line to convert for, and its path there
ADD: Final = "add"  # a field that may be missing, with the maps above it
_ALLOWED: Final = re.compile(r'must be one of ((?:"[^"]*"(?:, )?)+), got ', re.DOTALL)


class FieldEdit(NamedTuple):
    """One edit: a field that goes, comes, gets another name, or another value; and which object of its file has it, by number."""

    action: str
    path: Path
    value: Any = None  # the new value, or the new name
    number: int = 0


def find_fix(finding: Finding, data: Any) -> FieldEdit | None:
    """The edit of a rule's finding, in the words of the author's version: what the rule says, or the allowed word that is meant."""
    mend = Mend(None) if finding.rule.removes else finding.mend
    path = (*finding.path, *mend.below) if mend is not None else finding.path
    value = lookup(data, path)
    if value is MISSING and (mend is None or mend.value is None or finding.value is not None):  # the finding's value is at another path
        return None
    if mend is not None:
        return FieldEdit(REMOVE, path) if mend.value is None else FieldEdit(ADD if value is MISSING else SET, path, mend.value)
    match = _ALLOWED.match(finding.text)
    if match is None or not isinstance(value, str) or value != finding.value:
        return None
    allowed = re.findall(r'"([^"]*)"', match[1])
    near = allowed[0] if len(allowed) == 1 else find_nearest(value.strip(), allowed, MIN_SURE_RATIO)
    return FieldEdit(SET, finding.path, near) if near not in (None, value) else None


def correct_spelling(data: Any, path: Path, known: Iterable[str]) -> FieldEdit | None:
    """The edit of an unknown field into the known one that it resembles, unless that is there, too, or the name is no text."""
    word = path[-1]
    near = find_nearest(word, known, MIN_SURE_RATIO) if isinstance(word, str) else None
    parent = lookup(data, path[:-1])
    return FieldEdit(RENAME, path, near) if near is not None and isinstance(parent, dict) and near not in parent else None


def convert_scalar_type(wanted: str, value: Any, written: str) -> FieldEdit | None:
    """The edit, without its path, that gives a scalar its field's type; `written` is its text in the file."""
    if wanted == "string" and isinstance(value, (bool, int, float)) and written and written[0] not in "\"'&*!|>{[":
        return FieldEdit(SET, (), written)
    word = value.strip() if isinstance(value, str) else ""
    if wanted == "integer" and re.fullmatch(r"-?[0-9]{1,18}", word):
        return FieldEdit(SET, (), int(word))
    if wanted == "boolean" and word.lower() in ("true", "false"):
        return FieldEdit(SET, (), word.lower() == "true")
    return None


def apply_fixes(data: Any, edits: Iterable[FieldEdit]) -> Any:
    """Copy an object with edits applied, except new names: later items of lists first, and none of those removed."""
    out = copy.deepcopy(data)
    for edit in sorted(dict.fromkeys(edits), key=_last_first):
        parent: Any = _above(out, edit.path) if edit.action == ADD else lookup(out, edit.path[:-1])
        step: Any = edit.path[-1]
        members = parent if isinstance(parent, dict) else range(len(parent)) if isinstance(parent, list) else ()
        there = step in members
        if edit.action == REMOVE and there:
            del parent[step]
        elif (edit.action == SET and there) or (edit.action == ADD and (there or isinstance(parent, dict))):
            parent[step] = edit.value
    return out


def _above(data: Any, path: Path) -> Any:
    """The map or list that holds the last step, with the maps on the way that are missing."""
    for step in path[:-1]:
        if isinstance(data, dict) and isinstance(step, str) and data.get(step) is None:
            data[str(step)] = {}
        data = lookup(data, (step,))
    return data


def _last_first(edit: FieldEdit) -> tuple[tuple[int, int, str], ...]:
    return tuple((1, -step, "") if isinstance(step, int) else (0, 0, str(step)) for step in edit.path)
