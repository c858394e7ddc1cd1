"""Builds checks of blocks from tables of their fields; a check adds what an API server refuses, by its path, to a list."""

import ipaddress
import re
from collections.abc import Callable, Mapping
from typing import Any, Final, TypeAlias

from ..api.paths import Key, Path
from ..api.walk.metadata import is_qualified, is_subdomain
from .patterns import is_label
from .review import Fields
from .words import quote_once

Mistakes: TypeAlias = list[tuple[Path, str]]  # no generators: nearly every template is looked at in vain
Check: TypeAlias = Callable[[Any, Path, Mistakes], None]

_LABEL_VALUE: Final = re.compile(r"([A-Za-z0-9]([-A-Za-z0-9_.]{0,61}[A-Za-z0-9])?)?")
_SUBDOMAIN_WANTED: Final = "must be lower-case letters, digits, dots and inner dashes"
_OPERATORS: Final = ("In", "NotIn", "Exists", "DoesNotExist")


def choice(*allowed: str) -> Check:
    """A text that is one of some; an empty one counts as absent, as in all checks of single texts."""

    def check(value: Any, path: Path, found: Mistakes) -> None:
        if value and value not in allowed:
            wanted = f"{', '.join(allowed[:-1])} or {allowed[-1]}" if len(allowed) > 1 else allowed[0]
            found.append((path, f'must be {wanted}, got "{quote_once(value)}"'))

    return check


def text(fits: Callable[[str], object], wanted: str) -> Check:
    """A text in a form."""

    def check(value: Any, path: Path, found: Mistakes) -> None:
        if value and not fits(value):
            found.append((path, f'{wanted}, got "{quote_once(value)}"'))

    return check


def number(low: int, high: int | None = None) -> Check:
    """A number in a range."""
    wanted = f"from {low} to {high}" if high is not None else f"{low} or more"

    def check(value: Any, path: Path, found: Mistakes) -> None:
        if value is not None and (value < low or (high is not None and value > high)):
            found.append((path, f"must be {wanted}, got {value}"))

    return check


def block(table: Mapping[str, Check], *required: str) -> Check:
    """A block whose fields are checked, and of which some may not be empty."""

    def check(value: Any, path: Path, found: Mistakes) -> None:
        for field, one in (value or {}).items():
            if one is not None and (of_field := table.get(field)) is not None:
                of_field(one, (*path, field), found)
        for field in required if value is not None else ():
            if not value.get(field):
                found.append(((*path, field), "must not be empty"))

    return check


def each(of_item: Check) -> Check:
    """A list whose items are checked."""

    def check(value: Any, path: Path, found: Mistakes) -> None:
        for index, item in enumerate(value or ()):
            if item is not None:
                of_item(item, (*path, index), found)

    return check


def every(*checks: Check) -> Check:
    """A value that several checks look at."""

    def check(value: Any, path: Path, found: Mistakes) -> None:
        for one in checks:
            one(value, path, found)

    return check


def given(check_given: Check) -> Check:
    """A text that may be absent, but not empty."""

    def check(value: Any, path: Path, found: Mistakes) -> None:
        if value == "":
            found.append((path, "must not be empty"))
        else:
            check_given(value, path, found)

    return check


def absent(where: str) -> Check:
    """A value that may only be empty."""

    def check(value: Any, path: Path, found: Mistakes) -> None:
        if value:
            found.append((path, f"must be absent {where}"))

    return check


def check_one(value: Fields, fields: tuple[str, ...], path: Path, found: Mistakes) -> None:
    """Reports a block that doesn't have exactly one of some fields."""
    there = [field for field in fields if value.get(field) is not None]
    if not there:
        found.append((path, f"must have one of {', '.join(fields)}, got none"))
    elif len(there) > 1:
        found.append((path, f"must have one of {', '.join(fields)}, got {' and '.join(there)}"))


def _is_address(value: str) -> bool:
    try:
        ipaddress.ip_address(value)
    except ValueError:
        return False
    return "%" not in value


_LABEL_VALUES: Final = each(text(_LABEL_VALUE.fullmatch, "must be the value of a label"))


def _check_labels(value: Any, path: Path, found: Mistakes) -> None:
    for key, label in (value or {}).items():
        QUALIFIED(key, (*path, Key(key)), found)
        if label and not _LABEL_VALUE.fullmatch(label):
            found.append(((*path, Key(key)), f'must be the value of a label, got "{quote_once(label)}"'))


def _requirement(*more: str) -> Check:
    """A requirement of a selector, whose operators are the usual ones and more."""
    known = choice(*_OPERATORS, *more)

    def check(value: Any, path: Path, found: Mistakes) -> None:
        operator = value.get("operator") or ""
        values: list[str] = value.get("values") or []
        block({"key": QUALIFIED}, "key", "operator")(value, path, found)
        known(operator, (*path, "operator"), found)
        if operator in ("In", "NotIn") and not values:
            found.append(((*path, "values"), f"must not be empty beside {operator}"))
        elif operator in ("Exists", "DoesNotExist") and values:
            found.append(((*path, "values"), f"must be absent beside {operator}"))
        elif operator in ("Gt", "Lt") and len(values) != 1:
            found.append(((*path, "values"), f"must be one value beside {operator}"))
        if operator in ("In", "NotIn"):
            _LABEL_VALUES(values, (*path, "values"), found)

    return check


LABEL: Final = text(is_label, "must have at most 63 lower-case letters, digits and inner dashes")
SUBDOMAIN: Final = text(is_subdomain, _SUBDOMAIN_WANTED)
ADDRESS: Final = text(_is_address, "must be an IP address")
QUALIFIED: Final = text(
    is_qualified,
    "must be the key of a label: letters, digits, inner dashes, dots and underscores, with or without a domain",
)
LABELS: Final[Check] = _check_labels
SELECTOR: Final = block({"matchLabels": LABELS, "matchExpressions": each(_requirement())})
NODE_REQUIREMENTS: Final = each(_requirement("Gt", "Lt"))
