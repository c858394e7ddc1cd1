"""Every rule and default there is, found by looking at this package's folders, or in the index of what each declares.

The index spares a command that starts often the import of all rules. `python -m tools.rule_index` writes it, and it is used only while it
fits the modules beside it.
"""

import importlib
import json
import os
import zlib
from collections.abc import Iterable
from functools import cache
from typing import Any, Final

from ..api.line import Line
from .checks import CHECKS
from .rule import Difference, Level, Rule, Stage
from .rule_sections import RuleError

FOLDERS: Final = ("graph", "component", "v1alpha1", "checkpoint", "request", "model", "defaults")
_HERE: Final = os.path.dirname(os.path.abspath(__file__))  # noqa: PTH100, PTH120 - pathlib takes longer to import than this to run
INDEX: Final = f"{_HERE}/index.json"


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

    Raises: RuleError if a file holds no rule, or if two rules share a code or a name.
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


def import_all() -> tuple[Rule, ...]:
    """All records by importing every module, sorted by code.

    Raises: RuleError if a file holds no rule, or if two rules share a code or a name.
    """
    found: list[Rule] = []
    for folder in FOLDERS:
        names = sorted(name.removesuffix(".py") for name in os.listdir(f"{_HERE}/{folder}"))  # noqa: PTH208 - as above
        for name in names:
            if name[:1].islower() and "." not in name:
                found += _rules_in(f"dynamo_webhooks.policies.{folder}.{name}")
    first: dict[str, Rule] = {}
    for rule in found:
        for word in (rule.code, rule.name):
            other = first.setdefault(word, rule)
            if other.name != rule.name or other.code != rule.code:
                raise RuleError(f"{rule.module}: {word} already belongs to {other.module}")
    return tuple(sorted(found, key=lambda rule: rule.code))


def _rules_in(module: str) -> list[Rule]:
    rules = [value for value in vars(importlib.import_module(module)).values() if isinstance(value, Rule) and value.module == module]
    if not rules:
        raise RuleError(f"{module}: must declare rules")
    return list({id(rule): rule for rule in rules}.values())


def load_index() -> list[Rule] | None:
    """The rules of the index, whose functions are loaded on first use; None when the index is out of date."""
    try:
        with open(INDEX, "rb") as file:  # noqa: PTH123 - as above
            index: dict[str, Any] = json.load(file)
    except FileNotFoundError:
        return None
    return [read_row(row) for row in index["rules"]] if index["modules"] == sum_declarations() else None


def sum_declarations() -> dict[str, int]:
    """Every module of rules with a checksum of what it declares: decorators and the names of functions, as they are written.

    A declaration may name a constant of another module, whose change is found when the rule is asked.
    """
    found = {}
    for folder in FOLDERS:
        for name in os.listdir(f"{_HERE}/{folder}"):  # noqa: PTH208 - as above
            if name.endswith(".py"):
                with open(f"{_HERE}/{folder}/{name}", "rb") as file:  # noqa: PTH123 - as above
                    decorated = file.read().split(b"\n@")[1:]
                found[f"{folder}/{name}"] = zlib.crc32(b"\n".join(each[: each.find(b"(", each.find(b"\ndef "))] for each in decorated))
    return found


def read_row(row: dict[str, Any]) -> Rule:
    """A rule of the index, without its function."""
    difference = row["difference"]
    return Rule(
        **{
            **row,
            "when": tuple(row["when"]),
            "on": frozenset(row["on"]),
            "needs": tuple(row["needs"]),
            "level": Level(row["level"]),
            "stage": Stage(row["stage"]),
            "since": Line(row["since"]) if row["since"] else None,
            "until": Line(row["until"]) if row["until"] else None,
            "difference": Difference(tuple(difference[0]), *difference[1:]) if difference else None,
        }
    )
