"""What rules say of an object in which some values have a wrong type: they are asked with those values away, and with two others each.

A finding that is the same each time does not depend on them. Rules that read them can't be told apart by their declarations.
"""

from __future__ import annotations

from contextlib import suppress
from copy import deepcopy
from typing import TYPE_CHECKING, Any, Final

from dynamo_webhooks.admission.pipeline import Admission, OldError
from dynamo_webhooks.api.paths import lookup
from dynamo_webhooks.api.schema import load_schema
from dynamo_webhooks.api.shape import child
from dynamo_webhooks.conversion.lens.protocol import ConversionError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from dynamo_webhooks.api.paths import Path
    from dynamo_webhooks.api.schema import Node
    from dynamo_webhooks.policies.finding import Finding

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
    kind = load_schema(write.kind, write.version)
    pairs = [(path, _stand_in(kind, path)) for path in wrong]
    # a list without one of its items would have others at its indices
    away = [(path, pair[0] if path and isinstance(path[-1], int) else _AWAY) for path, pair in pairs]
    asked = [away, [(path, pair[0]) for path, pair in pairs], [(path, pair[1]) for path, pair in pairs]]
    told = [found for changes in asked if (found := _judged(write, changes, schema, defaults)) is not None]
    if len(told) < len(asked):
        return None
    same = set.intersection(*({_key(finding) for finding in found} for found in told))
    return [finding for finding in told[0] if _key(finding) in same and not any(finding.path[: len(path)] == path for path in wrong)]


def _key(finding: Finding) -> tuple[object, ...]:
    return finding.rule.name, finding.level, finding.path, finding.text, finding.fact


def _judged(write: Admission, changes: Sequence[tuple[Path, Any]], schema: bool, defaults: bool) -> list[Finding] | None:
    changed = deepcopy(write.object)
    for path, value in changes:
        if not path or not _put(changed, path, value):
            return None
    asked = Admission(write.kind, write.version, write.operation, changed, write.old, user=write.user, settings=write.settings)
    if asked.decode():
        return None
    try:
        if schema:
            asked.shape()
        if defaults:
            with suppress(ConversionError):
                asked.mutate(schema=schema)
        return asked.judge()
    except (ConversionError, OldError):
        return None


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
