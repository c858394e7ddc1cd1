"""Converts one object: runs its kind's lenses, restores saved values only if live fields stay unchanged, and saves what would be lost.
Independent of kinds, which the declarations describe."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final, NamedTuple

from dynamo_webhooks.api.decode import decoder
from dynamo_webhooks.api.kinds import BY_NAME
from dynamo_webhooks.conversion.bounds import bounded, labelled, require_whole
from dynamo_webhooks.conversion.difference import Entry, applied, differences, identical
from dynamo_webhooks.conversion.formerly import came_home
from dynamo_webhooks.conversion.kind import LEFT, PREFIX, RIGHT, Form
from dynamo_webhooks.conversion.legacy import due, unlike
from dynamo_webhooks.conversion.lens.protocol import Context
from dynamo_webhooks.conversion.remainder import ASIDE, Remainder, aside_key, keys, packable, read, reserved, write

if TYPE_CHECKING:
    from collections.abc import Callable

    from dynamo_webhooks.conversion.kind import Kind, Legacy
    from dynamo_webhooks.conversion.lens.protocol import Fields

GROUP: Final = "nvidia.com"
TRIALS: Final = 64  # limit of attempts to restore saved values one by one; valid objects need few
MANY: Final = 1024  # number of saved values beyond which they are restored in few groups, to bound the cost
PARTS: Final = ("spec", "status")
ANNOTATIONS: Final = ["metadata", "annotations"]  # the path of the one saved entry outside of spec and status: empty annotations


class Converted(NamedTuple):
    """A converted object, and the damaged reserved annotations that were set aside, for log and metrics."""

    object: Fields
    damaged: tuple[str, ...]


def convert(kind: Kind, obj: Fields, desired: str, *, whole: bool = False) -> Converted:
    """Convert an object to the desired version ("v1alpha1" or "v1beta1"); total on everything that the schema admits.

    The output shares values with the input, which isn't changed. A `whole` conversion saves everything, however long.
    """
    rightward = desired == RIGHT
    metadata = obj.get("metadata") or {}
    annotations = metadata.get("annotations") or {}
    storing = desired == BY_NAME[kind.name].stored(kind.line)
    if storing:
        require_whole(metadata, desired)
    kind, form = _formed(kind, obj, rightward)
    remembered, damaged = read(kind, annotations, rightward, part=form.part)
    obj = form.object
    name = str(metadata.get("name") or "")
    stored = bool(metadata.get("uid"))
    parts, saved = _run(kind, obj, remembered, rightward, name, stored=stored)
    if kept := [entry for entry in remembered.kept if entry[0][0] in PARTS]:
        decodes = decoder(kind.name, RIGHT if rightward else LEFT)
        parts = came_home(parts, kept, remembered.spec, lambda made: not set(decodes(made)) - set(decodes(parts)))
        parts = _restored(kind, parts, kept, saved, rightward, name, stored=stored)
    if kind.marked:
        saved.travelled = remembered.both or not remembered.travelled
    # only annotations of older operators depend on what the way back would save
    back, again = _run(kind, parts, _returning(saved), not rightward, name, saving=kind.legacy is not None, stored=stored)
    if any(back.get(part, ...) is not obj.get(part, ...) for part in PARTS):
        saved.kept = differences(back, {part: obj[part] for part in PARTS if part in obj})
    if form.part:  # that it has no spec: the whole object has one
        saved.kept = [entry for entry in saved.kept if entry != [["spec"]]]
    if kind.marked and (remembered.both or (remembered.travelled and (saved.spec or saved.kept))):
        saved.travelled = saved.both = True
    if (saved.kept or saved.travelled) and not rightward and type(obj.get("spec")) is dict:
        kind.spec.sign(obj["spec"], saved.spec)
    older: dict[str, str] = {}
    if kind.legacy is not None:
        saved.apart = form.stored
        saved.legacy = unlike(kind.legacy, annotations, parts, rightward)
        # an object with only older annotations may get a remainder on the way back: save that it had none
        if any(key in annotations for key in kind.legacy.keys) and not any(key in annotations for key in keys(kind)):
            clean = not (again.spec or again.status) and identical(_said(kind, obj, _returning(again), rightward, name), parts)
            saved.legacy += [] if clean else [[kind.spec_key, None, ""]]
        older, saved = _older(kind, kind.legacy, obj, parts, remembered, saved, rightward, form.part)
    if form.decode is not None:  # when the way back has been run, which needn't know
        form.decode(parts)
    annotated, complete = _annotated(kind, annotations, saved, damaged, older, blank=_blank(metadata), storing=storing or whole)
    rest = {name: value for name, value in obj.items() if name not in PARTS}
    blank = _blank(metadata) or next((entry[1:] for entry in remembered.kept if entry[0] == ANNOTATIONS), [])
    out = {**rest, **parts, "apiVersion": f"{GROUP}/{desired}", "metadata": _metadata(metadata, annotated, blank)}
    if not complete:
        labelled(out["metadata"])
    return Converted(out, tuple(damaged))


def viewed(kind: Kind, obj: Fields, desired: str) -> Fields:
    """The object in the desired version for reading only: spec and status as `convert` makes them.

    It isn't converted back; metadata is unchanged, with the object's own remainder.
    """
    metadata = obj.get("metadata") or {}
    rightward = desired == RIGHT
    formed, form = _formed(kind, obj, rightward)
    remembered, _ = read(kind, metadata.get("annotations") or {}, rightward, part=form.part)
    if any(entry[0][0] in PARTS for entry in remembered.kept):  # what may be restored depends on what would be saved
        return convert(kind, obj, desired).object
    kind = formed
    parts = _said(kind, form.object, remembered, rightward, str(metadata.get("name") or ""), stored=bool(metadata.get("uid")))
    if form.decode is not None:
        form.decode(parts)
    rest = {name: value for name, value in obj.items() if name not in PARTS}
    return {**rest, **parts, "apiVersion": f"{GROUP}/{desired}", "metadata": metadata}


def _formed(kind: Kind, obj: Fields, rightward: bool) -> tuple[Kind, Form]:
    """The kind as it converts this object, and its form; see `Kind.form`."""
    form = kind.form(obj, rightward) if kind.form is not None else None
    return (kind, Form(obj, stored=False)) if form is None else (kind._replace(complete=None), form)


def _run(
    kind: Kind,
    obj: Fields,
    remembered: Remainder,
    rightward: bool,
    name: str,
    *,
    saving: bool = True,
    stored: bool = False,
) -> tuple[Fields, Remainder]:
    """Run the lenses of spec and status; a part that is absent or not an object stays unchanged, unless its remainder has content.

    Without `saving` the returned remainder may be incomplete.
    """
    context, saved, out = Context(name, remembered.travelled, saving, remembered.both, stored, kind.line), Remainder(), {}
    for part, struct, kept, save in (
        ("spec", kind.spec, remembered.spec, saved.spec),
        ("status", kind.status, remembered.status, saved.status),
    ):
        if part not in obj and not kept:
            continue
        value: Any = obj.get(part)
        run = struct.forward if rightward else struct.backward
        if type(value) is dict:
            out[part] = run(value, kept, save, context)
        elif value is None and kept and (alone := _alone(run, kept, save, context)):
            out[part] = alone
        elif part in obj:
            out[part] = value
    if kind.complete is not None:
        kind.complete(obj, out, rightward)
    return out, saved


def _said(kind: Kind, obj: Fields, remembered: Remainder, rightward: bool, name: str, *, stored: bool = False) -> Fields:
    """The lenses' output for an object, without what they save."""
    return _run(kind, obj, remembered, rightward, name, saving=False, stored=stored)[0]


def _alone(run: Callable[[Fields, Fields, Fields, Context], Fields], kept: Fields, save: Fields, context: Context) -> Fields:
    """The remainder's content for an absent part; None if an empty part is equivalent.

    The Go operator drops a part whose content is all in its remainder.
    """
    below: Fields = {}
    part = run({}, kept, below, context)
    if not part or part == run({}, {}, {}, context):
        return {}
    save.update(below)
    return part


def _returning(saved: Remainder) -> Remainder:
    """What the way back will read of the current output."""
    return Remainder(saved.spec, saved.status, [], saved.travelled or bool(saved.spec), both=saved.both)


def _restored(kind: Kind, parts: Fields, kept: list[Entry], saved: Remainder, rightward: bool, name: str, *, stored: bool) -> Fields:
    """Apply saved values that change nothing of the live side: all at once if possible, else in ever smaller groups.

    The parts must stay equal both alone and together with the remainder that is being written. Alone, an empty part equals an absent one:
    that it was absent is saved if its remainder has all of its content.
    """
    views = (Remainder(), _returning(saved))
    said = [_said(kind, parts, view, not rightward, name, stored=stored) for view in views]
    empty = {part: value for part, value in parts.items() if value == {}}
    decodes = decoder(kind.name, RIGHT if rightward else LEFT)
    # a live string may be invalid for typed readers (a bad duration); restored ones must not add to that
    refused = set(decodes(parts))
    trials = [TRIALS if len(kept) <= MANY else TRIALS // 16]

    def attempt(current: Fields, entries: list[Entry]) -> Fields:
        if not entries or trials[0] <= 0:
            return current
        trials[0] -= 1
        candidate: Fields = applied(current, entries)
        forms = ({**candidate, **{part: value for part, value in empty.items() if candidate.get(part) is None}}, candidate)
        if (
            candidate.keys() <= set(PARTS)
            and refused.issuperset(decodes(candidate))
            and all(
                _alike(_said(kind, form, view, not rightward, name, stored=stored), one)
                for form, view, one in zip(forms, views, said, strict=True)
            )
        ):
            return candidate
        if len(entries) == 1:
            return current
        middle = len(entries) // 2
        return attempt(attempt(current, entries[:middle]), entries[middle:])

    return attempt(parts, kept)


def _alike(one: Any, other: Any) -> bool:
    """Whether two objects are equal, with null as absent."""
    return identical(one, other) or identical(_spoken(one), _spoken(other))


def _spoken(value: Any) -> Any:
    if type(value) is dict:
        return {name: _spoken(member) for name, member in value.items() if member is not None}
    return [_spoken(item) for item in value] if type(value) is list else value


def _older(
    kind: Kind, legacy: Legacy, obj: Fields, parts: Fields, remembered: Remainder, saved: Remainder, rightward: bool, part: bool
) -> tuple[dict[str, str], Remainder]:
    """The annotations of older operators, and the remainder, which is dropped if they contain it and the object had none."""
    fresh = legacy.write(obj, rightward)
    if not remembered.legacy:
        return fresh, saved
    written, name = write(kind, saved), str((obj.get("metadata") or {}).get("name") or "")

    def home(texts: dict[str, str], alone: bool) -> Fields:
        spec = saved.spec if kind.spec_key in written and not alone else None
        status = saved.status if kind.status_key in written and not alone else None
        spec, status = legacy.read(texts, not rightward, spec, status)
        return _said(kind, parts, Remainder(spec or {}, status or {}), not rightward, name)

    older = due(fresh, remembered.legacy, legacy.keys)
    if not part and older != fresh and not identical(home(older, alone=False), home(fresh, alone=False)):
        older = fresh  # a text with an effect would be an edit that nobody made
    had_none = any(had[0] == kind.spec_key for had in remembered.legacy)
    if had_none and not saved.legacy and identical(home(older, alone=True), {part: obj[part] for part in PARTS if part in obj}):
        saved = Remainder()
    return older, saved


def _blank(metadata: Fields) -> list[Any]:
    """The annotations of an object with explicitly none, `{}` or null; empty if they are absent.

    In a stored object, null is from server-side apply, which removed the last one.
    """
    if metadata.get("annotations", ...) is None and metadata.get("uid"):
        return []
    return [metadata["annotations"]] if "annotations" in metadata and not metadata["annotations"] else []


def _annotated(
    kind: Kind, before: Fields, saved: Remainder, damaged: dict[str, str], older: dict[str, str], *, blank: list[Any], storing: bool
) -> tuple[dict[str, Any], bool]:
    """The annotations of the converted object, with reserved keys replaced and damaged texts set aside or restored; and whether
    the whole remainder fits."""
    annotations: dict[str, Any] = dict(before)
    for key in reserved(kind):
        annotations.pop(key, None)
    written = write(kind, saved)
    if blank and (written or older):
        saved.kept.append([ANNOTATIONS, *blank])
        written = write(kind, saved)
    for key in [key for key in annotations if key.startswith(ASIDE)]:
        home = PREFIX + key.removeprefix(ASIDE)
        if home in (*packable(kind), kind.status_key) and home not in written and home not in damaged:
            annotations[home] = annotations.pop(key)
    ours = {aside_key(key): text for key, text in damaged.items()} | older | written
    annotations.update(ours)
    return bounded(annotations, ours, packable(kind), storing=storing, dispensable=ours == written and not saved.says_anything)


def _metadata(metadata: Fields, annotations: dict[str, Any], blank: list[Any]) -> Fields:
    """The metadata of the converted object; without annotations, the author's form of that is restored."""
    out = dict(metadata)
    out.pop("annotations", None)
    if annotations or (blank and blank[0] in ({}, None)):
        out["annotations"] = annotations or blank[0]
    return out
