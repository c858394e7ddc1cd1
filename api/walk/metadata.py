"""Metadata of objects, at the root and embedded: JSON types, names, labels, annotations, finalizers and owners, as a server checks them.

A server decodes all metadata before it looks at anything else: a wrong type is answered as 400, and passed over by the other checks.
`api.decode` reads of the root's metadata what rules read; this is the API server's view.
"""

import re
from collections.abc import Iterator
from typing import Any, Final, TypeAlias

from ..paths import Key, Path, format_path
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
METADATA: Final[dict[str, Shape]] = {
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
    yield from _wrong(("metadata",), obj.get("metadata"), METADATA)
    for path, embedded in _find_embedded((), obj, resolve(schema)):
        yield from _wrong((*path, "metadata"), embedded.get("metadata"), METADATA)


def _find_embedded(path: Path, value: Any, node: Node) -> Iterator[tuple[Path, dict[str, Any]]]:
    """Every object in an object, with its path; parts whose schema embeds none are not entered."""
    if not is_relevant(node, bearing.EMBEDDED):
        return
    if isinstance(value, dict):
        if node.get(EMBEDDED):
            yield path, value
        properties: dict[str, Node] = node.get("properties") or {}
        extra = node.get("additionalProperties")
        for name, item in value.items():
            child = properties.get(name) or (extra if isinstance(extra, dict) else None)
            if child is not None:
                yield from _find_embedded((*path, name if name in properties else Key(name)), item, resolve(child))
    elif isinstance(value, list) and "items" in node:
        items = resolve(node["items"])
        for index, item in enumerate(value):
            yield from _find_embedded((*path, index), item, items)


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


MAX_ANNOTATION_BYTES: Final = 256 * 1024
_LABEL: Final = re.compile(r"[a-z0-9]([-a-z0-9]*[a-z0-9])?")
_SUBDOMAIN: Final = re.compile(r"[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*")
_NAME_PART: Final = re.compile(r"([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]")
_KIND: Final = re.compile(r"[a-z]([-a-z0-9]*[a-z0-9])?")
_MAX_PREFIX_CHARACTERS: Final = 58  # of a generateName: 63 less the five characters that are added
_ORPHAN, _FOREGROUND = "orphan", "foregroundDeletion"


def is_subdomain(text: str) -> bool:
    """Whether a text may be the name of an object: an RFC 1123 subdomain of at most 253 characters."""
    return len(text) <= 253 and _SUBDOMAIN.fullmatch(text) is not None


def is_qualified(text: str) -> bool:
    """Whether a text may be the key of a label: a name, perhaps behind a domain."""
    return qualified_name_error(text) is None


def metadata_errors(obj: dict[str, Any]) -> Iterator[FieldError]:
    """Yield the errors in the metadata of a namespaced object."""
    metadata = obj.get("metadata")
    yield from _check(("metadata",), metadata if isinstance(metadata, dict) else {}, subdomain=True)


def embedded_errors(obj: dict[str, Any], schema: Node) -> Iterator[FieldError]:
    """Yield the errors of embedded objects: they need apiVersion and kind, and valid metadata if any."""
    for path, embedded in _find_embedded((), obj, resolve(schema)):
        yield from _embedded(path, embedded)


def _embedded(path: Path, value: dict[str, Any]) -> Iterator[FieldError]:
    for name in ("apiVersion", "kind"):
        if name not in value:
            yield field_error((*path, name), Reason.REQUIRED, "Required value")
        elif not isinstance(value[name], str):
            yield field_error((*path, name), Reason.INVALID, "Invalid value: must be a string")
        elif not value[name]:
            yield field_error((*path, name), Reason.INVALID, "Invalid value: must not be empty")
    version, kind, metadata = value.get("apiVersion"), value.get("kind"), value.get("metadata")
    if isinstance(version, str) and version.count("/") > 1:
        yield field_error((*path, "apiVersion"), Reason.INVALID, "Invalid value: must be a group and a version with one slash between them")
    if isinstance(kind, str) and kind and (len(kind) > 63 or _KIND.fullmatch(kind.lower()) is None):
        yield field_error((*path, "kind"), Reason.INVALID, f"Invalid value: {_text('DNS-1035 label')}")
    if isinstance(metadata, dict):
        named = metadata if metadata.get("name") else {**metadata, "name": "any"}
        yield from _check((*path, "metadata"), named, subdomain=False)


def _check(path: Path, metadata: dict[str, Any], *, subdomain: bool) -> Iterator[FieldError]:
    """Checks one metadata object; the name of an object inside another need only be fit for a URL."""
    name, generated, namespace = (metadata.get(key) for key in ("name", "generateName", "namespace"))
    if not name and not generated:
        yield field_error((*path, "name"), Reason.REQUIRED, "Required value: name or generateName is required")
    if isinstance(generated, str) and generated:
        masked = generated[:-2] + "a" if len(generated) > 1 and generated.endswith("-") else generated
        yield from _name_errors((*path, "generateName"), masked, subdomain=subdomain)
        if not name:  # the server adds five characters of its own, and names the field that then is wrong
            for error in _name_errors((*path, "generateName"), generated[:_MAX_PREFIX_CHARACTERS] + "aaaaa", subdomain=subdomain):
                yield error._replace(field=format_path((*path, "name")))
    if isinstance(name, str) and name:
        yield from _name_errors((*path, "name"), name, subdomain=subdomain)
    if isinstance(namespace, str) and namespace and (len(namespace) > 63 or _LABEL.fullmatch(namespace) is None):
        yield field_error((*path, "namespace"), Reason.INVALID, f"Invalid value: {_text('RFC 1123 label')}")
    yield from _label_errors((*path, "labels"), metadata.get("labels"))
    yield from annotation_errors((*path, "annotations"), metadata.get("annotations"))
    yield from _owner_errors((*path, "ownerReferences"), metadata.get("ownerReferences"))
    yield from _finalizer_errors((*path, "finalizers"), metadata.get("finalizers"))


def _name_errors(path: Path, name: str, *, subdomain: bool) -> Iterator[FieldError]:
    if not subdomain:
        if name in {".", ".."} or "/" in name or "%" in name:
            yield field_error(path, Reason.INVALID, "Invalid value: may not be '.' or '..' or contain '/' or '%'")
        return
    if len(name) > 253:
        yield field_error(path, Reason.INVALID, "Invalid value: must be no more than 253 bytes")
    if _SUBDOMAIN.fullmatch(name) is None:
        yield field_error(path, Reason.INVALID, f"Invalid value: {_text('RFC 1123 subdomain')}")


def _label_errors(path: Path, labels: Any) -> Iterator[FieldError]:
    for key, value in labels.items() if isinstance(labels, dict) else ():
        if (wrong := qualified_name_error(key)) is not None:
            yield field_error(path, Reason.INVALID, f"Invalid value: {wrong}")
        if isinstance(value, str) and value and (len(value) > 63 or _NAME_PART.fullmatch(value) is None):
            yield field_error(
                path, Reason.INVALID, f"Invalid value: a label must be empty, or its value {_text('name part')}, of at most 63"
            )


def annotation_errors(path: Path, annotations: Any) -> Iterator[FieldError]:
    """Yields the errors that an API server finds in annotations."""
    if not isinstance(annotations, dict):
        return
    for key in annotations:
        if (wrong := qualified_name_error(key.lower())) is not None:
            yield field_error(path, Reason.INVALID, f"Invalid value: {wrong}")
    size = sum(len(text.encode(errors="replace")) for pair in annotations.items() for text in pair if isinstance(text, str))
    if size > MAX_ANNOTATION_BYTES:
        yield field_error(path, Reason.TOO_LONG, f"Too long: may not be more than {MAX_ANNOTATION_BYTES} bytes")


def _owner_errors(path: Path, owners: Any) -> Iterator[FieldError]:
    """Owners have no index in the printed field, as on a server; of two with one uid it sees only one."""
    controllers = set()
    for index, owner in enumerate(owners if isinstance(owners, list) else ()):
        if not isinstance(owner, dict):
            continue
        for field in ("apiVersion", "kind", "name", "uid"):
            if not owner.get(field) or (field == "apiVersion" and str(owner[field]).count("/") > 1):
                place, printed = (*path, index, field), format_path((*path, field))
                yield FieldError(place, printed, Reason.INVALID, "Invalid value: must not be empty or malformed")
        if owner.get("apiVersion") == "v1" and owner.get("kind") == "Event":
            yield FieldError((*path, index), format_path(path), Reason.INVALID, "Invalid value: an Event is disallowed from being an owner")
        if owner.get("controller") is True:
            controllers.add(str(owner.get("uid")))
    if len(controllers) > 1:
        yield field_error(path, Reason.INVALID, "Invalid value: only one reference can have controller set to true")


def _finalizer_errors(path: Path, finalizers: Any) -> Iterator[FieldError]:
    names = [name for name in finalizers if isinstance(name, str)] if isinstance(finalizers, list) else []
    for name in names:
        if (wrong := qualified_name_error(name)) is not None:
            yield field_error(path, Reason.INVALID, f"Invalid value: {wrong}")
    if _ORPHAN in names and _FOREGROUND in names:
        yield field_error(path, Reason.INVALID, f"Invalid value: {_ORPHAN} and {_FOREGROUND} cannot be both set")


def qualified_name_error(name: str) -> str | None:
    """The error of a qualified name, if any."""
    prefix, slash, rest = name.rpartition("/")
    if slash and not is_subdomain(prefix):
        return f"prefix part {_text('RFC 1123 subdomain')}"
    if not rest:
        return "name part must be non-empty"
    if len(rest.encode(errors="replace")) > 63:
        return "name part must be no more than 63 bytes"
    return None if _NAME_PART.fullmatch(rest) else f"name part {_text('name part')}"


def _text(what: str) -> str:
    """The required form of a kind of name."""
    if what == "name part":
        return "must consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric character"
    return f"must be a {what}: lower case alphanumeric characters or '-', starting and ending with an alphanumeric character"
