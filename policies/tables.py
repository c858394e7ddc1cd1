"""Builds checks of blocks from tables of their fields; a check adds what an API server refuses to a list. Cost: fields that are written."""

from __future__ import annotations

import ipaddress
import re
from collections.abc import Callable, Mapping
from typing import Any, Final, TypeAlias

from ..api.paths import Key, Path
from ..api.walk.metadata import is_qualified, is_subdomain
from .patterns import is_label
from .review import Fields
from .words import quote_once

Mistake: TypeAlias = tuple[Path, str]
CheckFunction: TypeAlias = Callable[[Any, "Mistakes"], None]

_LABEL_VALUE: Final = re.compile(r"([A-Za-z0-9]([-A-Za-z0-9_.]{0,61}[A-Za-z0-9])?)?")
_OPERATORS: Final = ("In", "NotIn", "Exists", "DoesNotExist")
_MAX_KNOWN_TEXTS: Final = 1_000  # of a form
_MAX_KNOWN_CHARACTERS: Final = 63


class Mistakes:
    """Collects what checks find in a pod. Only a mistake costs a path: nearly every value is looked at in vain."""

    def __init__(self, spec: Fields, added: frozenset[str], imageless: frozenset[str]) -> None:
        """Checks may look at the whole `spec`. Volumes `added` are there without being written, containers `imageless` need no image."""
        self.spec, self.added, self.imageless = spec, added, imageless
        volumes: list[Fields | None] = spec.get("volumes") or []
        self.volumes: set[str] = {volume.get("name") or "" for volume in volumes if volume}
        self.entries: list[Mistake] = []

    def add(self, text: str, *steps: str | int) -> None:
        """Adds a mistake at steps below the value that is looked at."""
        self.entries.append((steps, text))

    def ask(self, check: Check, value: Any, *steps: str | int) -> None:
        """Has a check look at the value at steps below, if there is one."""
        if value is not None:
            count = len(self.entries)
            check.validate(value, self)
            if len(self.entries) > count:
                self.prefix(count, *steps)

    def prefix(self, count: int, *steps: str | int) -> None:
        """Puts steps before the paths of the mistakes behind the first so many."""
        self.entries[count:] = [((*steps, *path), text) for path, text in self.entries[count:]]


class Check:
    """Looks at a value that is there. Classes, whose methods compiled code calls sooner than functions."""

    def validate(self, value: Any, mistakes: Mistakes) -> None:
        """Adds the mistakes of a value."""
        raise NotImplementedError


class _Function(Check):
    def __init__(self, validate: CheckFunction) -> None:
        self._function = validate

    def validate(self, value: Any, mistakes: Mistakes) -> None:
        self._function(value, mistakes)


def _as_check(check: Check | CheckFunction) -> Check:
    return check if isinstance(check, Check) else _Function(check)


class Choice(Check):
    """A text that is one of some; an empty one counts as absent, as in all checks of single texts."""

    def __init__(self, *allowed: str) -> None:
        self._allowed = allowed

    def validate(self, value: Any, mistakes: Mistakes) -> None:
        """Adds a mistake if the text is not empty and not one of the allowed."""
        allowed = self._allowed
        if value and value not in allowed:
            wanted = f"{', '.join(allowed[:-1])} or {allowed[-1]}" if len(allowed) > 1 else allowed[0]
            mistakes.add(f'must be {wanted}, got "{quote_once(value)}"')


class Text(Check):
    """A text in a form. The first short ones that fit are remembered: the same names come again and again."""

    def __init__(self, fits: Callable[[str], object], wanted: str) -> None:
        self._fits, self._wanted = fits, wanted
        self._known: set[str] = set()

    def validate(self, value: Any, mistakes: Mistakes) -> None:
        """Adds a mistake if the text is not empty and doesn't fit."""
        if value and value not in self._known:
            if not self._fits(value):
                mistakes.add(f'{self._wanted}, got "{quote_once(value)}"')
            elif len(value) <= _MAX_KNOWN_CHARACTERS and len(self._known) < _MAX_KNOWN_TEXTS:
                self._known.add(value)


class Number(Check):
    """A number in a range."""

    def __init__(self, low: int, high: int | None = None) -> None:
        self._low, self._high = low, high

    def validate(self, value: Any, mistakes: Mistakes) -> None:
        """Adds a mistake if the number is out of range."""
        low, high = self._low, self._high
        if value < low or (high is not None and value > high):
            mistakes.add(f"must be from {low} to {high}, got {value}" if high is not None else f"must be {low} or more, got {value}")


class Block(Check):
    """A block whose fields are checked, and of which some may not be empty."""

    def __init__(self, table: Mapping[str, Check | CheckFunction], *required: str) -> None:
        self.table = {field: _as_check(check) for field, check in table.items()}
        self._required = required

    def validate(self, value: Any, mistakes: Mistakes) -> None:
        """Adds the mistakes of the block's fields, and one for each required field that is empty."""
        block: Fields = value
        table = self.table
        for field, item in block.items():
            if item is not None and (check := table.get(field)) is not None:
                count = len(mistakes.entries)
                check.validate(item, mistakes)
                if len(mistakes.entries) > count:
                    mistakes.prefix(count, field)
        for field in self._required:
            if not block.get(field):
                mistakes.add("must not be empty", field)


class Each(Check):
    """A list whose items are checked."""

    def __init__(self, of_item: Check | CheckFunction) -> None:
        self._of_item = _as_check(of_item)

    def validate(self, value: Any, mistakes: Mistakes) -> None:
        """Adds the mistakes of the items."""
        items: list[Any] = value
        check = self._of_item
        for index, item in enumerate(items):
            if item is not None:
                count = len(mistakes.entries)
                check.validate(item, mistakes)
                if len(mistakes.entries) > count:
                    mistakes.prefix(count, index)


class AllOf(Check):
    """A value that several checks look at."""

    def __init__(self, *checks: Check | CheckFunction) -> None:
        self._checks = [_as_check(check) for check in checks]

    def validate(self, value: Any, mistakes: Mistakes) -> None:
        """Adds the mistakes that each check finds in the value."""
        for check in self._checks:
            check.validate(value, mistakes)


class Filled(Check):
    """A text that may be absent, but not empty."""

    def __init__(self, check: Check) -> None:
        self._check = check

    def validate(self, value: Any, mistakes: Mistakes) -> None:
        """Adds a mistake if the text is empty, else those of the check."""
        if value == "":
            mistakes.add("must not be empty")
        else:
            self._check.validate(value, mistakes)


class Absent(Check):
    """A value that may only be empty."""

    def __init__(self, where: str) -> None:
        self._where = where

    def validate(self, value: Any, mistakes: Mistakes) -> None:
        """Adds a mistake if the value is not empty."""
        if value:
            mistakes.add(f"must be absent {self._where}")


class OneOf(Check):
    """A block with exactly one of some fields."""

    def __init__(self, *fields: str) -> None:
        self._fields = fields

    def validate(self, value: Any, mistakes: Mistakes) -> None:
        """Adds a mistake unless exactly one of the fields is there."""
        there = [field for field in self._fields if value.get(field) is not None]
        if len(there) != 1:
            mistakes.add(f"must have one of {', '.join(self._fields)}, got {' and '.join(there) or 'none'}")


def _is_address(value: str) -> bool:
    try:
        ipaddress.ip_address(value)
    except ValueError:
        return False
    return "%" not in value


_LABEL_VALUES: Final = Each(Text(_LABEL_VALUE.fullmatch, "must be the value of a label"))


def _check_labels(value: Any, mistakes: Mistakes) -> None:
    for key, label in value.items():
        if not is_qualified(key):
            mistakes.ask(QUALIFIED, key, Key(key))
        if label and not _LABEL_VALUE.fullmatch(label):
            mistakes.add(f'must be the value of a label, got "{quote_once(label)}"', Key(key))


class _Requirement(Check):
    """A requirement of a selector, whose operators are the usual ones and more."""

    def __init__(self, *more: str) -> None:
        self._keyed, self._known = Block({"key": QUALIFIED}, "key", "operator"), Choice(*_OPERATORS, *more)

    def validate(self, value: Any, mistakes: Mistakes) -> None:
        operator = value.get("operator") or ""
        values: list[str] = value.get("values") or []
        self._keyed.validate(value, mistakes)
        mistakes.ask(self._known, operator, "operator")
        if operator in ("In", "NotIn") and not values:
            mistakes.add(f"must not be empty beside {operator}", "values")
        elif operator in ("Exists", "DoesNotExist") and values:
            mistakes.add(f"must be absent beside {operator}", "values")
        elif operator in ("Gt", "Lt") and len(values) != 1:
            mistakes.add(f"must be one value beside {operator}", "values")
        if operator in ("In", "NotIn"):
            mistakes.ask(_LABEL_VALUES, values, "values")


LABEL: Final = Text(is_label, "must have at most 63 lower-case letters, digits and inner dashes")
SUBDOMAIN: Final = Text(is_subdomain, "must be lower-case letters, digits, dots and inner dashes")
ADDRESS: Final = Text(_is_address, "must be an IP address")
QUALIFIED: Final = Text(
    is_qualified, "must be the key of a label: letters, digits, inner dashes, dots and underscores, with or without a domain"
)
LABELS: Final[Check] = _Function(_check_labels)
SELECTOR: Final = Block({"matchLabels": LABELS, "matchExpressions": Each(_Requirement())})
NODE_REQUIREMENTS: Final = Each(_Requirement("Gt", "Lt"))
