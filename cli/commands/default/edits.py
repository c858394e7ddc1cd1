"""Edits of defaults in the author's version: which rule sets which field, from what to what."""

from collections.abc import Iterator
from typing import Any, NamedTuple

from ....admission.judging import Defaulted
from ....api.paths import MISSING, Path, lookup
from ....api.schema import Node, whole_schema
from ....api.shape import path_of
from ....conversion.translate import Translation
from ....policies.edit import Edit, PatchOperation
from ....policies.review import Fields


class NamedEdit(NamedTuple):
    """One field that a default sets; `before` is None if it was absent or null."""

    rule: str
    code: str
    path: Path
    before: Any
    after: Any


def name_edits(done: Defaulted) -> list[NamedEdit]:
    """The edits as the author sees them, in the order in which the defaults made them."""
    result, translation = done.object, None
    if done.view is not None and done.judged is not None:
        translation = Translation(done.view.kind, done.judged.object, done.review.kind.partition("/")[2], result)
    return [one for edit in done.edits for one in _named(edit, done, result, translation)]


def _named(edit: Edit, done: Defaulted, result: Fields, translation: Translation | None) -> Iterator[NamedEdit]:
    place = _place(edit, result, translation)
    if place is not None:
        yield _edit(edit, done.review.object, place, edit.value)
        return
    # no field of the author's version corresponds: show the patch of this edit alone
    for operation in done.patch([edit]):
        path = path_of(operation["path"], done.review.object, _schema(done))
        for below, value in _leaves(operation.get("value"), lookup(done.review.object, path)):
            yield _edit(edit, done.review.object, (*path, *below), value)


def _edit(edit: Edit, obj: Fields, path: Path, value: Any) -> NamedEdit:
    before = lookup(obj, path)
    return NamedEdit(edit.rule.name, edit.rule.code, path, None if before is MISSING else before, value)


def _place(edit: Edit, result: Fields, translation: Translation | None) -> Path | None:
    """The same field in the author's version; None where it isn't one field or holds another value there."""
    if translation is None:
        return edit.path
    place = translation.of(edit.path)
    return place.path if place.exact and lookup(result, place.path) == edit.value else None


def _leaves(value: Any, before: object) -> Iterator[tuple[Path, Any]]:
    """The fields that an operation sets: a parent that wasn't there before is no change in itself."""
    if isinstance(value, dict) and value and (before is MISSING or before is None):
        for key, below in value.items():
            for path, leaf in _leaves(below, MISSING):
                yield (key, *path), leaf
    else:
        yield (), value


def with_patch(written: Fields, done: Defaulted, operations: list[PatchOperation]) -> Fields:
    """What the author wrote with a patch of the stored object applied; parents that only the schema's defaults made come along."""
    from ....conversion.difference import apply_differences

    entries = []
    for operation in operations:
        path = path_of(operation["path"], done.review.object, _schema(done))
        # the difference distinguishes names from numbers by exact type
        plain = [step if isinstance(step, int) else str(step) for step in path]
        entries.append([plain, *([operation["value"]] if "value" in operation else [])])
    changed: Fields = apply_differences(written, entries)
    return changed


def _schema(done: Defaulted) -> Node:
    kind, _, version = done.review.kind.partition("/")
    return whole_schema(kind, version)
