"""The outline of a text: its Dynamo objects, and the components of graphs. Contains no protocol."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

from ....api.paths import Path
from ...objects.manifest import Manifest
from ...yaml.positions import Extent, Position
from .answers import list_objects


class Symbol(NamedTuple):
    """One object or component: where it is written, and where its name is."""

    name: str
    detail: str
    extent: Extent
    position: Position
    parts: list[Symbol]


def find_symbols(name: str, text: str) -> list[Symbol]:
    """The objects of a text, in order; files of others have none."""
    return [
        _symbol(one, (), one.identity.name or one.identity.kind, one.identity.kind, list(_parts(one))) for one in list_objects(name, text)
    ]


def _parts(found: Manifest) -> Iterator[Symbol]:
    spec = found.data.get("spec")
    for field, type_field in (("services", "componentType"), ("components", "type")):
        for step, value in _entries(spec.get(field) if isinstance(spec, dict) else None):
            about = value if isinstance(value, dict) else {}
            named = step if isinstance(step, str) else about.get("name")
            yield _symbol(found, ("spec", field, step), str(named or step), str(about.get(type_field) or ""), [])


def _entries(value: Any) -> Iterator[tuple[str | int, Any]]:
    if isinstance(value, dict):
        yield from value.items()
    elif isinstance(value, list):
        yield from enumerate(value)


def _symbol(found: Manifest, path: Path, name: str, detail: str, parts: list[Symbol]) -> Symbol:
    named = found.document.value_position((*path, "name") if path else ("metadata", "name"))
    return Symbol(name, detail, found.document.extent(path), named, parts)
