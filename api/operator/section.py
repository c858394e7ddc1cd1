"""Sections of the file: frozen dataclasses whose fields declare key, default, allowed values and effect once."""

from collections.abc import Hashable
from dataclasses import dataclass, field, fields
from functools import cache
from typing import Any, Final, NamedTuple, TypeVar, cast, dataclass_transform, get_type_hints

from .values import Allowed

_T = TypeVar("_T")


class Key(NamedTuple):
    """One key of a section: its attribute, what it holds, and its description; `inner` is the section, if it holds one."""

    attribute: str
    default: Any
    allowed: Allowed
    inner: type[Any] | None
    description: str


def key(*, default: _T, text: str, name: str = "") -> _T:
    """Declare a key with a single value; `name` is its name in the file, if it is not the attribute in camel case."""
    declared: _T = field(default=default, metadata={"text": text, "name": name})
    return declared


@dataclass_transform(frozen_default=True, field_specifiers=(key,))
def section(declared: type[_T]) -> type[_T]:
    """Make a class a section."""
    return dataclass(frozen=True, slots=True)(declared)


_MAPPING: Final = Allowed("a mapping", lambda _: None)


def keys_of(declared: type[Any]) -> dict[str, Key]:
    """The keys of a section as the file writes them."""
    return _keys(cast("Hashable", declared))


@cache
def _keys(declared: Hashable) -> dict[str, Key]:
    hints = get_type_hints(cast("Any", declared), include_extras=True)
    keys = {}
    for each in fields(cast("Any", declared)):
        allowed = getattr(hints[each.name], "__metadata__", (None,))[0]
        inner = hints[each.name] if allowed is None else None
        first, *rest = each.name.split("_")
        name = each.metadata.get("name") or first + "".join(word.capitalize() for word in rest)
        keys[name] = Key(each.name, each.default, allowed or _MAPPING, inner, each.metadata.get("text", ""))
    return keys


def dump(values: Any) -> dict[str, Any]:
    """A section as the file would write it."""
    out = {}
    for name, each in keys_of(type(values)).items():
        value = getattr(values, each.attribute)
        out[name] = dump(value) if each.inner is not None else None if value is None else each.allowed.write(value)
    return out
