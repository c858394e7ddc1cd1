"""Reads the content of containers and pod specs leniently, and distinguishes zero values from set ones. Nothing is converted.

A member whose Go type is a pointer is content if it is present; any other only if it isn't zero. Values of a wrong type are absent: the
engine saves them.
"""

from __future__ import annotations

from typing import Any, Final

from ..lens.protocol import Fields
from ..reading import object_items

MAIN: Final = "main"
SIDECAR: Final = "sidecar-frontend"
_CONTAINER_POINTERS: Final = frozenset({"restartPolicy", "livenessProbe", "readinessProbe", "startupProbe", "lifecycle", "securityContext"})
_POD_POINTERS: Final = frozenset(
    {
        "terminationGracePeriodSeconds",
        "activeDeadlineSeconds",
        "automountServiceAccountToken",
        "shareProcessNamespace",
        "securityContext",
        "affinity",
        "priority",
        "dnsConfig",
        "runtimeClassName",
        "enableServiceLinks",
        "preemptionPolicy",
        "setHostnameAsFQDN",
        "os",
        "hostUsers",
        "resources",
        "hostnameOverride",
    }
)
_METADATA_POINTERS: Final = frozenset({"deletionTimestamp", "deletionGracePeriodSeconds"})


def content(container: Fields) -> Fields:
    """A container's content without its name; a container without content is bare."""
    out = {name: value for name, value in container.items() if value or (value is not None and name in _CONTAINER_POINTERS)}
    out.pop("name", None)
    if "resources" in out and (type(resources := out["resources"]) is not dict or not any(resources.values())):
        del out["resources"]
    return out


def pod_content(extra: Fields) -> Fields:
    """The members of a pod spec without `mainContainer`; containers if there are any, the others unless all are zero."""
    said = False
    out: Fields = {}
    for name, value in extra.items():
        if value is None or name in ("mainContainer", "containers"):
            continue
        out[name] = value
        said = said or bool(value) or name in _POD_POINTERS
    if not said:
        out = {}
    if "containers" in extra and object_items(extra, "containers"):  # nothing but nulls asks for nothing, as an empty list
        out["containers"] = extra["containers"]
    return out


def metadata_content(metadata: Fields) -> Fields:
    """Template metadata without labels and annotations."""
    return {
        name: value
        for name, value in metadata.items()
        if name not in ("labels", "annotations") and value is not None and (value or name in _METADATA_POINTERS)
    }


def find_container(containers: list[Fields], name: str) -> Fields | None:
    """The first container of a name."""
    for container in containers:
        if container.get("name") == name:
            return container
    return None


def container_names(containers: list[Fields]) -> list[str | None]:
    """The containers' names, in order."""
    return [None if (name := container.get("name")) is None else text(name) for container in containers]


def text(value: Any) -> str:
    """A name or a path as a key, empty if absent; a value of a wrong type as Python prints it."""
    return value if type(value) is str else repr(value) if value else ""
