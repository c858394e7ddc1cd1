"""Reads the content of containers and pod specs leniently, and distinguishes zero values from set ones. Nothing is converted.

A member whose Go type is a pointer is content if it is present; any other only if it isn't zero. Values of a wrong type are absent: the
engine saves them.
"""

from typing import Any, Final

from ..lens.protocol import Fields
from ..lens.structs import object_items, object_member

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
    has_content = False
    out: Fields = {}
    for name, value in extra.items():
        if value is None or name in ("mainContainer", "containers"):
            continue
        out[name] = value
        has_content = has_content or bool(value) or name in _POD_POINTERS
    if not has_content:
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


def find_index(containers: list[Fields], name: str) -> int:
    """The index of the first container of a name, or -1."""
    for index, container in enumerate(containers):
        if container.get("name") == name:
            return index
    return -1


def container_names(containers: list[Fields]) -> list[str | None]:
    """The containers' names, in order."""
    return [None if (name := container.get("name")) is None else text(name) for container in containers]


def text(value: Any) -> str:
    """A name or a path as a key, empty if absent; a value of a wrong type as Python prints it."""
    return value if type(value) is str else repr(value) if value else ""


def merge_env(flat: list[Fields], over: list[Fields]) -> list[Fields]:
    """Flat entries in order; each overlay entry replaces the last one of its name, or is appended."""
    if not over:
        return flat
    if not flat:  # a shortcut; without repeated names it is the overlay's list
        last = {name if type(name := entry.get("name")) is str else text(name): entry for entry in over}
        return over if len(last) == len(over) else list(last.values())
    out = list(flat)
    place = {text(entry.get("name")): index for index, entry in enumerate(out)}
    for entry in over:
        name = text(entry.get("name"))
        index = place.get(name)
        if index is None:
            place[name] = len(out)
            out.append(entry)
        else:
            out[index] = entry
    return out


def merge_override(base: Any, over: Any) -> Any:
    """An object overridden by another: zero values don't override, a named port hides a number."""
    if type(base) is not dict or type(over) is not dict:
        return base if over is None else over
    out = {name: value for name, value in base.items() if value is not None}
    for name, value in over.items():
        mine = out.get(name)
        if value is None or (mine is not None and _yields(name, mine, value)):
            continue
        out[name] = merge_override(mine, value) if type(mine) is dict and type(value) is dict else value
    return out


def _yields(name: str, mine: Any, value: Any) -> bool:
    """Whether the overlay's value doesn't override the one below."""
    return (not value and type(value) is not dict) or (name == "port" and type(mine) is str and type(value) is int)


def secret_source(secret: Any) -> list[Fields]:
    """The `envFrom` of a flat secret name."""
    return [{"secretRef": {"name": secret}}] if type(secret) is str and secret else []


def read_plain_secret(sources: list[Fields]) -> str | None:
    """The secret's name if the sources are one plain reference to it."""
    if len(sources) != 1 or len(sources[0]) != 1:
        return None
    reference = sources[0].get("secretRef")
    if type(reference) is not dict or len(reference) != 1:
        return None
    name = reference.get("name")
    return name if type(name) is str and name else None


def read_secret(sources: list[Fields]) -> str:
    """The secret of a single source, optional or not; else empty."""
    if len(sources) != 1 or sources[0].get("configMapRef") is not None or sources[0].get("prefix"):
        return ""
    name = object_member(sources[0], "secretRef").get("name")
    return name if type(name) is str else ""
