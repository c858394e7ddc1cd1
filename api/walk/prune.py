"""Pruning: removes what a structural schema doesn't know, as the API server does before it stores an object. In place."""

from collections.abc import Iterator
from typing import Any, Final

from ..paths import Key, Path
from ..schema import PRESERVE, Node, resolve
from .metadata import METADATA

# Fields of an object's metadata; the API server drops all others, wherever an object is.
METADATA_FIELDS: Final = frozenset(METADATA)
TEXTS: Final = ("labels", "annotations")
_OF_AN_OBJECT: Final = ("apiVersion", "kind", "metadata")


def prune(obj: dict[str, Any], schema: Node) -> tuple[Path, ...]:
    """Removes unknown fields from the object itself and returns their paths, in the order in which they stood.

    The paths are what `check` and a server's `fieldValidation: Strict` complain about. Values below a removed field have no
    path of their own.
    """
    pruned: list[Path] = []
    _prune_object(pruned, (), obj, resolve(schema), whole=True)
    return tuple(pruned)


def _prune(pruned: list[Path], path: Path, value: Any, node: Node | None) -> None:
    """Prune one value and add the fields removed; recursion is only as deep as the schema."""
    if isinstance(value, dict):
        _prune_object(pruned, path, value, node, whole=bool(node and node.get("x-kubernetes-embedded-resource")))
    elif isinstance(value, list):
        items = node.get("items") if node else None
        if items is None and node and node.get(PRESERVE):
            return
        if items is None:
            pruned += _empty_objects(path, value)
            return
        items = resolve(items)
        for index, item in enumerate(value):
            if isinstance(item, (dict, list)):
                _prune(pruned, (*path, index), item, items)


def _prune_object(pruned: list[Path], path: Path, value: dict[str, Any], node: Node | None, *, whole: bool) -> None:
    """Prune an object; a whole one, at the root or embedded, keeps apiVersion, kind and metadata whatever its schema."""
    node = node or {}
    properties: dict[str, Node] = node.get("properties") or {}
    extra = node.get("additionalProperties")
    keep = bool(node.get(PRESERVE))
    for name in list(value):
        item = value[name]
        if whole and name in _OF_AN_OBJECT:
            if name == "metadata" and isinstance(item, dict):
                pruned += _prune_metadata((*path, name), item)
            elif name == "metadata" and item is None:
                value[name] = {}
        elif name in properties:
            if isinstance(item, (dict, list)):
                _prune(pruned, (*path, name), item, resolve(properties[name]))
        elif extra:
            if isinstance(extra, dict) and isinstance(item, (dict, list)):
                _prune(pruned, (*path, Key(name)), item, resolve(extra))
        elif not keep:
            del value[name]
            pruned.append((*path, name))


def _prune_metadata(path: Path, metadata: dict[str, Any]) -> Iterator[Path]:
    """Metadata has one type for all kinds; the API server reads it and writes it back, so empty values vanish, which is no loss."""
    for name in list(metadata):
        item = metadata[name]
        if name not in METADATA_FIELDS:
            del metadata[name]
            yield (*path, name)
        elif not item:
            del metadata[name]
        elif name in TEXTS and isinstance(item, dict):
            metadata[name] = {key: "" if text is None else text for key, text in item.items()}


def _empty_objects(path: Path, value: list[Any]) -> Iterator[Path]:
    """Empties the objects in a list where the schema has none, however deep lists hold lists; so without recursion."""
    todo: list[tuple[Path, list[Any]]] = [(path, value)]
    while todo:
        path, items = todo.pop()
        for index, item in enumerate(items):
            if isinstance(item, list):
                todo.append(((*path, index), item))
            elif isinstance(item, dict):
                names = list(item)
                item.clear()
                yield from ((*path, index, name) for name in names)
