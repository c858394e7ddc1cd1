"""Volume mounts: the flat list of v1alpha1 with its cache flags, the compilation cache and main's mounts of v1beta1."""

from typing import Final, TypeAlias

from ..lens.protocol import Fields
from .content import text

FLAG: Final = "useAsCompilationCache"
_PLAIN: Final = frozenset({"name", "mountPoint"})
MountKey: TypeAlias = tuple[str, str]


def flat_key(entry: Fields) -> MountKey:
    """Volume and path of a flat entry."""
    return text(entry.get("name")), text(entry.get("mountPoint"))


def mount_key(mount: Fields) -> MountKey:
    """Volume and path of a native mount."""
    return text(mount.get("name")), text(mount.get("mountPath"))


class Counterparts:
    """Finds a mount's counterpart: the one of the same place, else the only one of the same volume."""

    __slots__ = ("_by_key", "_volumes")

    def __init__(self, mounts: list[Fields]) -> None:
        """Index the mounts once, for linear cost."""
        self._by_key: dict[MountKey, Fields] = {}
        self._volumes: dict[str | None, list[Fields]] = {}
        for mount in mounts:
            self._by_key.setdefault(mount_key(mount), mount)
            self._volumes.setdefault(_volume(mount), []).append(mount)

    def __contains__(self, key: MountKey | None) -> bool:
        """Whether there is a mount at the place."""
        return key in self._by_key

    def of(self, mount: Fields) -> Fields | None:
        """The counterpart of a mount."""
        counterpart = self._by_key.get(mount_key(mount))
        if counterpart is not None:
            return counterpart
        alike = self._volumes.get(_volume(mount), [])
        return alike[0] if len(alike) == 1 else None


def _volume(mount: Fields) -> str | None:
    return None if (name := mount.get("name")) is None else text(name)


def cache_key(cache: Fields | None) -> MountKey | None:
    """Volume and path of a compilation cache."""
    return None if cache is None else (text(cache.get("pvcName")), text(cache.get("mountPath")))


def is_cache_of(flat: list[Fields], live: Fields | None) -> bool:
    """Whether a saved flat list names the live cache.

    The Go operator writes empty names and paths for absent ones, so that these are the same place; an empty one isn't left out by it.
    """
    saved = cache_of(flat)
    return cache_key(saved) == cache_key(live) and (live is None or all(live.get(name) is not None for name in saved or ()))


def is_compilation_cache(entry: Fields) -> bool:
    """Whether a flat entry is a compilation cache."""
    return entry.get(FLAG) is True


def _renamed(struct: Fields, volume: str, path: str, *, to: tuple[str, str]) -> Fields:
    """Volume and path under other names, if present."""
    out: Fields = {}
    if (value := struct.get(volume)) is not None:
        out[to[0]] = value
    if (value := struct.get(path)) is not None:
        out[to[1]] = value
    return out


def native_mount(entry: Fields) -> Fields:
    """The native mount of a flat entry."""
    return _renamed(entry, "name", "mountPoint", to=("name", "mountPath"))


def native_mounts(entries: list[Fields], *, cached: bool = False) -> list[Fields]:
    """The mounts of a flat list. Its cache, the first flagged entry, is one only if `cached`, because a workload mounts its cache anyway.

    A cache without a path is none: mounts are keyed by their paths.
    """
    out: list[Fields] = []
    for entry in entries:
        if is_compilation_cache(entry) and not (cached and entry.get("mountPoint")):
            cached = True
        else:
            out.append(native_mount(entry))
    return out


def join_mounts(over: list[Fields], entries: list[Fields], *, cached: bool = False) -> list[Fields]:
    """Main's mounts since line 1.3: the overlay's, then those of the flat list at other paths; line 1.2 takes the overlay's if any."""
    flat = native_mounts(entries, cached=cached)
    if not over or not flat:
        return over or flat
    taken = {text(mount.get("mountPath")) for mount in over}
    return [*over, *(mount for mount in flat if text(mount.get("mountPath")) not in taken)]


def flat_mount(mount: Fields) -> Fields:
    """The flat entry of a mount, with the flag's schema default, without options."""
    return {**_renamed(mount, "name", "mountPath", to=("name", "mountPoint")), FLAG: False}


def cache_of(entries: list[Fields]) -> Fields | None:
    """The compilation cache that a flat list names: its first flagged entry."""
    for entry in entries:
        if is_compilation_cache(entry):
            return _renamed(entry, "name", "mountPoint", to=("pvcName", "mountPath"))
    return None


def flat_list(cache: Fields | None, mounts: list[Fields]) -> list[Fields]:
    """The flat list of a cache and main's mounts: the cache first, no place twice."""
    out: list[Fields] = []
    seen: set[MountKey] = set()
    if cache is not None:
        out.append({**_renamed(cache, "pvcName", "mountPath", to=("name", "mountPoint")), FLAG: True})
        seen.add(flat_key(out[0]))
    for mount in mounts:
        if (key := mount_key(mount)) not in seen:
            seen.add(key)
            out.append(flat_mount(mount))
    return out


def reproducible(entries: list[Fields]) -> bool:
    """Whether a flat list round-trips: at most one flag, on the first entry, and no place twice."""
    if len(entries) < 2:
        return True
    if any(is_compilation_cache(entry) for entry in entries[1:]):
        return False
    return len({flat_key(entry) for entry in entries}) == len(entries)


def read_flags(entries: list[Fields]) -> bool:
    """Whether each entry has an explicit flag, as the schema's default and converted mounts do."""
    return all(type(entry.get(FLAG)) is bool for entry in entries)


def restore_flat_list(
    entries: list[Fields], flat: list[Fields], over: list[Fields], cache: Fields | None, mounts: list[Fields] | None
) -> list[Fields] | None:
    """The flat list to restore: a saved one (`flat`, with the overlay `over`) as far as it matches the live one; None for no change.

    `entries` is the list read from the live cache and main's `mounts` (None without main).
    """
    # unknown members don't count
    same_cache = cache_of(flat) == (None if cache is None else _renamed(cache, "pvcName", "mountPath", to=("pvcName", "mountPath")))
    if over:
        if not mounts:
            return None
        if [mount_key(mount) for mount in mounts] != [mount_key(mount) for mount in over]:
            return entries[:1] if cache is not None else []
        return flat if same_cache else _reflagged(flat, entries if cache is not None else [])
    if cache is not None and mounts is not None and flat == flat_list(None, mounts) and flat_key(entries[0]) not in map(flat_key, flat):
        return [*flat, entries[0]]  # an added cache comes last
    if same_cache and mounts is None and all(is_compilation_cache(entry) for entry in flat):
        return flat
    if same_cache and mounts is not None and flat_list(cache, native_mounts(flat)) == entries:
        return flat
    if cache is None or not is_cache_of(flat, cache):
        return None
    # it also makes mounts of caches without a path
    theirs = [mount_key(mount) for mount in mounts or ()] == [flat_key(entry) for entry in flat]
    return _flags_added(entries, flat if theirs else [entry for entry in flat if entry.get("mountPoint")])


def split_mounts(
    read: list[Fields], flat: list[Fields], over: list[Fields], cache: Fields | None, mounts: list[Fields], *, alone: bool
) -> tuple[list[Fields], list[Fields]]:
    """The flat list and the overlay's mounts of main's `mounts` since line 1.3, where `flat` and `over` are the saved ones.

    The Go operator mounts caches, too. `alone`: line 1.2 may have written them, which leaves out the flat ones. Costs a look-up a mount.
    """
    flat_entries = read[:1] if cache is not None else []
    written = [_written(mount) for mount in mounts]
    entries = flat if is_cache_of(flat, cache) else _reflagged(flat, flat_entries)
    for made in (join_mounts(over, entries), [*over, *map(native_mount, entries)], over if alone else []):
        if made and written == [_written(mount) for mount in made]:
            return entries, mounts[: len(over)]
    known = {flat_key(entry): entry for entry in flat if not is_compilation_cache(entry)}
    cut = len(mounts)
    while cut and mount_key(mounts[cut - 1]) in known:
        cut -= 1
    # joined again, a flat entry at a path of the overlay would be left out
    taken = {text(mount.get("mountPath")) for mount in mounts[:cut]}
    for index in range(cut, len(mounts)):
        if text(mounts[index].get("mountPath")) in taken:
            taken |= {text(mount.get("mountPath")) for mount in mounts[cut : index + 1]}
            cut = index + 1
    for mount in mounts[cut:]:
        entry = known[mount_key(mount)]
        flat_entries.append(entry if _written(native_mount(entry)) == _written(mount) else flat_mount(mount))
    return flat_entries, mounts[:cut]


def _written(mount: Fields) -> tuple[object, object]:
    """Volume and path; an empty path isn't an absent one."""
    return mount.get("name"), mount.get("mountPath")


def _reflagged(flat: list[Fields], live: list[Fields]) -> list[Fields]:
    """The unflagged entries, with the live cache flagged where it is listed, else appended."""
    out = [entry for entry in flat if not is_compilation_cache(entry)]
    for cache in live[:1]:
        for index, entry in enumerate(out):
            if flat_key(entry) == flat_key(cache):
                # the place is the live cache's; other members are the entry's
                out[index] = {**{name: value for name, value in entry.items() if name not in _PLAIN}, **cache}
                return out
        out.append(cache)
    return out


def _flags_added(entries: list[Fields], flat: list[Fields]) -> list[Fields]:
    """The live entries, flagged if the saved list flags the same place."""
    flags = {flat_key(entry) for entry in flat if is_compilation_cache(entry)}
    return [{**entry, FLAG: True} if flat_key(entry) in flags else entry for entry in entries]
