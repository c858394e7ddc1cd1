"""The functions of the language by name and the types that they take. A module of the library is imported when a name is first used."""

import operator
from collections.abc import Callable, Sequence
from importlib import import_module
from typing import Any, Final, NamedTuple, TypeVar

from .declarations import DECLARED, split
from .values import class_of

Function = TypeVar("Function", bound=Callable[..., Any])

ANY: Final = object()


class Overload(NamedTuple):
    """A function for some types; one that does more than read its operands through is metered: it takes the frame first, and spends."""

    types: tuple[Any, ...]
    run: Callable[..., Any]
    metered: bool


_TABLE: dict[tuple[str, bool], list[Overload]] = {}
_MODULE_OF: Final[dict[str, dict[str, None]]] = {}
for _module, _signatures in DECLARED.items():
    for _signature in _signatures:
        _MODULE_OF.setdefault(split(_signature)[0], {})[_module] = None


def function(name: str, *types: Any, metered: bool = False) -> Callable[[Function], Function]:
    """Declares a function."""
    return _declared(name, False, types, metered)


def method(name: str, *types: Any, metered: bool = False) -> Callable[[Function], Function]:
    """Declares a function that is called behind a point: the first type is that of the value before the point."""
    return _declared(name, True, types, metered)


def comparable(kind: type) -> None:
    """Declares the methods by which values of a type are compared."""
    method("isGreaterThan", kind, kind)(operator.gt)
    method("isLessThan", kind, kind)(operator.lt)
    method("compareTo", kind, kind)(lambda value, other: (value > other) - (value < other))


def _declared(name: str, of_value: bool, types: tuple[Any, ...], metered: bool) -> Callable[[Function], Function]:
    def declare(run: Function) -> Function:
        _TABLE.setdefault((name, of_value), []).append(Overload(types, run, metered))
        return run

    return declare


def find(name: str, *, of_value: bool) -> list[Overload] | None:
    """Returns the overloads of a name, or None where there are none."""
    for home in _MODULE_OF.get(name, ()):
        import_module(f"{__package__}.library.{home}")
    return _TABLE.get((name, of_value))


def choose(overloads: Sequence[Overload], arguments: Sequence[Any]) -> Overload | None:
    """Returns the overload for the types of arguments."""
    kinds = tuple(map(class_of, arguments))
    for overload in overloads:
        wanted = overload.types
        if len(wanted) == len(kinds) and all(want is ANY or want is kind for want, kind in zip(wanted, kinds, strict=True)):
            return overload
    return None
