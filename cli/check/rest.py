"""What rules say of an object in which some values have a wrong type: they are asked with those values away, and with two others each.

A finding that is the same each time may not depend on them. Whether its rule reads them is then seen from the names in its code.
"""

from __future__ import annotations

from contextlib import suppress
from copy import deepcopy
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from dynamo_webhooks.admission.pipeline import Admission, OldError
from dynamo_webhooks.admission.registration import Purpose, read_as
from dynamo_webhooks.admission.version_view import VersionView
from dynamo_webhooks.api.paths import Key, lookup
from dynamo_webhooks.api.schema import resolve
from dynamo_webhooks.api.shape import child
from dynamo_webhooks.cli.check.reads import words_of
from dynamo_webhooks.conversion.lens.protocol import ConversionError

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from dynamo_webhooks.api.paths import Path
    from dynamo_webhooks.api.schema import Node
    from dynamo_webhooks.policies.finding import Finding
    from dynamo_webhooks.policies.review import Fields

# two values of each type
_STANDING_IN: Final[dict[str, tuple[Any, Any]]] = {
    "object": ({}, {}),
    "array": ([], []),
    "string": ("x", "y"),
    "integer": (1, 7),
    "number": (1, 7),
    "boolean": (True, False),
}
_AWAY: Final = object()


def independent(write: Admission, wrong: Sequence[Path], *, schema: bool, defaults: bool) -> list[Finding] | None:
    """The findings that don't depend on the values at the wrong paths; None where rules can't be asked without them."""
    kind = write.schema
    pairs = [(path, _stand_in(kind, path)) for path in wrong]
    # a list without one of its items would have others at its indices
    away = [(path, pair[0] if path and isinstance(path[-1], int) else _AWAY) for path, pair in pairs]
    asked = [away, [(path, pair[0]) for path, pair in pairs], [(path, pair[1]) for path, pair in pairs]]
    told = [one for changes in asked if (one := _judged(write, changes, schema, defaults)) is not None]
    if len(told) < len(asked):
        return None
    first, *others = told
    unsure = {name for one in others for name in _differing(first.object, one.object)}
    unsure.update(name for path in wrong for name in _names(kind, path))
    same = set.intersection(*({_key(finding) for finding in one.findings} for one in told))
    return [
        finding
        for finding in first.findings
        if _key(finding) in same and not unsure & words_of(finding.rule) and not any(finding.path[: len(path)] == path for path in wrong)
    ]


class _Judged(NamedTuple):
    findings: list[Finding]
    object: Fields  # as rules read it


def _key(finding: Finding) -> tuple[object, ...]:
    return finding.rule.name, finding.level, finding.path, finding.text, finding.fact


def _judged(write: Admission, changes: Sequence[tuple[Path, Any]], schema: bool, defaults: bool) -> _Judged | None:
    changed = deepcopy(write.object)
    for path, value in changes:
        if not path or not _put(changed, path, value):
            return None
    asked = Admission(write.kind, write.version, write.operation, changed, write.old, user=write.user, settings=write.settings)
    if asked.decode():
        return None
    read = read_as(write.kind, Purpose.VALIDATE)
    try:
        if schema:
            asked.shape()
        if defaults:
            with suppress(ConversionError):
                asked.mutate(schema=schema)
        view = VersionView(write.kind, write.version, read, write.settings.line) if read not in ("", write.version) else None
        return _Judged(asked.judge(), asked.object if view is None else view.judged(asked.object))
    except (ConversionError, OldError):
        return None


def _names(schema: Node, path: Path) -> Iterator[str]:
    """The last field on the way to a value, and all that the value could hold; what names an entry of a list speaks for the entry."""
    yield next((step for step in reversed(path) if isinstance(step, str) and not isinstance(step, Key)), "")
    nodes: list[Node | None] = [schema]
    for step in path:
        nodes.append(child(nodes[-1], step)[1])
    above = nodes[-3] if len(nodes) > 2 else None
    keys = (above or {}).get("x-kubernetes-list-map-keys") or ()
    waiting = [nodes[-2] if path[-1] in keys else nodes[-1]]
    while waiting:
        node = waiting.pop() or {}
        properties = node.get("properties") or {}
        yield from properties
        inner = (*properties.values(), node.get("items"), node.get("additionalProperties"))
        waiting += [resolve(one) for one in inner if isinstance(one, dict)]


def _differing(one: Any, other: Any, name: str = "") -> Iterator[str]:
    """The names of the fields in which two values differ; of entries in lists, the list's."""
    if isinstance(one, dict) and isinstance(other, dict):
        for key in one.keys() | other.keys():
            if key not in one or key not in other:
                yield from (key, name)
            else:
                yield from _differing(one[key], other[key], key)
    elif isinstance(one, list) and isinstance(other, list) and len(one) == len(other):
        for pair in zip(one, other, strict=True):
            yield from _differing(*pair, name)
    elif one != other or type(one) is not type(other):
        yield name


def _put(obj: Any, path: Path, value: Any) -> bool:
    """Puts a value at an existing place, or takes it away from there. Says whether there is one."""
    holder, step = lookup(obj, path[:-1]), path[-1]
    if isinstance(holder, list) and isinstance(step, int) and step < len(holder):
        holder[step] = value
    elif isinstance(holder, dict) and step in holder:
        if value is _AWAY:
            del holder[str(step)]
        else:
            holder[str(step)] = value
    else:
        return False
    return True


def _stand_in(schema: Node, path: Path) -> tuple[Any, Any]:
    """Two values of the type that a place has, where there are two: such as the first and the last that its schema allows."""
    node: Node | None = schema
    for step in path:
        _, node = child(node, step)
    found = node or {}
    if found.get("x-kubernetes-int-or-string"):
        return 1, 7
    if found.get("enum"):
        return found["enum"][0], found["enum"][-1]
    return deepcopy(_STANDING_IN.get(str(found.get("type")), ({}, {})))
