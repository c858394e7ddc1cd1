"""Metadata of objects, at the root and embedded: names, labels, annotations, finalizers and owners, as the generic API server checks them.

Wrong JSON types in metadata are a decoding error on a server (`api.decode`), so they are passed over here.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any, Final

from api.schema import Node, resolve
from api.walk.errors import FieldError, Reason, at

if TYPE_CHECKING:
    from collections.abc import Iterator

    from api.paths import Path

MOST_ANNOTATION_BYTES: Final = 256 * 1024
_LABEL: Final = re.compile(r"[a-z0-9]([-a-z0-9]*[a-z0-9])?")
_SUBDOMAIN: Final = re.compile(r"[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*")
_NAME_PART: Final = re.compile(r"([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]")
_KIND: Final = re.compile(r"[a-z]([-a-z0-9]*[a-z0-9])?")
_ORPHAN, _FOREGROUND = "orphan", "foregroundDeletion"


def metadata_errors(obj: dict[str, Any]) -> Iterator[FieldError]:
    """Yields what is wrong with the metadata of a namespaced object."""
    metadata = obj.get("metadata")
    yield from _check(("metadata",), metadata if isinstance(metadata, dict) else {}, subdomain=True)


def embedded_errors(obj: dict[str, Any], schema: Node) -> Iterator[FieldError]:
    """Yields what is wrong with objects inside the object: they need apiVersion and kind, and sound metadata if any."""
    return _find_embedded((), obj, resolve(schema))


def _find_embedded(path: Path, value: Any, node: Node) -> Iterator[FieldError]:
    if isinstance(value, dict):
        if node.get("x-kubernetes-embedded-resource"):
            yield from _embedded(path, value)
        properties: dict[str, Node] = node.get("properties") or {}
        extra = node.get("additionalProperties")
        for name, item in value.items():
            child = properties.get(name) or (extra if isinstance(extra, dict) else None)
            if child is not None and isinstance(item, (dict, list)):
                yield from _find_embedded((*path, name), item, resolve(child))
    elif isinstance(value, list) and "items" in node:
        items = resolve(node["items"])
        for index, item in enumerate(value):
            if isinstance(item, (dict, list)):
                yield from _find_embedded((*path, index), item, items)


def _embedded(path: Path, value: dict[str, Any]) -> Iterator[FieldError]:
    for name in ("apiVersion", "kind"):
        if name not in value:
            yield at((*path, name), Reason.REQUIRED, "Required value: must not be empty")
        elif not isinstance(value[name], str):
            yield at((*path, name), Reason.INVALID, "Invalid value: must be a string")
    version, kind, metadata = value.get("apiVersion"), value.get("kind"), value.get("metadata")
    if isinstance(version, str) and version.count("/") > 1:
        yield at((*path, "apiVersion"), Reason.INVALID, "Invalid value: must be a group and a version with one slash between them")
    if isinstance(kind, str) and (len(kind) > 63 or _KIND.fullmatch(kind.lower()) is None):
        yield at((*path, "kind"), Reason.INVALID, f"Invalid value: {_text('DNS-1035 label')}")
    if isinstance(metadata, dict):
        named = metadata if metadata.get("name") else {**metadata, "name": "any"}
        yield from _check((*path, "metadata"), named, subdomain=False)
    elif "metadata" in value:
        yield at((*path, "metadata"), Reason.INVALID, "Invalid value: must be an object")


def _check(path: Path, metadata: dict[str, Any], *, subdomain: bool) -> Iterator[FieldError]:
    """Checks one metadata object; the name of an object inside another need only be fit for a URL."""
    name, generated, namespace = (metadata.get(key) for key in ("name", "generateName", "namespace"))
    if not name and not generated:
        yield at((*path, "name"), Reason.REQUIRED, "Required value: name or generateName is required")
    for field, text in (("name", name), ("generateName", generated)):
        if isinstance(text, str) and text:
            yield from _name_errors((*path, field), text, subdomain=subdomain, prefix=field == "generateName")
    if isinstance(namespace, str) and namespace and (len(namespace) > 63 or _LABEL.fullmatch(namespace) is None):
        yield at((*path, "namespace"), Reason.INVALID, f"Invalid value: {_text('RFC 1123 label')}")
    generation = metadata.get("generation")
    if isinstance(generation, int) and generation < 0:
        yield at((*path, "generation"), Reason.INVALID, "Invalid value: must be greater than or equal to 0")
    yield from _label_errors((*path, "labels"), metadata.get("labels"))
    yield from _annotation_errors((*path, "annotations"), metadata.get("annotations"))
    yield from _owner_errors((*path, "ownerReferences"), metadata.get("ownerReferences"))
    yield from _finalizer_errors((*path, "finalizers"), metadata.get("finalizers"))


def _name_errors(path: Path, name: str, *, subdomain: bool, prefix: bool) -> Iterator[FieldError]:
    """A name to be generated is a prefix, so it may end as no name may."""
    if not subdomain:
        if name in {".", ".."} or "/" in name or "%" in name:
            yield at(path, Reason.INVALID, "Invalid value: may not be '.' or '..' or contain '/' or '%'")
        return
    whole = name[:-1] + "a" if prefix and name.endswith("-") else name
    if len(name) > 253:
        yield at(path, Reason.INVALID, "Invalid value: must be no more than 253 bytes")
    if _SUBDOMAIN.fullmatch(whole) is None:
        yield at(path, Reason.INVALID, f"Invalid value: {_text('RFC 1123 subdomain')}")


def _label_errors(path: Path, labels: Any) -> Iterator[FieldError]:
    for key, value in labels.items() if isinstance(labels, dict) else ():
        if (wrong := qualified_name_error(key)) is not None:
            yield at(path, Reason.INVALID, f"Invalid value: {wrong}")
        if isinstance(value, str) and value and (len(value) > 63 or _NAME_PART.fullmatch(value) is None):
            yield at(path, Reason.INVALID, f"Invalid value: a valid label must be empty or {_text('name part')[2:]}")


def _annotation_errors(path: Path, annotations: Any) -> Iterator[FieldError]:
    if not isinstance(annotations, dict):
        return
    for key in annotations:
        if (wrong := qualified_name_error(key.lower())) is not None:
            yield at(path, Reason.INVALID, f"Invalid value: {wrong}")
    size = sum(len(text.encode(errors="replace")) for pair in annotations.items() for text in pair if isinstance(text, str))
    if size > MOST_ANNOTATION_BYTES:
        yield at(path, Reason.TOO_LONG, f"Too long: may not be more than {MOST_ANNOTATION_BYTES} bytes")


def _owner_errors(path: Path, owners: Any) -> Iterator[FieldError]:
    controllers = 0
    for index, owner in enumerate(owners if isinstance(owners, list) else ()):
        if not isinstance(owner, dict):
            continue
        for field in ("apiVersion", "kind", "name", "uid"):
            if not owner.get(field):
                yield at((*path, index, field), Reason.INVALID, f"Invalid value: {field} must not be empty")
        controllers += owner.get("controller") is True
    if controllers > 1:
        yield at(path, Reason.INVALID, "Invalid value: only one reference can have controller set to true")


def _finalizer_errors(path: Path, finalizers: Any) -> Iterator[FieldError]:
    names = [name for name in finalizers if isinstance(name, str)] if isinstance(finalizers, list) else []
    for name in names:
        if (wrong := qualified_name_error(name)) is not None:
            yield at(path, Reason.INVALID, f"Invalid value: {wrong}")
    if _ORPHAN in names and _FOREGROUND in names:
        yield at(path, Reason.INVALID, f"Invalid value: {_ORPHAN} and {_FOREGROUND} cannot be both set")


def qualified_name_error(name: str) -> str | None:
    """Says what is wrong with a qualified name (R-QNAME), or nothing."""
    prefix, slash, rest = name.rpartition("/")
    if slash and (not prefix or "/" in prefix or len(prefix) > 253 or _SUBDOMAIN.fullmatch(prefix) is None):
        return f"prefix part {_text('RFC 1123 subdomain')}"
    if not rest:
        return "name part must be non-empty"
    if len(rest.encode(errors="replace")) > 63:
        return "name part must be no more than 63 bytes"
    return None if _NAME_PART.fullmatch(rest) else f"name part {_text('name part')}"


def _text(what: str) -> str:
    """Says what a kind of name must look like."""
    if what == "name part":
        return "must consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric character"
    return f"must be a {what}: lower case alphanumeric characters or '-', starting and ending with an alphanumeric character"
