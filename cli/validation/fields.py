"""Fields of a schema in the sentences of `check`: where a path leads, and which fields are beside it."""

from ...api.line import OLDEST, Line
from ...api.paths import Path
from ...api.schema import Node, load_schema, resolve


def known_fields(schema: Node, path: Path) -> dict[str, object]:
    """The siblings of a field, by name."""
    return dict((find_node(schema, path[:-1]) or {}).get("properties") or {})


def find_node(schema: Node, path: Path) -> Node | None:
    """The schema of a place; None where it has none."""
    node: Node | None = resolve(schema)
    for step in path:
        node = child_node(node, step)
    return node


def first_line(kind: str, version: str, path: Path) -> Line:
    """The first line of the operator whose schema has a place; the oldest where none has it."""
    return next((line for line in Line if find_node(load_schema(kind, version, line), path) is not None), OLDEST)


def field_of(schema: Node, path: Path) -> str:
    """The field at a place as `explain` is asked for it, `spec.services.*.replicas`; empty where the schema has none."""
    node: Node | None = resolve(schema)
    steps = []
    for step in path:
        steps.append(str(step) if step in ((node or {}).get("properties") or {}) else "*")
        node = child_node(node, step)
    return ".".join(steps) if node is not None else ""


def child_node(node: Node | None, step: str | int) -> Node | None:
    """The schema of a field or key, or of a list's items, whatever the step there; None where it has none."""
    if node is None:
        return None
    found = (node.get("properties") or {}).get(step) or node.get("items") or node.get("additionalProperties")
    return resolve(found) if isinstance(found, dict) else None
