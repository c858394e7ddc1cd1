"""The values of the language as Python's, and their equality.

JSON's data is used as it is: str, bool, int, float, None, list and dict. Numbers without a sign, times and so on have classes of their own.
Python takes true for 1, the language doesn't: keys of maps that are booleans are kept as `Flag`.
"""

from collections.abc import Callable, Iterable
from typing import Any, ClassVar, Final

from .errors import EvaluationError, no_overload

SMALLEST: Final = -(2**63)
LARGEST: Final = 2**63 - 1
LARGEST_UINT: Final = 2**64 - 1


class Uint(int):
    """A number without a sign."""

    __slots__ = ()


class _Single:
    """A value of one part, which alone is compared. Not a dataclass, whose import would delay commands."""

    __slots__ = ("_part",)

    def __init__(self, part: Any) -> None:
        self._part = part

    def __eq__(self, other: object) -> bool:
        return type(other) is type(self) and bool(self._part == other._part)

    def __lt__(self, other: Any) -> bool:
        return bool(self._part < other._part) if type(other) is type(self) else NotImplemented

    def __le__(self, other: Any) -> bool:
        return bool(self._part <= other._part) if type(other) is type(self) else NotImplemented

    def __hash__(self) -> int:
        return hash((type(self), self._part))

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self._part!r})"


class Flag(_Single):
    """A boolean as a key of a map."""

    __slots__ = ()

    @property
    def value(self) -> bool:
        """The boolean."""
        return bool(self._part)


class Type(_Single):
    """The type of a value, which is a value too."""

    __slots__ = ()

    @property
    def name(self) -> str:
        """Its name in the language."""
        return str(self._part)


class _Time(_Single):
    __slots__ = ()

    @property
    def nanos(self) -> int:
        """Nanoseconds."""
        return int(self._part)


class Timestamp(_Time):
    """A moment, in nanoseconds since 1970."""

    __slots__ = ()
    kind: ClassVar = "google.protobuf.Timestamp"


class Duration(_Time):
    """A span of time in nanoseconds."""

    __slots__ = ()
    kind: ClassVar = "google.protobuf.Duration"


class Optional:
    """A value, or none. `NONE` is the only one without."""

    __slots__ = ("value",)
    kind: ClassVar = "optional_type"

    def __init__(self, value: Any) -> None:
        self.value = value

    def __bool__(self) -> bool:
        return self is not NONE


NONE: Final = Optional(None)


class Lazy:
    """A value that is asked for once, when an expression first reads it."""

    __slots__ = ("_make", "_value")

    def __init__(self, make: Callable[[], object]) -> None:
        self._make: Callable[[], object] | None = make
        self._value: object = None

    def get(self) -> object:
        """Returns the value. A maker that raises is asked again."""
        if self._make is not None:
            self._value = self._make()
            self._make = None
        return self._value

    @property
    def known(self) -> object:
        """The value if it was asked for, else None."""
        return self._value


_KINDS: Final[dict[type, str]] = {
    bool: "bool",
    int: "int",
    Uint: "uint",
    float: "double",
    str: "string",
    bytes: "bytes",
    list: "list",
    dict: "map",
    type(None): "null_type",
    Type: "type",
}
_BUILT_IN: Final = (bool, Uint, int, float, str, bytes, list, dict)
TYPES: Final = {name: Type(name) for name in _KINDS.values()} | {
    name: Type(name)
    for name in (
        *(Timestamp.kind, Duration.kind, Optional.kind, "net.IP", "net.CIDR"),
        *("kubernetes.Quantity", "kubernetes.URL", "kubernetes.Semver", "kubernetes.NamedFormat"),
    )
}
NUMBERS: Final = frozenset({int, Uint, float})
ORDERED: Final = frozenset({str, bytes, bool, Timestamp, Duration})
_QUALIFIERS: Final[dict[type, str]] = {
    list: "invalid qualifier type: []interface {}",
    dict: "invalid qualifier type: map[string]interface {}",
}
_SAME: Final = frozenset({str, bool, int, Uint, float, bytes, type(None)})


def class_of(value: object) -> type:
    """Returns the Python class that stands for a value's type: that of the language, for a class derived from it."""
    found = type(value)
    if found in _KINDS:
        return found
    return next((one for one in _BUILT_IN if isinstance(value, one)), found)


def type_of(value: object) -> Type:
    """Returns the type of a value."""
    name = _KINDS.get(class_of(value)) or str(getattr(value, "kind", "dyn"))
    return TYPES.get(name) or Type(name)


def equal(one: Any, other: Any) -> bool:
    """Whether two values are equal: numbers of all types by their amount, values of different types never."""
    if type(one) is type(other) and type(one) in _SAME:
        return bool(one == other)
    first, second = class_of(one), class_of(other)
    if first is second:
        if first in _SAME:
            return bool(one == other)
        if first is list:
            return len(one) == len(other) and all(map(equal, one, other))
        if first is dict:
            return len(one) == len(other) and all(key in other and equal(value, other[key]) for key, value in one.items())
        if first is Optional:
            return one is other or (one is not NONE and other is not NONE and equal(one.value, other.value))
        return bool(one == other)
    return first in NUMBERS and second in NUMBERS and bool(float(one) == float(other) if float in (first, second) else one == other)


def contains(value: Any, container: Any) -> bool:
    """Whether a list has a value, or a map a key."""
    kind = class_of(container)
    if kind is dict:
        return _as_key(value, lenient=True) in container
    if kind is not list:
        raise no_overload()
    return value in container if type(value) is str else any(equal(value, one) for one in container)


def _as_key(value: object, *, lenient: bool = False) -> Any:
    """Returns how a map keeps a key; a lenient reader takes a value that can't be a key for a key that isn't there."""
    kind = class_of(value)
    if kind is str or kind is int or kind is Uint:
        return value
    if kind is bool:
        return Flag(bool(value))
    if kind is float and value == value:  # noqa: PLR0124 - not a number
        return value
    if lenient:
        return Flag
    raise EvaluationError(_QUALIFIERS.get(kind, "unsupported key type"))


def keys_of(container: dict[Any, Any]) -> list[Any]:
    """Returns a map's keys as values."""
    return [key.value if type(key) is Flag else key for key in container]


def make_map(pairs: Iterable[tuple[Any, Any]]) -> dict[Any, Any]:
    """Makes a map of keys and values."""
    made: dict[Any, Any] = {}
    for key, value in pairs:
        kept = _as_key(key)
        if type(kept) is float:
            raise EvaluationError("unsupported key type")
        if kept in made:
            raise EvaluationError(f"Failed with repeated key: {key}")
        made[kept] = value
    return made


def look_up(container: Any, key: Any) -> Any:
    """Returns an item of a list or a value of a map."""
    kind = class_of(container)
    if kind is dict:
        try:
            return container[_as_key(key)]
        except KeyError:
            raise EvaluationError(f"no such key: {key}") from None
    if kind is not list:
        raise EvaluationError(f"no such key: {key}") if kind in _SAME else no_overload()
    index = _as_index(key)
    if not 0 <= index < len(container):
        raise EvaluationError(f"index out of bounds: {index}")
    return container[index]


def _as_index(key: Any) -> int:
    kind = class_of(key)
    if kind is int or kind is Uint or (kind is float and key.is_integer()):
        return int(key)
    if kind is float:
        raise EvaluationError(f"unsupported index value {key} in list")
    raise EvaluationError(_QUALIFIERS.get(kind) or f"unsupported index type '{type_of(key).name}' in list")


def look_up_optional(container: Any, key: Any) -> Optional:
    """Returns an item or a value as an optional; none where there is none."""
    if type(container) is Optional:
        if container is not NONE and class_of(container.value) in _SAME:
            raise EvaluationError(f"no such key: {key}")
        return NONE if container is NONE else look_up_optional(container.value, key)
    kind = class_of(container)
    if kind is dict:
        kept = _as_key(key)
        return Optional(container[kept]) if kept in container else NONE
    if kind in _SAME:
        return NONE
    if kind is not list:
        raise no_overload()
    index = _as_index(key)
    return Optional(container[index]) if 0 <= index < len(container) else NONE
