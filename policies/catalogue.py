"""Every rule and default there is, found by looking at this package's folders: adding a rule is adding a file."""

from collections.abc import Iterable
from functools import cache
from typing import Final

from ..api.line import Line
from .checks import CHECKS
from .index import load_index
from .modules import import_all
from .rule import Rule


class _Reading:
    """The way to find rules, chosen before their first use, and the rules that a project adds."""

    __slots__ = ("lazily", "user")

    def __init__(self) -> None:
        self.lazily = False
        self.user: tuple[Rule, ...] = ()


_reading: Final = _Reading()


def read_lazily() -> None:
    """Lets the catalogue come from the index, each rule's module imported when the rule is first asked: for commands that start often.

    A server imports all at once, so that no request waits for it and its processes share the memory.
    """
    _reading.lazily = True


def set_user_rules(rules: Iterable[Rule]) -> None:
    """Replaces the users' own rules, which the catalogue lists and finds beside ours; nothing of this package evaluates them."""
    found = tuple(rules)
    if found != _reading.user:
        _reading.user = found
        list_all.cache_clear()
        find_rule.cache_clear()


def list_user_rules() -> tuple[Rule, ...]:
    """The users' own rules."""
    return _reading.user


@cache
def list_declared() -> tuple[Rule, ...]:
    """All rules and defaults, sorted by code.

    Raises: RuleError if a file holds a rule whose name does not begin with the file's, or if two rules share a code or a name.
    """
    found = load_index() if _reading.lazily else None
    return tuple(found) if found is not None else import_all()


@cache
def list_rules(line: Line | None = None) -> tuple[Rule, ...]:
    """The rules and defaults of one line, or of all, sorted by code."""
    return tuple(rule for rule in list_declared() if line is None or rule.is_of(line))


@cache
def list_all(line: Line | None = None) -> tuple[Rule, ...]:
    """The whole catalogue: rules and defaults of one line, or of all, checks and users' rules, sorted by code."""
    return tuple(sorted((*CHECKS, *list_rules(line), *_reading.user), key=lambda rule: rule.code))


@cache
def list_differing() -> frozenset[str]:
    """The names of the rules that the Go operator 1.2 lacks, or has in another form."""
    return frozenset(rule.name for rule in list_declared() if rule.difference is not None or not rule.is_of(Line.V1_2))


@cache
def find_rule(word: str) -> Rule | None:
    """Finds a rule, default or check by its name or code."""
    wanted = word.strip()
    for rule in list_all():
        if wanted.lower() == rule.name or wanted.upper() == rule.code:
            return rule
    return None
