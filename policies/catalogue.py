"""Every rule and default there is, found by looking at this package's folders: adding a rule is adding a file."""

from __future__ import annotations

import importlib
from functools import cache
from pathlib import Path as FilePath
from typing import Final

from policies.review import V1_2
from policies.rule import BOTH, Rule, RuleError

FOLDERS: Final = ("graph", "component", "checkpoint", "request", "model", "defaults")
_HERE: Final = FilePath(__file__).parent


@cache
def declared() -> tuple[Rule, ...]:
    """All records, variants of profile 1.2 included, sorted by code.

    Raises: RuleError when a file holds no rule of its own name, or two rules share a code or a name.
    """
    found: list[Rule] = []
    for folder in FOLDERS:
        for file in sorted((_HERE / folder).glob("[a-z]*.py")):
            found += _rules_in(f"policies.{folder}.{file.stem}", file.stem)
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
