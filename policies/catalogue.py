"""Every rule and default there is, found by looking at this package's folders: adding a rule is adding a file."""

from __future__ import annotations

import importlib
import os
from functools import cache
from typing import Final

from dynamo_webhooks.policies.index import FOLDERS, indexed
from dynamo_webhooks.policies.review import V1_2
from dynamo_webhooks.policies.rule import BOTH, Rule, RuleError

_HERE: Final = os.path.dirname(os.path.abspath(__file__))  # noqa: PTH100, PTH120 - pathlib takes longer to import than this to run


class _Reading:
    """How the rules are found, decided before anybody asks for them."""

    __slots__ = ("lazily",)

    def __init__(self) -> None:
        self.lazily = False


_reading: Final = _Reading()


def read_lazily() -> None:
    """Lets the catalogue come from the index, each rule's module imported when the rule is first asked: for commands that start often.

    A server imports all at once, so that no request waits for it and its processes share the memory.
    """
    _reading.lazily = True


@cache
def declared() -> tuple[Rule, ...]:
    """All records, variants of profile 1.2 included, sorted by code.

    Raises: RuleError when a file holds no rule of its own name, or two rules share a code or a name.
    """
    found = indexed() if _reading.lazily else None
    return tuple(found) if found is not None else imported()


def imported() -> tuple[Rule, ...]:
    """All records by importing every module; as `declared`."""
    found: list[Rule] = []
    for folder in FOLDERS:
        names = sorted(name.removesuffix(".py") for name in os.listdir(f"{_HERE}/{folder}"))  # noqa: PTH208 - as above
        for name in names:
            if name[:1].islower() and "." not in name:
                found += _rules_in(f"dynamo_webhooks.policies.{folder}.{name}", name)
    first: dict[str, Rule] = {}
    for rule in found:
        for word in (rule.code, rule.name):
            other = first.setdefault(word, rule)
            if other.name != rule.name or other.code != rule.code:
                raise RuleError(f"{rule.module}: {word} already belongs to {other.module}")
    return tuple(sorted(found, key=lambda rule: (rule.code, rule.profile == V1_2)))


def _rules_in(module: str, stem: str) -> list[Rule]:
    rules = [value for value in vars(importlib.import_module(module)).values() if isinstance(value, Rule) and value.module == module]
    if not any(rule.name == stem.replace("_", "-") for rule in rules):
        raise RuleError(f"{module}: must declare the rule {stem.replace('_', '-')}")
    return list({id(rule): rule for rule in rules}.values())


@cache
def rules(profile: str) -> tuple[Rule, ...]:
    """The rules and defaults of one profile, one record a name, sorted by code."""
    chosen: dict[str, Rule] = {}
    for rule in declared():
        # the variant of 1.2 sorts behind the rule that it replaces
        if rule.profile in (BOTH, profile):
            chosen[rule.name] = rule
    return tuple(chosen.values())


@cache
def by_word(word: str) -> Rule | None:
    """Finds a rule by its name or code; the record of profile current where there are two."""
    wanted = word.strip()
    for rule in declared():
        if wanted.lower() == rule.name or wanted.upper() == rule.code:
            return rule
    return None
