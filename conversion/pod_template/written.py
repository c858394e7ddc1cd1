"""Finds where the author of v1alpha1 wrote a value of a composed container: a flat field, `mainContainer` or the flat sidecar."""

from itertools import islice
from typing import Any, Final

from ...api.paths import MISSING, Key, Path, lookup
from ..lens.protocol import Fields
from ..lens.structs import object_items, object_member
from .compose import PROBES
from .content import MAIN, SIDECAR, find_container
from .mounts import flat_list, flat_place, is_compilation_cache, mount_key
from .resources import GPU, TO_FLAT

_EXTRA: Final = "extraPodSpec"
_MAIN: Final = (_EXTRA, "mainContainer")
_FLAT_MOUNT: Final = {"name": "name", "mountPath": "mountPoint"}
_OF_CACHE: Final = {"pvcName": "name", "mountPath": "mountPoint"}
_OF_SIDECAR: Final = {"image": "image", "args": "args", "env": "envs"}


def find_cache(rest: Path, left: Fields) -> Path:
    """The flat mount that is the compilation cache, or its member."""
    entries = _entries(left, "volumeMounts")
    index = next((index for index, entry in enumerate(entries) if type(entry) is dict and is_compilation_cache(entry)), 0)
    return ("volumeMounts", index, *_renamed(rest, _OF_CACHE))


def find_other(before: int, rest: Path, name: Any, left: Fields) -> Path:
    """The place of a container that has so many beside main before it: the flat sidecar, else one of the list."""
    listed = _entries(object_member(left, _EXTRA), "containers")
    if name == SIDECAR and type(left.get("frontendSidecar")) is dict and find_container(object_items({"": listed}, ""), name) is None:
        member = _OF_SIDECAR.get(str(rest[0])) if rest else None
        source = ("envFromSecret",) if rest[:1] == ("envFrom",) else ()
        return ("frontendSidecar", *((member, *rest[1:]) if member else source))
    written = (place for place, each in enumerate(listed) if type(each) is dict and each.get("name") != MAIN)
    return (_EXTRA, "containers", next(islice(written, before, None), before), *rest)


def find_in_main(rest: Path, right: Fields, main: Fields, left: Fields) -> Path:
    """The place of a value of the main container; of one that isn't there, the place where its neighbours are."""
    over = object_member(object_member(left, _EXTRA), "mainContainer")
    head = rest[0] if rest else ""
    if head == "resources":
        return _of_amount(rest, over, left)
    if head in PROBES:
        return _of_probe(rest, main, over, left)
    if head == "env":
        return _of_variable(rest, main, over, left)
    if head == "volumeMounts":
        return _of_mount(rest, right, object_items(main, "volumeMounts"), over, left)
    if head == "envFrom" and not over.get("envFrom") and left.get("envFromSecret"):
        return ("envFromSecret",)
    return (*_MAIN, *rest)


def _of_amount(rest: Path, over: Fields, left: Fields) -> Path:
    flat = object_member(left, "resources")
    if lookup(over, rest) is not MISSING or ("resources" in over and not flat):
        return (*_MAIN, *rest)
    if len(rest) < 3 or rest[1] == "claims":
        return rest
    part, name = rest[1], str(rest[2])
    amounts = object_member(flat, str(part))
    custom, kind = ("resources", part, "custom", Key(name)), amounts.get("gpuType")
    if name in object_member(amounts, "custom") or (name not in TO_FLAT and name != kind):
        return custom
    return custom if name == GPU and kind and kind != GPU else ("resources", part, TO_FLAT.get(name, "gpu"))


def _of_probe(rest: Path, main: Fields, over: Fields, left: Fields) -> Path:
    """The part that has the effective value; else the part that goes deeper towards it."""
    value = lookup(main, rest)
    for part, above in ((over, _MAIN), (left, ())):
        if value is not MISSING and lookup(part, rest) == value:
            return (*above, *rest)
    return (*_MAIN, *rest) if _depth(over, rest) > _depth(left, rest) else rest


def _depth(part: Fields, path: Path) -> int:
    return next((length for length in range(len(path), 0, -1) if lookup(part, path[:length]) is not MISSING), 0)


def _of_variable(rest: Path, main: Fields, over: Fields, left: Fields) -> Path:
    above, flat, index = _entries(over, "env"), _entries(left, "envs"), rest[1] if len(rest) > 1 else ""
    merged = object_items(main, "env")
    if type(index) is not int or not 0 <= index < len(merged):
        return (*_MAIN, *rest) if above and not flat else ("envs", *rest[1:])
    place = max(_places(above, ("name",), (merged[index].get("name"),)), default=-1)
    written = [place for place, entry in enumerate(flat) if type(entry) is dict]
    mine = written[index] if index < len(written) else -1
    if place >= 0 and (mine < 0 or merged[index] == above[place]):
        return (*_MAIN, "env", place, *rest[2:])
    return ("envs", mine if mine >= 0 else index, *rest[2:])


def _of_mount(rest: Path, right: Fields, mounts: list[Fields], over: Fields, left: Fields) -> Path:
    above, flat, index = _entries(over, "volumeMounts"), _entries(left, "volumeMounts"), rest[1] if len(rest) > 1 else ""
    if type(index) is not int or not 0 <= index < len(mounts):
        return (*_MAIN, *rest) if above and not flat else ("volumeMounts",)
    key = mounts[index].get("name"), mounts[index].get("mountPath")
    if places := _places(above, ("name", "mountPath"), key):
        return (*_MAIN, "volumeMounts", index if index in places else places[0], *rest[2:])
    if not (places := _places(flat, ("name", "mountPoint"), key)):  # it comes from an annotation
        cache = right.get("compilationCache")
        places = [
            [flat_place(entry) for entry in flat_list(cache if type(cache) is dict else None, mounts)].index(mount_key(mounts[index]))
        ]
    return ("volumeMounts", places[0], *_renamed(rest[2:], _FLAT_MOUNT))


def _renamed(rest: Path, names: dict[str, str]) -> Path:
    member = names.get(str(rest[0])) if rest else None
    return (member,) if member else ()


def _entries(struct: Fields, name: str) -> list[Any]:
    entries = struct.get(name)
    return entries if type(entries) is list else []


def _places(entries: list[Any], names: tuple[str, ...], key: tuple[object, ...]) -> list[int]:
    """The indices of the entries whose members are `key`."""
    return [index for index, entry in enumerate(entries) if type(entry) is dict and tuple(map(entry.get, names)) == key]
