"""The modules that hold rules and defaults, by theme, and the records that importing all of them gives."""

import importlib
import os
from typing import Final

from .rule import Rule
from .rule_sections import RuleError

FOLDERS: Final = ("graph", "component", "v1alpha1", "checkpoint", "request", "model", "defaults")
_HERE: Final = os.path.dirname(os.path.abspath(__file__))  # noqa: PTH100, PTH120 - pathlib takes longer to import than this to run


def import_all() -> tuple[Rule, ...]:
    """All records by importing every module, sorted by code.

    Raises: RuleError if a file holds a rule whose name does not begin with the file's, or if two rules share a code or a name.
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
    return tuple(sorted(found, key=lambda rule: rule.code))


def _rules_in(module: str, stem: str) -> list[Rule]:
    rules = [value for value in vars(importlib.import_module(module)).values() if isinstance(value, Rule) and value.module == module]
    theme = stem.replace("_", "-")
    if not rules or not all(f"{rule.name}-".startswith(f"{theme}-") for rule in rules):
        raise RuleError(f"{module}: must declare rules named {theme} or {theme}-..., and no others")
    return list({id(rule): rule for rule in rules}.values())
