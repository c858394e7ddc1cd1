"""Writes docs/fields.md: corresponding fields of the two versions, from the lenses."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from dynamo_webhooks.api.schema import SINCE, resolve, whole_schema
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
        "This page lists corresponding fields of v1alpha1 and v1beta1. `dynamo-webhooks convert --fields KIND` prints one kind. Fields",
        "that only one version has are saved in an annotation and restored.",
    ]
    return "\n".join([*lines, *(line for kind in KINDS.values() for line in _section(kind))]) + "\n"


def _section(kind: Kind) -> Iterator[str]:
    yield from ("", f"## {kind.name}", "", f"| {LEFT} | {RIGHT} | how |", "| --- | --- | --- |")
    for left, right, rule in rows(kind):
        since = "; only line 1.5" if _is_later(kind.name, left) else ""
        yield f"| {_code(left)} | {_code(right)} | {rule.replace('|', chr(92) + '|')}{since} |"


def _is_later(kind: str, path: str) -> bool:
    """Whether only line 1.5 has a field of v1alpha1."""
    node = whole_schema(kind, LEFT)
    for step in path.split(", ", maxsplit=1)[0].replace("{}", ".*").replace("[]", ".*").split("."):
        node = resolve(node)
        below = node.get("items") or node.get("additionalProperties") if step == "*" else node.get("properties", {}).get(step)
        if not isinstance(below, dict):
            return False
        if SINCE in below:
            return True
        node = below
    return False


def _code(name: str) -> str:
    return f"`{name}`" if name else ""
