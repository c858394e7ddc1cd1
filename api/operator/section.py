"""Sections of the file: frozen dataclasses whose fields declare key, default, allowed values and effect once."""

import re
from collections.abc import Callable, Hashable
from dataclasses import dataclass, field, fields
from functools import cache
from typing import Annotated, Any, Final, NamedTuple, TypeAlias, TypeVar, cast, dataclass_transform, get_type_hints

from ..wording import URL
from .amounts import MAX_SPAN_SECONDS, amount, seconds, size, span


@dataclass(frozen=True, slots=True)
class Allowed:
    """The values that a key accepts. `text` completes "must be ..." in errors and in docs/configuration.md."""

    text: str
    read: Callable[[Any], Any]  # from a value of the file, None if it isn't allowed
    write: Callable[[Any], Any] = lambda value: value


def _typed(text: str, kind: type, good: Callable[[Any], bool] = lambda _: True) -> Allowed:
    """Values of one type, never coerced: `port: "8080"` is an error. The file's booleans are no integers."""
    return Allowed(text, lambda value: value if type(value) is kind and good(value) else None)


def _listed(text: str, good: Callable[[list[Any]], bool]) -> Allowed:
    return Allowed(text, lambda value: (*value,) if isinstance(value, list) and good(value) else None, list)


def span_of(low: float = 0, high: float = MAX_SPAN_SECONDS, *, above: bool = False) -> Allowed:
    """A duration in seconds within bounds; `above` excludes the lower bound."""
    least = "more than 0s" if above else f"at least {span(low)}"
    most = "" if high == MAX_SPAN_SECONDS else f" and at most {span(high)}"

    def read(value: object) -> float | None:
        length = seconds(value) if isinstance(value, str) else None
        return length if length is not None and (length > low if above else length >= low) and length <= high else None

    return Allowed(f"a duration such as 30s, 15m or 4h, {least}{most}", read, span)


def one_of(*words: str) -> Allowed:
    """One of a few words; `on` and `off` may be the booleans that YAML 1.1 reads them as."""
    booleans = {True: "on", False: "off"} if "on" in words else {}

    def read(value: object) -> str | None:
        word = booleans.get(value) if isinstance(value, bool) else value
        return word if isinstance(word, str) and word in words else None

    return Allowed(f"one of {', '.join(words)}", read)


def whole_number(low: int, high: int) -> Allowed:
    """An integer within bounds."""
    return _typed(f"an integer from {low} to {high}", int, lambda value: low <= value <= high)


def _bytes(text: str) -> Allowed:
    def read(value: object) -> int | None:
        return size(str(value)) if type(value) in (int, str) else None

    return Allowed(f"a size such as {text}", read, amount)


_LABEL: Final = r"[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?"


def _named(pattern: str, length: int) -> Callable[[str], bool]:
    compiled = re.compile(pattern)
    return lambda value: not value or (len(value) <= length and compiled.fullmatch(value) is not None)


def _texts(values: list[Any]) -> bool:
    return all(isinstance(value, str) and value for value in values)


def _labels(values: list[Any]) -> bool:
    label = _named(_LABEL, 63)
    return _texts(values) and all(label(value) for value in values) and len({*values}) == len(values)


_NAME: Final = _typed("a DNS name of at most 253 lower-case letters, digits, hyphens and dots", str, _named(rf"{_LABEL}(\.{_LABEL})*", 253))
Url: TypeAlias = Annotated[
    str, _typed("a URL such as https://docs.example.org/", str, lambda value: not value or URL.fullmatch(value) is not None)
]
_STORAGE: Final = re.compile(r"(?:/.*|(?:file|gs)://.+)?")
Registry: TypeAlias = Annotated[
    str, _typed("an absolute path, or a URL of file:// or gs://", str, lambda value: _STORAGE.fullmatch(value) is not None)
]
Text: TypeAlias = Annotated[str, _typed("a string", str)]
Texts: TypeAlias = Annotated[tuple[str, ...], _listed("a list of non-empty strings", _texts)]
Switch: TypeAlias = Annotated[bool, _typed("true or false", bool)]
Automatic: TypeAlias = Annotated[bool | None, _typed("true, false, or absent for automatic detection", bool)]
Labels: TypeAlias = Annotated[tuple[str, ...], _listed("a list of DNS labels, each once", _labels)]
Port: TypeAlias = Annotated[int, whole_number(0, 65535)]
Label: TypeAlias = Annotated[str, _typed("a DNS label of at most 63 lower-case letters, digits and inner hyphens", str, _named(_LABEL, 63))]
Name: TypeAlias = Annotated[str, _NAME]
TrimmedName: TypeAlias = Annotated[str, Allowed(_NAME.text, lambda value: _NAME.read(value.strip()) if isinstance(value, str) else None)]
Bytes: TypeAlias = Annotated[int, _bytes("65536, 64Ki, 7Mi or 1Gi")]
AutomaticBytes: TypeAlias = Annotated[int | None, _bytes("64Mi or 2Gi, or absent")]
_T = TypeVar("_T")


class Key(NamedTuple):
    """One key of a section: attribute, default, allowed values and description; `inner` is the section, if it holds one."""

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
