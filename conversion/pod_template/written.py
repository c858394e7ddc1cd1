"""Finds where the author of v1alpha1 wrote a value of a composed container: a flat field, `mainContainer` or the flat sidecar."""

from itertools import islice
from typing import Any, Final

from ...api.paths import MISSING, Key, Path, lookup
from ..lens.protocol import Fields
from ..lens.structs import object_items, object_member
from .compose import PROBES
from .content import MAIN, SIDECAR, find_container
from .mounts import flat_key, flat_list, is_compilation_cache, mount_key
from .resources import GPU, TO_FLAT

_EXTRA: Final = "extraPodSpec"
_MAIN: Final = (_EXTRA, "mainContainer")
_FLAT_MOUNT: Final = {"name": "name", "mountPath": "mountPoint"}
_OF_CACHE: Final = {"pvcName": "name", "mountPath": "mountPoint"}
_OF_SIDECAR: Final = {"image": "image", "args": "args", "env": "envs"}


def find_cache(path: Path, left: Fields) -> Path:
    """The flat mount that is the compilation cache, or its member."""
    entries = _entries(left, "volumeMounts")
    index = next((index for index, entry in enumerate(entries) if type(entry) is dict and is_compilation_cache(entry)), 0)
    return ("volumeMounts", index, *_renamed(path, _OF_CACHE))


def find_other(before: int, path: Path, name: Any, left: Fields) -> Path:
    """The place of a container that has so many beside main before it: the flat sidecar, else one of the list."""
    listed = _entries(object_member(left, _EXTRA), "containers")
    if name == SIDECAR and type(left.get("frontendSidecar")) is dict and find_container(object_items({"": listed}, ""), name) is None:
        member = _OF_SIDECAR.get(str(path[0])) if path else None
        source = ("envFromSecret",) if path[:1] == ("envFrom",) else ()
        return ("frontendSidecar", *((member, *path[1:]) if member else source))
    written = (index for index, each in enumerate(listed) if type(each) is dict and each.get("name") != MAIN)
    return (_EXTRA, "containers", next(islice(written, before, None), before), *path)


def find_in_main(path: Path, right: Fields, main: Fields, left: Fields) -> Path:
    """The place of a value of the main container; of one that isn't there, the place where its neighbours are."""
    over = object_member(object_member(left, _EXTRA), "mainContainer")
    head = path[0] if path else ""
    if head == "resources":
        return _of_amount(path, over, left)
    if head in PROBES:
        return _of_probe(path, main, over, left)
    if head == "env":
        return _of_variable(path, main, over, left)
    if head == "volumeMounts":
        return _of_mount(path, right, object_items(main, "volumeMounts"), over, left)
    if head == "envFrom" and not over.get("envFrom") and left.get("envFromSecret"):
        return ("envFromSecret",)
    return (*_MAIN, *path)


def _of_amount(path: Path, over: Fields, left: Fields) -> Path:
    flat = object_member(left, "resources")
    if lookup(over, path) is not MISSING or ("resources" in over and not flat):
        return (*_MAIN, *path)
    if len(path) < 3 or path[1] == "claims":
        return path
    part, name = path[1], str(path[2])
    amounts = object_member(flat, str(part))
    custom, kind = ("resources", part, "custom", Key(name)), amounts.get("gpuType")
    if name in object_member(amounts, "custom") or (name not in TO_FLAT and name != kind):
        return custom
    return custom if name == GPU and kind and kind != GPU else ("resources", part, TO_FLAT.get(name, "gpu"))


def _of_probe(path: Path, main: Fields, over: Fields, left: Fields) -> Path:
    """The part that has the effective value; else the part that goes deeper towards it."""
    value = lookup(main, path)
    for part, above in ((over, _MAIN), (left, ())):
        if value is not MISSING and lookup(part, path) == value:
            return (*above, *path)
    return (*_MAIN, *path) if _depth(over, path) > _depth(left, path) else path


def _depth(part: Fields, path: Path) -> int:
    return next((length for length in range(len(path), 0, -1) if lookup(part, path[:length]) is not MISSING), 0)


def _of_variable(path: Path, main: Fields, over: Fields, left: Fields) -> Path:
    above, flat, index = _entries(over, "env"), _entries(left, "envs"), path[1] if len(path) > 1 else ""
    merged = object_items(main, "env")
    if type(index) is not int or not 0 <= index < len(merged):
        return (*_MAIN, *path) if above and not flat else ("envs", *path[1:])
    above_index = max(_find_indices(above, ("name",), (merged[index].get("name"),)), default=-1)
    written = [index for index, entry in enumerate(flat) if type(entry) is dict]
    mine = written[index] if index < len(written) else -1
    if above_index >= 0 and (mine < 0 or merged[index] == above[above_index]):
        return (*_MAIN, "env", above_index, *path[2:])
    return ("envs", mine if mine >= 0 else index, *path[2:])


def _of_mount(path: Path, right: Fields, mounts: list[Fields], over: Fields, left: Fields) -> Path:
    above, flat, index = _entries(over, "volumeMounts"), _entries(left, "volumeMounts"), path[1] if len(path) > 1 else ""
    if type(index) is not int or not 0 <= index < len(mounts):
        return (*_MAIN, *path) if above and not flat else ("volumeMounts",)
    key = mounts[index].get("name"), mounts[index].get("mountPath")
    if indices := _find_indices(above, ("name", "mountPath"), key):
        return (*_MAIN, "volumeMounts", index if index in indices else indices[0], *path[2:])
    if not (indices := _find_indices(flat, ("name", "mountPoint"), key)):  # it comes from an annotation
        cache = right.get("compilationCache")
        indices = [[flat_key(entry) for entry in flat_list(cache if type(cache) is dict else None, mounts)].index(mount_key(mounts[index]))]
    return ("volumeMounts", indices[0], *_renamed(path[2:], _FLAT_MOUNT))


def _renamed(path: Path, names: dict[str, str]) -> Path:
    member = names.get(str(path[0])) if path else None
    return (member,) if member else ()


def _entries(struct: Fields, name: str) -> list[Any]:
    entries = struct.get(name)
    return entries if type(entries) is list else []


def _find_indices(entries: list[Any], names: tuple[str, ...], key: tuple[object, ...]) -> list[int]:
    """The indices of the entries whose members are `key`."""
    return [index for index, entry in enumerate(entries) if type(entry) is dict and tuple(map(entry.get, names)) == key]
