"""The names that expressions of policies may use, and their types, as for an API server when a policy is created."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from ...cel.types import DYN, StaticType, read_type

# fields of a structure -> their types; others are structures below it
_KIND: Final = {"group version kind": "string"}
_RESOURCE: Final = {"group version resource": "string"}
_REQUEST: Final = {
    "subResource requestSubResource name namespace operation": "string",
    "dryRun": "bool",
    "options": "dyn",
}
_USER: Final = {"username uid": "string", "groups": "list(string)", "extra": "map(string, list(string))"}
_METADATA: Final = {
    "name generateName namespace UID resourceVersion": "string",
    "labels annotations": "map(string, string)",
    "creationTimestamp deletionTimestamp": "timestamp",
    "deletionGracePeriodSeconds generation": "int",
    "finalizers": "list(string)",
}
_CONDITION: Final = {"status type message reason": "string", "lastTransitionTime": "timestamp"}


def _structure(name: str, fields: Mapping[str, str], **below: StaticType) -> StaticType:
    named = {field: read_type(text) for names, text in fields.items() for field in names.split()}
    return StaticType(f"kubernetes.{name}", (), {**named, **below})


def _request() -> StaticType:
    kind, resource = _structure("GroupVersionKind", _KIND), _structure("GroupVersionResource", _RESOURCE)
    below = {"kind": kind, "requestKind": kind, "resource": resource, "requestResource": resource}
    return _structure("AdmissionRequest", _REQUEST, **below, userInfo=_structure("UserInfo", _USER))


def _namespace() -> StaticType:
    conditions = StaticType("list", (_structure("NamespaceCondition", _CONDITION),))
    return _structure(
        "Namespace",
        {},
        metadata=_structure("NamespaceMetadata", _METADATA),
        spec=_structure("NamespaceSpec", {"finalizers": "list(string)"}),
        status=_structure("NamespaceStatus", {"phase": "string"}, conditions=conditions),
    )


AUTHORIZER: Final = {
    "authorizer": read_type("kubernetes.authorization.Authorizer"),
    "authorizer.requestResource": read_type("kubernetes.authorization.ResourceCheck"),
}
NAMES: Final[dict[str, StaticType]] = {"object": DYN, "oldObject": DYN, "request": _request(), "namespaceObject": _namespace()}
# what expressions of a Check may use besides
CHECK_NAMES: Final = {"pods": read_type("list(dyn)"), "documents": read_type("list(dyn)"), "facts": DYN, "line": read_type("string")}
VARIABLES: Final = "variables"
_PLAIN: Final = frozenset({"bool", "bytes", "double", "int", "null_type", "string", "uint"})


def type_of_variable(static_type: StaticType) -> StaticType:
    """The type of a variable in the expressions below it. As in an API server, only plain types, and lists and maps of them, are kept."""
    if static_type.name in ("list", "map"):
        return StaticType(static_type.name, tuple(map(type_of_variable, static_type.of)))
    return (
        static_type if static_type.name in _PLAIN or static_type.name in ("google.protobuf.Duration", "google.protobuf.Timestamp") else DYN
    )
