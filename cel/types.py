"""Types of expressions before they are evaluated, and which of them are accepted in place of which others, as in cel-go's type checker."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Final

MAX_TYPE_PARTS: Final = 100  # of a type written out; a larger one counts as dyn
_MAX_KNOWN_TYPES: Final = 10_000
_MAX_SHOWN_PARTS: Final = 12


class StaticType:
    """The type of an expression. Most types that are written alike are one object."""

    __slots__ = ("fields", "is_open", "name", "of", "parts")

    def __init__(self, name: str, of: tuple[StaticType, ...] = (), fields: Mapping[str, StaticType] | None = None) -> None:
        """`fields` are those of a structure; the name of a parameter, which can be bound to any type, begins with an underscore."""
        self.name, self.of, self.fields = name, of, fields
        self.is_open: bool = name[0] == "_" or any(part.is_open for part in of)
        self.parts: int = 1 + sum(part.parts for part in of)

    @property
    def is_parameter(self) -> bool:
        """Whether it can be bound to any type."""
        return self.name[0] == "_"

    def __str__(self) -> str:
        if self.parts > _MAX_SHOWN_PARTS:
            return self.name
        return f"{self.name}({', '.join(map(str, self.of))})" if self.of else self.name


_KNOWN: Final[dict[tuple[str, tuple[StaticType, ...]], StaticType]] = {}


def make_type(name: str, *of: StaticType) -> StaticType:
    """The type of a name and parameters."""
    if sum(part.parts for part in of) > MAX_TYPE_PARTS:
        return DYN
    known = _KNOWN.get((name, of))
    if known is None:
        known = StaticType(name, of)
        if not known.is_open and len(_KNOWN) < _MAX_KNOWN_TYPES:
            _KNOWN[(name, of)] = known
    return known


DYN: Final = StaticType("dyn")
ERROR: Final = StaticType("error")  # of an expression that has no type: everything goes with it
BOOL: Final = make_type("bool")
INT: Final = make_type("int")
NULL: Final = make_type("null_type")
_KNOWN[("dyn", ())] = DYN
_TIMES: Final = ("google.protobuf.Timestamp", "google.protobuf.Duration")
_ALIKE: Final = ("type",)  # one is accepted in place of the other, whatever they hold
_NEVER_NULL: Final = frozenset({"bool", "int", "uint", "double", "string", "bytes", "list", "map", "type"})
_LETTERS: Final = "ABKV"  # names of parameters in a text


def read_type(text: str) -> StaticType:
    """Reads a type such as `map(string, list(A))`, where a capital letter is a parameter."""
    kind, end = _read(text.replace(" ", ""), 0)
    if end < len(text.replace(" ", "")):
        raise ValueError(text)
    return kind


def _read(text: str, at: int) -> tuple[StaticType, int]:
    end = at
    while end < len(text) and text[end] not in "(),":
        end += 1
    name = text[at:end]
    of: list[StaticType] = []
    if text[end : end + 1] == "(":
        while text[end] != ")":
            part, end = _read(text, end + 1)
            of.append(part)
        end += 1
    if name in _LETTERS:
        return StaticType("_" + name), end
    return make_type({"timestamp": _TIMES[0], "duration": _TIMES[1]}.get(name, name), *of), end


def is_anything(kind: StaticType) -> bool:
    """Whether a type goes with every other."""
    return kind is DYN or kind is ERROR


def is_same(kind: StaticType, other: StaticType) -> bool:
    """Whether two types are written alike."""
    return kind is other or (
        kind.name == other.name and kind.fields is other.fields and len(kind.of) == len(other.of) and all(map(is_same, kind.of, other.of))
    )


def is_more_general(kind: StaticType, other: StaticType) -> bool:
    """Whether a type is as general as another, or more."""
    if kind is DYN or kind.is_parameter:
        return True
    if other is DYN or other.is_parameter or kind.name != other.name:
        return False
    return kind.name in _ALIKE or (len(kind.of) == len(other.of) and all(map(is_more_general, kind.of, other.of)))


class Unifier:
    """Types that parameters are bound to. A failed attempt changes no binding."""

    def __init__(self) -> None:
        self._bound: dict[str, StaticType] = {}
        self._undo: list[tuple[str, StaticType | None]] = []
        self._fresh = 0

    def parameter(self) -> StaticType:
        """A new parameter."""
        self._fresh += 1
        return StaticType(f"_{self._fresh}")

    def fit(self, actual: tuple[StaticType, ...], wanted: tuple[StaticType, ...]) -> bool:
        """Returns whether types are accepted in place of others, one by one; if so, binds parameters to the types that they must be."""
        if len(actual) != len(wanted):
            return False
        self._undo.clear()
        if all(map(self._fits, actual, wanted)):
            return True
        for name, before in reversed(self._undo):
            if before is None:
                del self._bound[name]
            else:
                self._bound[name] = before
        return False

    def resolve(self, kind: StaticType, *, unbound: StaticType | None = None) -> StaticType:
        """Returns a type with its parameters replaced by the types that they are bound to; `unbound` replaces those not bound yet."""
        return self._resolved(kind, unbound, {}) if kind.is_open else kind

    def _resolved(self, kind: StaticType, unbound: StaticType | None, known: dict[int, StaticType]) -> StaticType:
        while kind.is_parameter and kind.name in self._bound:
            kind = self._bound[kind.name]
        if not kind.is_open:
            return kind
        if kind.is_parameter:
            return unbound or kind
        if id(kind) not in known:
            known[id(kind)] = make_type(kind.name, *(self._resolved(part, unbound, known) for part in kind.of))
        return known[id(kind)]

    def _bind(self, name: str, to: StaticType) -> None:
        self._undo.append((name, self._bound.get(name)))
        self._bound[name] = to

    def _fits(self, kind: StaticType, other: StaticType) -> bool:
        if other.is_parameter:
            fits, was_bound = self._substitute(kind, other)
            if fits or was_bound:
                return fits
        if kind.is_parameter:
            return self._substitute(other, kind)[0]
        if is_anything(kind) or is_anything(other):
            return True
        if NULL in (kind, other):
            rest = other if kind is NULL else kind
            return rest is NULL or rest.name not in _NEVER_NULL
        if kind.name != other.name or kind.fields is not other.fields:
            return False
        return kind.name in _ALIKE or (len(kind.of) == len(other.of) and all(map(self._fits, kind.of, other.of)))

    def _substitute(self, kind: StaticType, parameter: StaticType) -> tuple[bool, bool]:
        """Returns whether a parameter may be bound to a type, and whether it was already bound to one."""
        if is_same(kind, parameter):
            return True, True
        bound = self._bound.get(parameter.name)
        if bound is not None:
            if is_same(kind, bound):
                return True, True
            if not self._fits(kind, bound):
                return False, True
            general = kind if is_more_general(kind, bound) else bound
            if not self._occurs(parameter, general, set()):
                self._bind(parameter.name, general)
            return True, True
        if self._occurs(parameter, kind, set()):
            return False, False
        self._bind(parameter.name, kind)
        return True, False

    def _occurs(self, parameter: StaticType, within: StaticType, visited: set[int]) -> bool:
        while within.is_parameter and within.name != parameter.name and within.name in self._bound:
            within = self._bound[within.name]
        if not within.is_open or id(within) in visited:
            return False
        if within.is_parameter:
            return within.name == parameter.name
        visited.add(id(within))
        return any(self._occurs(parameter, part, visited) for part in within.of)


def rename(kind: StaticType, known: dict[str, StaticType], fresh: Callable[[], StaticType]) -> StaticType:
    """A type with new parameters in place of its own."""
    if not kind.is_open:
        return kind
    if kind.is_parameter:
        if kind.name not in known:
            known[kind.name] = fresh()
        return known[kind.name]
    return make_type(kind.name, *(rename(part, known, fresh) for part in kind.of))
