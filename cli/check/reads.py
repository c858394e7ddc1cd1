"""Which names of fields a rule may read: the texts in its code, in its declaration, and in the functions that it calls."""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import cache
from inspect import unwrap
from types import CodeType, FunctionType, ModuleType
from typing import TYPE_CHECKING, Any, Final

from dynamo_webhooks.policies.at import At

if TYPE_CHECKING:
    from dynamo_webhooks.policies.rule import Rule

_OURS: Final = "dynamo_webhooks."
_WORD: Final = re.compile(r"[A-Za-z0-9_]+")
_NAMES: Final = re.compile(r"\S+")  # sentences and documentation hold blanks


@cache
def words_of(rule: Rule) -> frozenset[str]:
    """All words that a rule could take for a field's name; more than it reads, never fewer."""
    found = {word for text in (*rule.where.values(), *rule.when) for word in _WORD.findall(text)}
    seen: set[int] = set()
    waiting: list[Any] = [rule.check]
    while waiting:
        one = waiting.pop()
        if id(one) in seen:
            continue
        seen.add(id(one))
        if isinstance(one, str):
            found.update(_WORD.findall(one) if _NAMES.fullmatch(one) else ())
        else:
            waiting += _inside(one)
    return frozenset(found)


def _inside(one: Any) -> Iterator[Any]:
    """What a value of a module leads to: texts, and other values that may hold some."""
    if isinstance(one, (tuple, list, set, frozenset)):
        yield from one
    elif isinstance(one, dict):
        yield from (*one.keys(), *one.values())
    elif isinstance(one, type):
        if one is not At and one.__module__.startswith(_OURS):
            yield from (member.fget if isinstance(member, property) else member for member in vars(one).values())
    elif hasattr(one, "__wrapped__"):
        yield unwrap(one)
    elif isinstance(one, (classmethod, staticmethod)):
        yield one.__func__
    elif isinstance(one, FunctionType) and one.__module__.startswith(_OURS):
        yield from _of_code(one.__code__, one.__globals__)
        yield from (cell.cell_contents for cell in one.__closure__ or ())
        yield from one.__defaults__ or ()


def _of_code(code: CodeType, names: dict[str, Any]) -> Iterator[Any]:
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            yield from _of_code(constant, names)
        else:
            yield constant
    for name in code.co_names:
        value = names.get(name)
        if isinstance(value, ModuleType):
            yield from (getattr(value, other, None) for other in code.co_names)
        elif value is not None:
            yield value
