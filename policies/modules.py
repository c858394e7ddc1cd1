"""The modules that hold rules and defaults, one each, and the records that importing all of them gives."""

from __future__ import annotations

import importlib
import os
from typing import Final

from dynamo_webhooks.policies.review import V1_2
from dynamo_webhooks.policies.rule import Rule, RuleError

FOLDERS: Final = ("graph", "component", "checkpoint", "request", "model", "defaults")
_HERE: Final = os.path.dirname(os.path.abspath(__file__))  # noqa: PTH100, PTH120 - pathlib takes longer to import than this to run


def imported() -> tuple[Rule, ...]:
    """All records by importing every module, sorted by code.

    Raises: RuleError when a file holds no rule of its own name, or two rules share a code or a name.
    """
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
