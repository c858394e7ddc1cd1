"""Fields of a schema in the sentences of `check`: where a path leads, and which fields are beside it."""

from ...api.line import OLDEST, Line
from ...api.paths import Path
from ...api.schema import Node, child_node, find_node, load_schema, resolve


def list_known_fields(schema: Node, path: Path) -> dict[str, object]:
    """The siblings of a field, by name."""
    return dict((find_node(schema, path[:-1]) or {}).get("properties") or {})


def find_first_line(kind: str, version: str, path: Path) -> Line:
    """The first line of the operator whose schema has a place; the oldest where none has it."""
    return next((line for line in Line if find_node(load_schema(kind, version, line), path) is not None), OLDEST)


def format_field(schema: Node, path: Path) -> str:
    """The field at a place as `explain` is asked for it, `spec.services.*.replicas`; empty where the schema has none."""
    node: Node | None = resolve(schema)
    steps = []
    for step in path:
        steps.append(str(step) if step in ((node or {}).get("properties") or {}) else "*")
        node = child_node(node, step)
    return ".".join(steps) if node is not None else ""
