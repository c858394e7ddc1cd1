"""Edits of defaults in the author's version: which rule sets which field, from what to what."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

from dynamo_webhooks.api.paths import MISSING, lookup
from dynamo_webhooks.api.schema import whole_schema
from dynamo_webhooks.api.shape import path_of
from dynamo_webhooks.conversion.translate import Translation

if TYPE_CHECKING:
    from collections.abc import Iterator

    from dynamo_webhooks.admission.defaults import Defaulted
    from dynamo_webhooks.api.paths import Path
    from dynamo_webhooks.api.schema import Node
    from dynamo_webhooks.policies.edit import Edit, PatchOperation
    from dynamo_webhooks.policies.review import Fields


class NamedEdit(NamedTuple):
    """One field that a default sets; `before` is None where it was absent or null, and `present` tells the two apart."""

    rule: str
    code: str
    path: Path
    before: Any
    after: Any


def named(done: Defaulted) -> list[NamedEdit]:
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
    # no field of the author's version corresponds: the patch of this edit alone says what it comes to
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
    from dynamo_webhooks.conversion.difference import applied

    entries = []
    for operation in operations:
        path = path_of(operation["path"], done.review.object, _schema(done))
        # the difference tells names from numbers by exact type
        plain = [step if isinstance(step, int) else str(step) for step in path]
        entries.append([plain, *([operation["value"]] if "value" in operation else [])])
    changed: Fields = applied(written, entries)
    return changed


def _schema(done: Defaulted) -> Node:
    kind, _, version = done.review.kind.partition("/")
    return whole_schema(kind, version)
