"""Writes docs/fields.md: which member of one version is which of the other, from the lenses themselves."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from dynamo_webhooks.cli.convert.fields import rows
from dynamo_webhooks.conversion.kind import LEFT, RIGHT
from dynamo_webhooks.conversion.kinds import KINDS

if TYPE_CHECKING:
    from collections.abc import Iterator

    from dynamo_webhooks.conversion.kind import Kind

HEADER: Final = "<!-- written by `make docs` (tools/pages.py) from the lenses themselves; edit those, not this file -->\n"


def fields_page() -> str:
    """The page of all converting kinds."""
    lines = [
        HEADER,
        "# The same field in both versions",
        "",
        "`dynamo-webhooks convert --fields KIND` prints the table of one kind. Fields that only one version has are saved in an",
        "annotation and restored; nothing is lost in either direction.",
    ]
    return "\n".join([*lines, *(line for kind in KINDS.values() for line in _section(kind))]) + "\n"


def _section(kind: Kind) -> Iterator[str]:
    yield from ("", f"## {kind.name}", "", f"| {LEFT} | {RIGHT} | how |", "| --- | --- | --- |")
    for left, right, rule in rows(kind):
        yield f"| {_code(left)} | {_code(right)} | {rule.replace('|', chr(92) + '|')} |"


def _code(name: str) -> str:
    return f"`{name}`" if name else ""
