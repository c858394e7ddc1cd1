"""The values of the language as Python's.

JSON's data is used as it is: str, bool, int, float, None, list and dict. Numbers without a sign, times and so on have classes of their own.
Python takes true for 1, the language doesn't: keys of maps that are booleans are kept as `Flag`.
"""

from collections.abc import Callable, Iterable, Iterator
from typing import Any, ClassVar, Final

from .errors import EvaluationError, no_overload

MIN_INT64: Final = -(2**63)
MAX_INT64: Final = 2**63 - 1
MAX_UINT: Final = 2**64 - 1


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
    """A moment, in nanoseconds since 1970, and the minutes that the clock of its zone is ahead, by which it is printed alone."""

    __slots__ = ("ahead",)
    kind: ClassVar = "google.protobuf.Timestamp"

    def __init__(self, nanos: int, ahead: int = 0) -> None:
        super().__init__(nanos)
        self.ahead = ahead


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

    __slots__ = ("_error", "_make", "_value")

    def __init__(self, make: Callable[[], object]) -> None:
        self._make: Callable[[], object] | None = make
        self._value: object = None
        self._error: EvaluationError | None = None

    def get(self) -> object:
        """Returns the value. Raises EvaluationError, each time the same one."""
        if self._make is not None:
            make, self._make = self._make, None
            try:
                self._value = make()
            except EvaluationError as error:
                self._error = error
        if self._error is not None:
            raise self._error.with_traceback(None)
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
SCALARS: Final = frozenset({str, bool, int, Uint, float, bytes, type(None)})
MAX_SHOWN_KEY_CHARACTERS: Final = 200


def class_of(value: object) -> type:
    """Returns the Python class that represents a value's type: for a derived class, the class of the language that it is derived from."""
    kind = type(value)
    if kind in _KINDS:
        return kind
    return next((built_in for built_in in _BUILT_IN if isinstance(value, built_in)), kind)


def type_of(value: object) -> Type:
    """Returns the type of a value."""
    name = _KINDS.get(class_of(value)) or str(getattr(value, "kind", "dyn"))
    return TYPES.get(name) or Type(name)


def as_key(value: object, *, lenient: bool = False) -> Any:
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


def keys_of(container: dict[Any, Any]) -> Iterator[Any]:
    """Yields a map's keys as values."""
    return (key.value if type(key) is Flag else key for key in container)


def make_map(pairs: Iterable[tuple[Any, Any]]) -> dict[Any, Any]:
    """Makes a map of keys and values; of a key that comes again the last value stays, as for an API server, which cel-spec forbids."""
    made: dict[Any, Any] = {}
    for key, value in pairs:
        kept = as_key(key)
        if type(kept) is float:
            raise EvaluationError("unsupported key type")
        made[kept] = value
    return made


def look_up(container: Any, key: Any) -> Any:
    """Returns an item of a list or a value of a map."""
    kind = class_of(container)
    if kind is dict:
        try:
            return container[as_key(key)]
        except KeyError:
            raise EvaluationError(f"no such key: {_show_key(key)}") from None
    if kind is not list:
        raise EvaluationError(f"no such key: {_show_key(key)}") if kind in SCALARS else no_overload()
    index = _as_index(key)
    if not 0 <= index < len(container):
        raise EvaluationError(f"index out of bounds: {index}")
    return container[index]


def _show_key(key: Any) -> str:
    """Returns the beginning of a key: a failed look-up is charged nothing for its key."""
    if type(key) is str or type(key) is bytes:
        return str(key[:MAX_SHOWN_KEY_CHARACTERS])
    return str(key) if class_of(key) in SCALARS else "a list or a map"


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
        if container is not NONE and class_of(container.value) in SCALARS:
            raise EvaluationError(f"no such key: {key}")
        return NONE if container is NONE else look_up_optional(container.value, key)
    kind = class_of(container)
    if kind is dict:
        kept = as_key(key)
        return Optional(container[kept]) if kept in container else NONE
    if kind in SCALARS:
        return NONE
    if kind is not list:
        raise no_overload()
    index = _as_index(key)
    return Optional(container[index]) if 0 <= index < len(container) else NONE
