"""Every rule and default there is, found by looking at this package's folders."""

import importlib
import os
from collections.abc import Iterable
from functools import cache
from typing import Final

from ..api.line import Line
from .checks import CHECKS
from .rule import Rule
from .rule_sections import RuleError

FOLDERS: Final = ("graph", "component", "v1alpha1", "checkpoint", "request", "model", "defaults")
_HERE: Final = os.path.dirname(os.path.abspath(__file__))  # noqa: PTH100, PTH120 - pathlib takes longer to import than this to run


# the rules that a project adds, which the catalogue lists and finds beside ours; nothing of this package evaluates them
_user: Final[list[Rule]] = []


def set_user_rules(rules: Iterable[Rule]) -> None:
    """Replaces the users' own rules."""
    if (given := [*rules]) != _user:
        _user[:] = given
        list_all.cache_clear()
        find_rule.cache_clear()


def list_user_rules() -> tuple[Rule, ...]:
    """The users' own rules."""
    return tuple(_user)


@cache
def list_declared() -> tuple[Rule, ...]:
    """All rules and defaults, sorted by code.

    Raises: RuleError if a file holds no rule, or if two rules share a code or a name.
    """
    rules: list[Rule] = []
    for folder in FOLDERS:
        names = sorted(name.removesuffix(".py") for name in os.listdir(f"{_HERE}/{folder}"))  # noqa: PTH208 - as above
        for name in names:
            if name[:1].islower() and "." not in name:
                rules += _rules_in(f"dynamo_webhooks.policies.{folder}.{name}")
    first: dict[str, Rule] = {}
    for rule in rules:
        for word in (rule.code, rule.name):
            other = first.setdefault(word, rule)
            if other.name != rule.name or other.code != rule.code:
                raise RuleError(f"{rule.module}: {word} already belongs to {other.module}")
    return tuple(sorted(rules, key=lambda rule: rule.code))


def _rules_in(module: str) -> list[Rule]:
    rules = [value for value in vars(importlib.import_module(module)).values() if isinstance(value, Rule) and value.module == module]
    if not rules:
        raise RuleError(f"{module}: must declare rules")
    return list({id(rule): rule for rule in rules}.values())


@cache
def list_rules(line: Line | None = None) -> tuple[Rule, ...]:
    """The rules and defaults of one line, or of all, sorted by code."""
    return tuple(rule for rule in list_declared() if line is None or rule.is_of(line))


@cache
def list_all(line: Line | None = None) -> tuple[Rule, ...]:
    """The whole catalogue: rules and defaults of one line, or of all, checks and users' rules, sorted by code."""
    return tuple(sorted((*CHECKS, *list_rules(line), *_user), key=lambda rule: rule.code))


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
