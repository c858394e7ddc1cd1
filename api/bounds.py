"""The sizes that a schema allows below `spec`, looked at before anything else is: an API server refuses what exceeds them in any case.

Only maxItems, maxProperties and maxLength are read here; everything else that a schema says is `api.walk`'s.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import NamedTuple, TypeAlias

from .paths import Key, Path
from .schema import Node, resolve, whole_schema
from .walk.errors import FieldError, Reason, field_error

Measure: TypeAlias = "Callable[[object], _Excess | None]"


class _Excess(NamedTuple):
    """A value that is too large, with its path below the measured one."""

    path: Path
    reason: Reason
    message: str

    def below(self, step: str | int) -> _Excess:
        return self._replace(path=(step, *self.path))


@cache
def bounds(kind: str, version: str) -> Callable[[object], FieldError | None]:
    """Returns what finds the first excess in an object of that kind and version; nothing in what has another type than its schema says.

    Raises what `whole_schema` raises for a kind or version that doesn't exist.
    """
    measure = _compiled(whole_schema(kind, version)["properties"]["spec"], {})

    def excess(obj: object) -> FieldError | None:
        breach = measure(obj.get("spec")) if measure is not None and type(obj) is dict else None
        return None if breach is None else field_error(("spec", *breach.path), breach.reason, breach.message)

    return excess


def _compiled(node: Node, done: dict[int, Measure | None]) -> Measure | None:
    """Compiles a schema node into what measures a value; nothing where neither it nor anything below it has a bound."""
    node = resolve(node)
    if id(node) not in done:
        done[id(node)] = None  # embedded types may hold themselves; those have no bounds
        measures = [make(node, done) for make in (_of_object, _of_list, _of_text)]
        done[id(node)] = next((measure for measure in measures if measure is not None), None)
    return done[id(node)]


def _of_object(node: Node, done: dict[int, Measure | None]) -> Measure | None:
    most: int | None = node.get("maxProperties")
    children = {name: _compiled(child, done) for name, child in (node.get("properties") or {}).items()}
    fields = [(name, check) for name, check in children.items() if check is not None]
    extra = node.get("additionalProperties")
    each = _compiled(extra, done) if isinstance(extra, dict) else None
    if most is None and not fields and each is None:
        return None

    def measure(value: object) -> _Excess | None:
        if type(value) is not dict:
            return None
        if most is not None and len(value) > most:
            return _too_many(most, len(value))
        for name, below in fields:
            if name in value and (breach := below(value[name])) is not None:
                return breach.below(name)
        if each is not None:
            for key, item in value.items():
                if (breach := each(item)) is not None:
                    return breach.below(Key(key))
        return None

    return measure


def _of_list(node: Node, done: dict[int, Measure | None]) -> Measure | None:
    most: int | None = None if "x-below" in node else node.get("maxItems")  # one that not every line has is the schema's alone
    each = _compiled(node["items"], done) if "items" in node else None
    if most is None and each is None:
        return None

    def measure(value: object) -> _Excess | None:
        if type(value) is not list:
            return None
        if most is not None and len(value) > most:
            return _too_many(most, len(value))
        if each is not None:
            for index, item in enumerate(value):
                if (breach := each(item)) is not None:
                    return breach.below(index)
        return None

    return measure


def _of_text(node: Node, _done: dict[int, Measure | None]) -> Measure | None:
    most: int | None = node.get("maxLength")
    if most is None:
        return None

    def measure(value: object) -> _Excess | None:
        if type(value) is not str or len(value) <= most:
            return None
        return _Excess((), Reason.TOO_LONG, f"must have at most {most} characters, got {len(value)}")

    return measure


def _too_many(most: int, count: int) -> _Excess:
    return _Excess((), Reason.TOO_MANY, f"must have at most {most} items, got {count}")
