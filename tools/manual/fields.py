"""Corresponding fields of the two versions, from the lenses, as tables of docs/fields.md."""

from collections.abc import Iterator

from dynamo_webhooks.api.schema import SINCE, resolve, whole_schema
from dynamo_webhooks.conversion.field_map import field_rows
from dynamo_webhooks.conversion.kind import LEFT, RIGHT, Kind
from dynamo_webhooks.conversion.kinds import KINDS
from tools.manual.table import table


def fields() -> str:
    """A section for each converting kind."""
    return "\n\n".join(f"## {kind.name}\n\n{table(f'{LEFT} | {RIGHT} | how', _rows(kind))}" for kind in KINDS.values())


def _rows(kind: Kind) -> Iterator[tuple[str, ...]]:
    for left, right, rule in field_rows(kind):
        line = _since(kind.name, left)
        yield _code(left), _code(right), rule.replace("|", "\\|") + (f"; since line {line}" if line else "")


def _since(kind: str, path: str) -> str:
    """The first line that has a field of v1alpha1; empty where all have it."""
    node = whole_schema(kind, LEFT)
    for step in path.split(", ", maxsplit=1)[0].replace("{}", ".*").replace("[]", ".*").split("."):
        node = resolve(node)
        below = node.get("items") or node.get("additionalProperties") if step == "*" else node.get("properties", {}).get(step)
        if not isinstance(below, dict):
            return ""
        if SINCE in below:
            return str(below[SINCE])
        node = below
    return ""


def _code(name: str) -> str:
    return f"`{name}`" if name else ""
