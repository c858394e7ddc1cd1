"""Types of expressions before they are evaluated, and which of them stand for which others, as in cel-go's type checker."""

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
        """`fields` are those of a structure; the name of a parameter, which stands for any type, begins with an underscore."""
        self.name, self.of, self.fields = name, of, fields
        self.is_open: bool = name[0] == "_" or any(one.is_open for one in of)
        self.parts: int = 1 + sum(one.parts for one in of)

    @property
    def is_parameter(self) -> bool:
        """Whether it stands for any type."""
        return self.name[0] == "_"

    def __str__(self) -> str:
        if self.parts > _MAX_SHOWN_PARTS:
            return self.name
        return f"{self.name}({', '.join(map(str, self.of))})" if self.of else self.name


_KNOWN: Final[dict[tuple[str, tuple[StaticType, ...]], StaticType]] = {}


def make_type(name: str, *of: StaticType) -> StaticType:
    """The type of a name and parameters."""
    if sum(one.parts for one in of) > MAX_TYPE_PARTS:
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
_ALIKE: Final = ("type",)  # whatever they hold, one stands for the other
_NEVER_NULL: Final = frozenset({"bool", "int", "uint", "double", "string", "bytes", "list", "map", "type"})
_LETTERS: Final = "ABKV"  # names of parameters in a text


def read_type(text: str) -> StaticType:
    """Reads a type such as `map(string, list(A))`, where a capital letter is a parameter."""
    found, end = _read(text.replace(" ", ""), 0)
    if end < len(text.replace(" ", "")):
        raise ValueError(text)
    return found


def _read(text: str, at: int) -> tuple[StaticType, int]:
    end = at
    while end < len(text) and text[end] not in "(),":
        end += 1
    name = text[at:end]
    of: list[StaticType] = []
    if text[end : end + 1] == "(":
        while text[end] != ")":
            one, end = _read(text, end + 1)
            of.append(one)
        end += 1
    if name in _LETTERS:
        return StaticType("_" + name), end
    return make_type({"timestamp": _TIMES[0], "duration": _TIMES[1]}.get(name, name), *of), end


def is_anything(one: StaticType) -> bool:
    """Whether a type goes with every other."""
    return one is DYN or one is ERROR


def is_same(one: StaticType, other: StaticType) -> bool:
    """Whether two types are written alike."""
    return one is other or (
        one.name == other.name and one.fields is other.fields and len(one.of) == len(other.of) and all(map(is_same, one.of, other.of))
    )


def is_more_general(one: StaticType, other: StaticType) -> bool:
    """Whether a type is as general as another, or more."""
    if one is DYN or one.is_parameter:
        return True
    if other is DYN or other.is_parameter or one.name != other.name:
        return False
    return one.name in _ALIKE or (len(one.of) == len(other.of) and all(map(is_more_general, one.of, other.of)))


class Unifier:
    """What parameters stand for. Attempts that fail leave no trace."""

    def __init__(self) -> None:
        self._bound: dict[str, StaticType] = {}
        self._undo: list[tuple[str, StaticType | None]] = []
        self._fresh = 0

    def parameter(self) -> StaticType:
        """A new parameter."""
        self._fresh += 1
        return StaticType(f"_{self._fresh}")

    def fit(self, given: tuple[StaticType, ...], wanted: tuple[StaticType, ...]) -> bool:
        """Whether types stand for others, one by one; if so, parameters are bound to what they must be."""
        if len(given) != len(wanted):
            return False
        self._undo.clear()
        if all(map(self._fits, given, wanted)):
            return True
        for name, before in reversed(self._undo):
            if before is None:
                del self._bound[name]
            else:
                self._bound[name] = before
        return False

    def resolve(self, one: StaticType, *, unbound: StaticType | None = None) -> StaticType:
        """A type with what its parameters stand for; `unbound` takes the place of those that stand for nothing yet."""
        return self._resolved(one, unbound, {}) if one.is_open else one

    def _resolved(self, one: StaticType, unbound: StaticType | None, known: dict[int, StaticType]) -> StaticType:
        while one.is_parameter and one.name in self._bound:
            one = self._bound[one.name]
        if not one.is_open:
            return one
        if one.is_parameter:
            return unbound or one
        if id(one) not in known:
            known[id(one)] = make_type(one.name, *(self._resolved(part, unbound, known) for part in one.of))
        return known[id(one)]

    def _bind(self, name: str, to: StaticType) -> None:
        self._undo.append((name, self._bound.get(name)))
        self._bound[name] = to

    def _fits(self, one: StaticType, other: StaticType) -> bool:
        if other.is_parameter:
            fits, was_bound = self._substitute(one, other)
            if fits or was_bound:
                return fits
        if one.is_parameter:
            return self._substitute(other, one)[0]
        if is_anything(one) or is_anything(other):
            return True
        if NULL in (one, other):
            rest = other if one is NULL else one
            return rest is NULL or rest.name not in _NEVER_NULL
        if one.name != other.name or one.fields is not other.fields:
            return False
        return one.name in _ALIKE or (len(one.of) == len(other.of) and all(map(self._fits, one.of, other.of)))

    def _substitute(self, one: StaticType, parameter: StaticType) -> tuple[bool, bool]:
        """Whether a parameter may stand for a type, and whether it already stood for one."""
        if is_same(one, parameter):
            return True, True
        bound = self._bound.get(parameter.name)
        if bound is not None:
            if is_same(one, bound):
                return True, True
            if not self._fits(one, bound):
                return False, True
            general = one if is_more_general(one, bound) else bound
            if not self._occurs(parameter, general, set()):
                self._bind(parameter.name, general)
            return True, True
        if self._occurs(parameter, one, set()):
            return False, False
        self._bind(parameter.name, one)
        return True, False

    def _occurs(self, parameter: StaticType, within: StaticType, seen: set[int]) -> bool:
        while within.is_parameter and within.name != parameter.name and within.name in self._bound:
            within = self._bound[within.name]
        if not within.is_open or id(within) in seen:
            return False
        if within.is_parameter:
            return within.name == parameter.name
        seen.add(id(within))
        return any(self._occurs(parameter, one, seen) for one in within.of)


def rename(one: StaticType, known: dict[str, StaticType], fresh: Callable[[], StaticType]) -> StaticType:
    """A type with new parameters in place of its own."""
    if not one.is_open:
        return one
    if one.is_parameter:
        if one.name not in known:
            known[one.name] = fresh()
        return known[one.name]
    return make_type(one.name, *(rename(part, known, fresh) for part in one.of))
