"""JSON types in metadata, of an object and of objects inside it: a server decodes all of it before it looks at anything else.

What the values may be is `metadata.py`'s. `api.decode` reads of the root's metadata what rules read; this is the API server's view, and
a wrong type here is answered as 400.
"""

from collections.abc import Iterator
from typing import Any, Final, TypeAlias

from ..paths import Key, Path
from ..scalars import SCALARS, json_type
from ..schema import Node, resolve
from . import bearing
from .bearing import is_relevant
from .errors import FieldError, Reason, field_error

# A scalar form, members by name, `[one]` for a list, `{"*": one}` for a map.
Shape: TypeAlias = "str | dict[str, Shape] | list[Shape]"
_TEXTS: Final[Shape] = {"*": "string"}
_OWNER: Final[Shape] = {
    **dict.fromkeys(("apiVersion", "kind", "name", "uid"), "string"),
    **dict.fromkeys(("controller", "blockOwnerDeletion"), "boolean"),
}
_MANAGED: Final[Shape] = {
    **dict.fromkeys(("manager", "operation", "apiVersion", "fieldsType", "subresource"), "string"),
    "time": "time",
    "fieldsV1": "any",
}
METADATA: Final[Shape] = {
    **dict.fromkeys(("name", "generateName", "namespace", "selfLink", "uid", "resourceVersion"), "string"),
    **dict.fromkeys(("generation", "deletionGracePeriodSeconds"), "int64"),
    **dict.fromkeys(("creationTimestamp", "deletionTimestamp"), "time"),
    "labels": _TEXTS,
    "annotations": _TEXTS,
    "finalizers": ["string"],
    "ownerReferences": [_OWNER],
    "managedFields": [_MANAGED],
}

EMBEDDED: Final = "x-kubernetes-embedded-resource"


def metadata_type_errors(obj: dict[str, Any], schema: Node) -> Iterator[FieldError]:
    """Yields each place in metadata, at the root and of embedded objects, that holds another JSON type than the field has."""
    places = _found((), obj, resolve(schema), whole=True) if embeds(schema) else ((("metadata",), obj.get("metadata")),)
    for path, metadata in places:
        yield from _wrong(path, metadata, METADATA)


def _found(path: Path, value: Any, node: Node, *, whole: bool) -> Iterator[tuple[Path, Any]]:
    """Every metadata of an object, with its path; parts whose schema embeds no object are not entered."""
    if isinstance(value, dict):
        if whole and "metadata" in value:
            yield (*path, "metadata"), value["metadata"]
        properties: dict[str, Node] = node.get("properties") or {}
        extra = node.get("additionalProperties")
        for name, item in value.items():
            child = properties.get(name) or (extra if isinstance(extra, dict) else None)
            if child is not None and embeds(child):
                child = resolve(child)
                yield from _found((*path, name if name in properties else Key(name)), item, child, whole=EMBEDDED in child)
    elif isinstance(value, list) and "items" in node and embeds(node["items"]):
        items = resolve(node["items"])
        for index, item in enumerate(value):
            yield from _found((*path, index), item, items, whole=EMBEDDED in items)


def embeds(node: Node) -> bool:
    """Whether a schema is that of an embedded object, or contains one."""
    return is_relevant(node, bearing.EMBEDDED)


def _wrong(path: Path, value: Any, shape: Shape) -> Iterator[FieldError]:
    """The errors at one path and below; null means absent."""
    if value is None:
        return
    if isinstance(shape, str):
        if not SCALARS[shape].check(value):
            yield _error(path, SCALARS[shape].want, value)
    elif isinstance(shape, list):
        if not isinstance(value, list):
            yield _error(path, "a list", value)
            return
        for index, item in enumerate(value):
            yield from _wrong((*path, index), item, shape[0])
    elif not isinstance(value, dict):
        yield _error(path, "an object", value)
    else:
        for name, item in value.items():
            member = shape.get(name) or shape.get("*")
            if member is not None:
                yield from _wrong((*path, Key(name) if "*" in shape else name), item, member)


def _error(path: Path, want: str, value: Any) -> FieldError:
    return field_error(path, Reason.TYPE_INVALID, f"must be {want}, got {json_type(value)}")
