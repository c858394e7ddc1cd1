"""Builds checks of blocks from tables of their fields; a check adds what an API server refuses to a list. Cost: fields that are written."""

import ipaddress
import re
from collections.abc import Callable
from typing import Any, Final, TypeAlias

from ..api.paths import Key, Path
from ..api.walk.metadata import is_qualified, is_subdomain
from .patterns import is_label
from .review import Fields
from .words import quote_once

Mistake: TypeAlias = tuple[Path, str]
Check: TypeAlias = Callable[[Any, "Mistakes"], None]  # is asked only about values that are there

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
        self.found: list[Mistake] = []
        self.path: list[str | int] = []  # of the value that is looked at

    def add(self, text: str, *steps: str | int) -> None:
        """Adds a mistake at steps below the value that is looked at."""
        self.found.append(((*self.path, *steps), text))

    def ask(self, check: Check, value: Any, *steps: str | int) -> None:
        """Has a check look at the value at steps below, if there is one."""
        if value is not None:
            self.path.extend(steps)
            check(value, self)
            for _ in steps:
                self.path.pop()

    def ask_each(self, check: Check, items: list[Any]) -> None:
        """Has a check look at each item of a list."""
        self.path.append(0)
        for index, item in enumerate(items):
            if item is not None:
                self.path[-1] = index
                check(item, self)
        self.path.pop()

    def ask_table(self, table: dict[str, Check], value: Fields) -> None:
        """Has the checks of a table look at the fields of a block."""
        self.path.append("")
        for field, one in value.items():
            if one is not None and (check := table.get(field)) is not None:
                self.path[-1] = field
                check(one, self)
        self.path.pop()


def choice(*allowed: str) -> Check:
    """A text that is one of some; an empty one counts as absent, as in all checks of single texts."""

    def check(value: Any, found: Mistakes) -> None:
        if value and value not in allowed:
            wanted = f"{', '.join(allowed[:-1])} or {allowed[-1]}" if len(allowed) > 1 else allowed[0]
            found.add(f'must be {wanted}, got "{quote_once(value)}"')

    return check


def text(fits: Callable[[str], object], wanted: str) -> Check:
    """A text in a form. The first short ones that fit are remembered: the same names come again and again."""
    known: set[str] = set()

    def check(value: Any, found: Mistakes) -> None:
        if value and value not in known:
            if not fits(value):
                found.add(f'{wanted}, got "{quote_once(value)}"')
            elif len(value) <= _MAX_KNOWN_CHARACTERS and len(known) < _MAX_KNOWN_TEXTS:
                known.add(value)

    return check


def number(low: int, high: int | None = None) -> Check:
    """A number in a range."""
    wanted = f"from {low} to {high}" if high is not None else f"{low} or more"

    def check(value: Any, found: Mistakes) -> None:
        if value < low or (high is not None and value > high):
            found.add(f"must be {wanted}, got {value}")

    return check


def block(table: dict[str, Check], *required: str) -> Check:
    """A block whose fields are checked, and of which some may not be empty."""

    def check(value: Any, found: Mistakes) -> None:
        found.ask_table(table, value)
        for field in required:
            if not value.get(field):
                found.add("must not be empty", field)

    return check


def each(of_item: Check) -> Check:
    """A list whose items are checked."""

    def check(value: Any, found: Mistakes) -> None:
        found.ask_each(of_item, value)

    return check


def every(*checks: Check) -> Check:
    """A value that several checks look at."""

    def check(value: Any, found: Mistakes) -> None:
        for one in checks:
            one(value, found)

    return check


def given(check_given: Check) -> Check:
    """A text that may be absent, but not empty."""

    def check(value: Any, found: Mistakes) -> None:
        if value == "":
            found.add("must not be empty")
        else:
            check_given(value, found)

    return check


def absent(where: str) -> Check:
    """A value that may only be empty."""

    def check(value: Any, found: Mistakes) -> None:
        if value:
            found.add(f"must be absent {where}")

    return check


def one_of(*fields: str) -> Check:
    """A block with exactly one of some fields."""

    def check(value: Any, found: Mistakes) -> None:
        there = [field for field in fields if value.get(field) is not None]
        if len(there) != 1:
            found.add(f"must have one of {', '.join(fields)}, got {' and '.join(there) or 'none'}")

    return check


def _is_address(value: str) -> bool:
    try:
        ipaddress.ip_address(value)
    except ValueError:
        return False
    return "%" not in value


_LABEL_VALUES: Final = each(text(_LABEL_VALUE.fullmatch, "must be the value of a label"))


def _check_labels(value: Any, found: Mistakes) -> None:
    for key, label in value.items():
        if not is_qualified(key):
            found.ask(QUALIFIED, key, Key(key))
        if label and not _LABEL_VALUE.fullmatch(label):
            found.add(f'must be the value of a label, got "{quote_once(label)}"', Key(key))


def _requirement(*more: str) -> Check:
    """A requirement of a selector, whose operators are the usual ones and more."""
    keyed, known = block({"key": QUALIFIED}, "key", "operator"), choice(*_OPERATORS, *more)

    def check(value: Any, found: Mistakes) -> None:
        operator = value.get("operator") or ""
        values: list[str] = value.get("values") or []
        keyed(value, found)
        found.ask(known, operator, "operator")
        if operator in ("In", "NotIn") and not values:
            found.add(f"must not be empty beside {operator}", "values")
        elif operator in ("Exists", "DoesNotExist") and values:
            found.add(f"must be absent beside {operator}", "values")
        elif operator in ("Gt", "Lt") and len(values) != 1:
            found.add(f"must be one value beside {operator}", "values")
        if operator in ("In", "NotIn"):
            found.ask(_LABEL_VALUES, values, "values")

    return check


LABEL: Final = text(is_label, "must have at most 63 lower-case letters, digits and inner dashes")
SUBDOMAIN: Final = text(is_subdomain, "must be lower-case letters, digits, dots and inner dashes")
ADDRESS: Final = text(_is_address, "must be an IP address")
QUALIFIED: Final = text(
    is_qualified, "must be the key of a label: letters, digits, inner dashes, dots and underscores, with or without a domain"
)
LABELS: Final[Check] = _check_labels
SELECTOR: Final = block({"matchLabels": LABELS, "matchExpressions": each(_requirement())})
NODE_REQUIREMENTS: Final = each(_requirement("Gt", "Lt"))
