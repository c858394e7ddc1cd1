"""Converts one object: runs its kind's lenses, lets remembered values speak only while they change nothing live, and keeps whatever
would not come back. Knows no kind; what a member means, the declarations say."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final, NamedTuple

from api.decode import decoder
from conversion.difference import Entry, applied, differences, identical
from conversion.kind import LEFT, PREFIX, RIGHT
from conversion.legacy import due, unlike
from conversion.lens.protocol import Context
from conversion.remainder import ASIDE, Remainder, aside_key, keys, read, write

if TYPE_CHECKING:
    from conversion.kind import Kind
    from conversion.lens.protocol import Fields

GROUP: Final = "nvidia.com"
TRIALS: Final = 64  # how often kept values may be tried one by one; an honest object needs a handful
PARTS: Final = ("spec", "status")


class Converted(NamedTuple):
    """A converted object, and the reserved annotations whose text could not be used (set aside, to be logged and counted)."""

    object: Fields
    damaged: tuple[str, ...]


def convert(kind: Kind, obj: Fields, desired: str) -> Converted:
    """Converts an object to the desired version ("v1alpha1" or "v1beta1"); total on everything that the schema admits.

    Output depends on the input alone, which is not changed; values are shared with it.
    """
    rightward = desired == RIGHT
    metadata = obj.get("metadata") or {}
    annotations = metadata.get("annotations") or {}
    remembered, damaged = read(kind, annotations, rightward)
    name = str(metadata.get("name") or "")
    parts, saved = _run(kind, obj, remembered, rightward, name)
    if remembered.kept:
        parts = _restored(kind, parts, remembered.kept, rightward, name)
    back, _ = _run(kind, parts, _returning(saved), not rightward, name)
    saved.kept = differences(back, {part: obj[part] for part in PARTS if part in obj})
    older: dict[str, str] = {}
    if kind.legacy is not None:
        older = due(kind.legacy, obj, remembered.legacy, rightward)
        saved.legacy = unlike(kind.legacy, annotations, parts, rightward)
    rest = {name: value for name, value in obj.items() if name not in PARTS}
    out = {**rest, **parts, "apiVersion": f"{GROUP}/{desired}", "metadata": _metadata(kind, metadata, saved, damaged, older)}
    return Converted(out, tuple(damaged))


def _run(kind: Kind, obj: Fields, remembered: Remainder, rightward: bool, name: str) -> tuple[Fields, Remainder]:
    """Runs the lenses of spec and status; a part that is absent or no object stays as it is."""
    context, saved, out = Context(name, remembered.travelled), Remainder(), {}
    for part, struct, kept, save in (
        ("spec", kind.spec, remembered.spec, saved.spec),
        ("status", kind.status, remembered.status, saved.status),
    ):
        if part in obj:
            value = obj[part]
            if type(value) is dict:
                value = (struct.forward if rightward else struct.backward)(value, kept, save, context)
            out[part] = value
    if kind.complete is not None:
        kind.complete(obj, out, rightward)
    return out, saved


def _returning(saved: Remainder) -> Remainder:
    """What the way back will read of what is being written now."""
    return Remainder(saved.spec, saved.status, [], bool(saved.spec) or saved.force)


def _restored(kind: Kind, parts: Fields, kept: list[Entry], rightward: bool, name: str) -> Fields:
    """Applies kept values that change nothing of what the live side says: all at once if that holds, else in ever smaller groups."""
    said, _ = _run(kind, parts, Remainder(), not rightward, name)
    decodes = decoder(kind.name, RIGHT if rightward else LEFT)
    trials = [TRIALS]

    def attempt(current: Fields, entries: list[Entry]) -> Fields:
        if not entries or trials[0] <= 0:
            return current
        trials[0] -= 1
        candidate: Fields = applied(current, entries)
        if (
            candidate.keys() <= set(PARTS)
            and decodes(candidate) == ()
            and identical(_run(kind, candidate, Remainder(), not rightward, name)[0], said)
        ):
            return candidate
        if len(entries) == 1:
            return current
        middle = len(entries) // 2
        return attempt(attempt(current, entries[:middle]), entries[middle:])

    return attempt(parts, kept)


def _metadata(kind: Kind, metadata: Fields, saved: Remainder, damaged: dict[str, str], older: dict[str, str]) -> Fields:
    """The metadata of the converted object: reserved keys replaced, damaged texts set aside or back in their place."""
    annotations: dict[str, Any] = dict(metadata.get("annotations") or {})
    for key in (*keys(kind), *(kind.legacy.keys if kind.legacy else ())):
        annotations.pop(key, None)
    written = write(kind, saved)
    for key in [key for key in annotations if key.startswith(ASIDE)]:
        home = PREFIX + key.removeprefix(ASIDE)
        if home in keys(kind) and home not in written and home not in damaged:
            annotations[home] = annotations.pop(key)
    for key, text in damaged.items():
        annotations[aside_key(key)] = text
    annotations.update(older)
    annotations.update(written)
    out = {name: value for name, value in metadata.items() if name != "annotations"}
    if annotations or metadata.get("annotations") == {}:
        out["annotations"] = annotations
    return out
