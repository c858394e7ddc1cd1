"""Field paths through the pod template: a `Key` (container name) names a list element, and `settled` makes it an index."""

from typing import Final

from ...api.paths import Key, Path
from ..lens.protocol import Fields, object_items, object_member
from .compose import PROBES
from .content import MAIN, SIDECAR, container_names
from .mounts import flat_list, flat_place, is_compilation_cache, mount_key
from .resources import GPU

_CONTAINERS: Final[Path] = ("podTemplate", "spec", "containers")
_MAIN: Final[Path] = (*_CONTAINERS, Key(MAIN))
_SIDECAR: Final[Path] = (*_CONTAINERS, Key(SIDECAR))
_FLAT_OF: Final = {"cpu": "cpu", "memory": "memory", GPU: "gpu"}


def to_right(path: Path, left: Fields) -> Path:
    """The template's path for one below a component's flat pod fields."""
    head, rest = path[0], path[1:]
    if head == "resources":
        return (*_MAIN, "resources", *_amounts_right(rest, object_member(left, "resources")))
    if head in PROBES:
        return (*_MAIN, *path)
    if head == "envs":
        return (*_MAIN, "env", *rest)
    if head == "envFromSecret":
        return (*_MAIN, "envFrom", 0, "secretRef", "name")
    if head == "volumeMounts":
        return _mount_right(rest, left)
    if head == "extraPodMetadata":
        return ("podTemplate", "metadata", *rest)
    if head == "frontendSidecar":
        return _sidecar_right(rest)
    return _extra_right(rest, left)


def _amounts_right(rest: Path, flat: Fields) -> Path:
    if len(rest) < 2 or rest[0] == "claims":
        return rest
    part, name, below = rest[0], rest[1], rest[2:]
    if name == "custom":
        return (part, *below[:1])
    kind = object_member(flat, str(part)).get("gpuType")
    native = {"gpu": kind or GPU, "gpuType": kind or GPU}.get(str(name), str(name))
    return (part, Key(native))


def _mount_right(rest: Path, left: Fields) -> Path:
    entries = left.get("volumeMounts")  # not searched: an update may have a finding for each entry
    if type(entries) is not list or not rest or type(rest[0]) is not int or not -1 < rest[0] < len(entries):
        return (*_MAIN, "volumeMounts")
    entry = entries[rest[0]]
    if type(entry) is not dict:
        return (*_MAIN, "volumeMounts")
    member = {"name": "name", "mountPoint": "mountPath"}.get(str(rest[1]) if len(rest) > 1 else "")
    if is_compilation_cache(entry):
        named = {"name": "pvcName", "mountPath": "mountPath"}.get(member or "")
        return ("compilationCache", named) if named else ("compilationCache",)
    index = rest[0] - 1 if type(entries[0]) is dict and is_compilation_cache(entries[0]) else rest[0]  # the cache is no mount
    return (*_MAIN, "volumeMounts", index, *((member,) if member else ()))


def _sidecar_right(rest: Path) -> Path:
    if not rest:
        return ("frontendSidecar",)
    if rest[0] == "envFromSecret":
        return (*_SIDECAR, "envFrom", 0, "secretRef", "name")
    return (*_SIDECAR, "env" if rest[0] == "envs" else rest[0], *rest[1:])


def _extra_right(rest: Path, left: Fields) -> Path:
    if rest[:1] == ("mainContainer",):
        return (*_MAIN, *rest[1:])
    if rest[:1] == ("containers",) and len(rest) > 1 and type(rest[1]) is int:
        containers = object_items(object_member(left, "extraPodSpec"), "containers")
        if 0 <= rest[1] < len(containers):
            return (*_CONTAINERS, Key(str(containers[rest[1]].get("name"))), *rest[2:])
    return ("podTemplate", "spec", *rest)


def to_left(path: Path, right: Fields) -> Path | None:
    """The flat fields' path for one below a component's template, cache or sidecar name."""
    head, rest = path[0], path[1:]
    if head == "compilationCache":
        member = {"pvcName": "name", "mountPath": "mountPoint"}.get(str(rest[0]) if rest else "")
        return ("volumeMounts", 0, *((member,) if member else ()))
    if head == "frontendSidecar":
        return None
    if rest[:1] == ("metadata",):
        return ("extraPodMetadata", *rest[1:])
    if rest[:2] != ("spec", "containers"):
        return ("extraPodSpec", *rest[1:])
    containers = object_items(object_member(object_member(right, "podTemplate"), "spec"), "containers")
    if len(rest) < 3:  # a list without the main container is one whose image v1alpha1 lacks
        named = MAIN in container_names(containers)
        return ("extraPodSpec", "containers") if named else ("extraPodSpec", "mainContainer", "image")
    step = rest[2]
    index = step if type(step) is int else container_names(containers).index(step) if step in container_names(containers) else -1
    if index == -1 and step == MAIN:
        return _main_left(rest[3:], right, {})
    if not 0 <= index < len(containers):
        return ("extraPodSpec", "containers")
    if MAIN in container_names(containers) and index == container_names(containers).index(MAIN):
        return _main_left(rest[3:], right, containers[index])
    before = index - (MAIN in container_names(containers)[:index])
    return ("extraPodSpec", "containers", before, *rest[3:])


def _main_left(rest: Path, right: Fields, main: Fields) -> Path:
    if not rest:
        return ("extraPodSpec", "mainContainer")
    if rest[0] == "resources":
        return ("resources", *_amounts_left(rest[1:]))
    if rest[0] in PROBES:
        return rest
    if rest[0] == "env":
        return ("envs", *rest[1:])
    if rest[0] == "volumeMounts":
        return _mount_left(rest[1:], right, object_items(main, "volumeMounts"))
    return ("extraPodSpec", "mainContainer", *rest)


def _amounts_left(rest: Path) -> Path:
    if len(rest) < 2 or rest[0] == "claims":
        return rest
    name = str(rest[1])
    return (rest[0], _FLAT_OF[name]) if name in _FLAT_OF else (rest[0], "custom", Key(name))


def _mount_left(rest: Path, right: Fields, mounts: list[Fields]) -> Path:
    if not rest or type(rest[0]) is not int or not 0 <= rest[0] < len(mounts):
        return ("volumeMounts",)
    cache = right.get("compilationCache")
    places = [flat_place(entry) for entry in flat_list(cache if type(cache) is dict else None, mounts)]
    member = {"name": "name", "mountPath": "mountPoint"}.get(str(rest[1]) if len(rest) > 1 else "")
    return ("volumeMounts", places.index(mount_key(mounts[rest[0]])), *((member,) if member else ()))
