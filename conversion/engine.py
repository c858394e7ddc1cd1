"""Converts one object: runs its kind's lenses, restores saved values only if live fields stay unchanged, and saves what would be lost.
Independent of kinds, which the declarations describe."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final, NamedTuple

from ..api.decode import decoder, quick_decoder
from ..api.kinds import BY_NAME, GROUP
from ..api.paths import Path
from ..api.walk.errors import FieldError
from .bounds import fit_annotations, label_too_long, require_whole
from .difference import Entry, apply_differences, are_identical, find_differences
from .kind import LEFT, PREFIX, RIGHT, Form, Kind, Legacy
from .legacy import choose_annotations, list_legacy_differences, restore_fields
from .lens.protocol import Context, Fields
from .remainder import ASIDE, Remainder, annotation_keys, aside_key, packable, read_remainder, reserved_keys, write
from .translate import Translation

MAX_TRIED_FACTOR: Final = 5  # bytes of saved values that may be tried for each byte of their annotation; the first trial is of all
MAX_CHANGES: Final = 256  # changes up to which saved values are tried by their places; beyond, all are suspected
MAX_STEPS: Final = 8  # of a path that are compared: deeper members aren't converted, but copied with the value that they are in
PARTS: Final = ("spec", "status")
ANNOTATIONS: Final = ["metadata", "annotations"]  # the path of the one saved entry outside of spec and status: empty annotations


class Conversion(NamedTuple):
    """A converted object, and the damaged reserved annotations that were set aside, for log and metrics."""

    object: Fields
    damaged: tuple[str, ...]


class _Direction:
    """One direction of an object's conversion."""

    __slots__ = ("kind", "name", "rightward", "stored")

    def __init__(self, kind: Kind, name: str, *, rightward: bool, stored: bool) -> None:
        self.kind, self.name, self.rightward, self.stored = kind, name, rightward, stored

    def reverse(self) -> _Direction:
        return _Direction(self.kind, self.name, rightward=not self.rightward, stored=self.stored)

    def run(self, obj: Fields, remainder_in: Remainder, *, saving: bool = True, pods: bool = True) -> tuple[Fields, Remainder]:
        """Run the lenses of spec and status; a part that is absent or not an object stays unchanged, unless its remainder has content.

        Without `saving` the returned remainder may be incomplete.
        """
        kind, rightward = self.kind, self.rightward
        context = Context(
            self.name,
            has_remainder=remainder_in.present,
            saving=saving,
            both=remainder_in.both,
            stored=self.stored,
            line=kind.line,
            pods=pods,
        )
        remainder_out, out = Remainder(), {}
        for part, struct, remainder, save in (
            ("spec", kind.spec, remainder_in.spec, remainder_out.spec),
            ("status", kind.status, remainder_in.status, remainder_out.status),
        ):
            if part not in obj and not remainder:
                continue
            value: Any = obj.get(part)
            run = struct.forward if rightward else struct.backward
            if type(value) is dict:
                out[part] = run(value, remainder, save, context)
            elif value is None and remainder and (alone := _run_absent_part(run, remainder, save, context)):
                out[part] = alone
            elif part in obj:
                out[part] = value
        if kind.complete is not None:
            kind.complete(obj, out, rightward)
        return out, remainder_out

    def output(self, obj: Fields, remainder_in: Remainder, *, pods: bool = True) -> Fields:
        """The lenses' output alone."""
        return self.run(obj, remainder_in, saving=False, pods=pods)[0]

    def decode(self, parts: Fields) -> tuple[FieldError, ...]:
        """Values of the converted parts whose types are wrong."""
        return decoder(self.kind.name, RIGHT if self.rightward else LEFT)(parts)


def convert(kind: Kind, obj: Fields, desired: str, *, whole: bool = False) -> Conversion:
    """Convert an object to the desired version ("v1alpha1" or "v1beta1"); total on everything that the schema admits.

    The output shares values with the input, which isn't changed. A `whole` conversion is of no part, and saves everything, however long.
    """
    metadata = obj.get("metadata") or {}
    storing = desired == BY_NAME[kind.name].stored(kind.line)
    if storing:
        require_whole(metadata, desired)
    direction, form = _prepare(kind, obj, metadata, desired, whole=whole)
    remainder_in, damaged = read_remainder(kind, metadata.get("annotations") or {}, direction.rightward, part=form.part)
    parts, remainder_out = direction.run(form.object, remainder_in)
    if entries := [entry for entry in remainder_in.differences if entry[0][0] in PARTS]:
        parts = restore_fields(
            parts, entries, remainder_in.spec, lambda new: set(direction.decode(parts)).issuperset(direction.decode(new))
        )
        parts = _Trials(direction, parts, remainder_in, remainder_out).restore(parts, entries)
    _save(direction, form, parts, remainder_in, remainder_out)
    older: dict[str, str] = {}
    if kind.legacy is not None:
        older, remainder_out = _write_legacy(direction, kind.legacy, form, parts, remainder_in, remainder_out)
    if form.decode is not None:  # after the reverse direction, which must not see defaults
        form.decode(parts)
    annotated, complete = _write_annotations(kind, metadata, remainder_out, damaged, older, storing=storing or whole)
    out = _assemble(obj, parts, desired, _make_metadata(metadata, remainder_in, annotated))
    if not complete:
        label_too_long(out["metadata"])
    return Conversion(out, tuple(damaged))


def convert_for_reading(kind: Kind, obj: Fields, desired: str, *, pods: bool = True) -> Fields:
    """The object in the desired version for reading only: spec and status as `convert` makes them, pod templates only if wanted.

    It isn't converted back; metadata is unchanged, with the object's own remainder.
    """
    metadata = obj.get("metadata") or {}
    direction, form = _prepare(kind, obj, metadata, desired, whole=True)
    remainder_in, _ = read_remainder(kind, metadata.get("annotations") or {}, direction.rightward, part=form.part)
    if any(entry[0][0] in PARTS for entry in remainder_in.differences):  # restoring depends on the remainder to write
        return convert(kind, obj, desired).object
    parts = direction.output(form.object, remainder_in, pods=pods)
    if form.decode is not None:
        form.decode(parts)
    return _assemble(obj, parts, desired, metadata)


def _prepare(kind: Kind, obj: Fields, metadata: Fields, desired: str, *, whole: bool) -> tuple[_Direction, Form]:
    """The direction in which the kind converts this object, and the object's form; see `Kind.form`."""
    rightward = desired == RIGHT
    form = kind.form(obj, rightward, whole) if kind.form is not None else None
    if form is not None:
        kind = kind._replace(complete=None)
    direction = _Direction(kind, str(metadata.get("name") or ""), rightward=rightward, stored=bool(metadata.get("uid")))
    return direction, form or Form(obj, stored=False)


def _assemble(obj: Fields, parts: Fields, desired: str, metadata: Fields) -> Fields:
    rest = {name: value for name, value in obj.items() if name not in PARTS}
    return {**rest, **parts, "apiVersion": f"{GROUP}/{desired}", "metadata": metadata}


def _run_absent_part(run: Callable[[Fields, Fields, Fields, Context], Fields], remainder: Fields, save: Fields, context: Context) -> Fields:
    """The remainder's content for an absent part; empty if an empty part is equivalent.

    The Go operator drops a part whose content is all in its remainder.
    """
    below: Fields = {}
    part = run({}, remainder, below, context)
    if not part or part == run({}, {}, {}, context):
        return {}
    save.update(below)
    return part


def _make_returning(saved: Remainder) -> Remainder:
    """The remainder that the reverse direction will read."""
    return Remainder(saved.spec, saved.status, [], saved.present or bool(saved.spec), both=saved.both)


class _Trials:
    """Tries whether saved values may speak: the live side must stay equal both alone and together with the remainder that is being written.

    Alone, an empty part equals an absent one: that it was absent is saved if its remainder has all of its content.
    """

    __slots__ = ("_back", "_bytes_left", "_cost", "_direction", "_empty", "_live", "_quick", "_remainders", "_unlike", "_wrong")

    def __init__(self, direction: _Direction, parts: Fields, remainder_in: Remainder, remainder_out: Remainder) -> None:
        self._direction, self._back, self._remainders = direction, direction.reverse(), (Remainder(), _make_returning(remainder_out))
        self._live = [self._back.output(parts, remainder) for remainder in self._remainders]
        self._empty = {part: value for part, value in parts.items() if value == {}}
        # a live string may be invalid for typed readers (a bad duration); restored ones must not add to that
        self._wrong = set(direction.decode(parts))
        self._quick = quick_decoder(direction.kind.name, RIGHT if direction.rightward else LEFT)
        self._bytes_left, self._cost = MAX_TRIED_FACTOR * remainder_in.sent, remainder_in.unpacked
        self._unlike: list[Fields] = []  # the live values, and those that a candidate would make

    def restore(self, parts: Fields, entries: list[Entry]) -> Fields:
        """The parts with all values if possible, else first without those in places that they would change, and then these in ever smaller
        groups. What would be tried beyond `MAX_TRIED_FACTOR` is dropped."""
        others, concerned = entries, list[Entry]()
        while others and (not concerned or self._bytes_left >= self._cost):
            candidate: Fields = apply_differences(parts, others)
            if self._fits(candidate):
                parts = candidate
                break
            places = _PathSet(self._find_type_errors(candidate) or self._find_changes(candidate))
            matching, rest = list[Entry](), list[Entry]()
            for entry in others:
                (matching if places.overlaps(entry[0]) else rest).append(entry)
            concerned += matching or rest
            others = rest if matching else []
        return self._attempt(parts, concerned)

    def _attempt(self, current: Fields, entries: list[Entry]) -> Fields:
        if not entries or self._bytes_left < self._cost:
            return current
        candidate: Fields = apply_differences(current, entries)
        if self._fits(candidate):
            return candidate
        if len(entries) == 1:
            return current
        middle = len(entries) // 2
        return self._attempt(self._attempt(current, entries[:middle]), entries[middle:])

    def _fits(self, candidate: Fields) -> bool:
        self._bytes_left -= self._cost
        if not self._quick(candidate) and (not self._wrong or self._find_type_errors(candidate)):
            return False
        form = {**candidate, **{part: value for part, value in self._empty.items() if candidate.get(part) is None}}
        for each, remainder, live in zip((form, candidate), self._remainders, self._live, strict=True):
            made = self._back.output(each, remainder)
            if not _are_alike(made, live):
                self._unlike = [live, made]
                return False
        return True

    def _find_type_errors(self, candidate: Fields) -> set[Path]:
        """The places of the candidate whose types are wrong, and were not."""
        return {error.path for error in self._direction.decode(candidate) if error not in self._wrong}

    def _find_changes(self, candidate: Fields) -> set[Path]:
        """The places of the candidate, where they are known, that make the other side different."""
        live, made = self._unlike
        paths = {tuple(entry[0][:MAX_STEPS]) for entry in find_differences(live, made)}
        if len(paths) > MAX_CHANGES:
            return set()
        translation = Translation(self._direction.kind, made, RIGHT if self._direction.rightward else LEFT, candidate)
        return {translation.translate(path).path for path in paths}


class _PathSet:
    """Places of an object; without any, everything is one."""

    def __init__(self, paths: set[Path]) -> None:
        self._ends = paths
        self._above = {path[:length] for path in paths for length in range(len(path))}

    def overlaps(self, path: list[Any]) -> bool:
        """Whether a place is above a path, at it or below."""
        steps = tuple(path[:MAX_STEPS])
        return not self._ends or steps in self._above or any(steps[:length] in self._ends for length in range(len(steps) + 1))


def _save(direction: _Direction, form: Form, parts: Fields, remainder_in: Remainder, remainder_out: Remainder) -> None:
    """Add to `remainder_out` what the reverse direction would lose."""
    kind, obj = direction.kind, form.object
    if kind.marked:
        remainder_out.present = remainder_in.both or not remainder_in.present
    # only annotations of older operators depend on what the reverse direction saves
    back, returned = direction.reverse().run(parts, _make_returning(remainder_out), saving=kind.legacy is not None)
    if any(back.get(part, ...) is not obj.get(part, ...) for part in PARTS):
        remainder_out.differences = find_differences(back, {part: obj[part] for part in PARTS if part in obj})
    if form.part:  # it may lack a spec that the whole object has
        remainder_out.differences = [entry for entry in remainder_out.differences if entry != [["spec"]]]
    if kind.marked and (remainder_in.both or (remainder_in.present and (remainder_out.spec or remainder_out.differences))):
        remainder_out.present = remainder_out.both = True
    if (remainder_out.differences or remainder_out.present) and not direction.rightward and type(obj.get("spec")) is dict:
        kind.spec.sign(obj["spec"], remainder_out.spec)
    if kind.legacy is not None:
        annotations = (obj.get("metadata") or {}).get("annotations") or {}
        remainder_out.apart = form.stored
        remainder_out.legacy = list_legacy_differences(kind.legacy, annotations, parts, direction.rightward)
        # an object with only older annotations may get a remainder on the reverse direction: save that it had none
        if any(key in annotations for key in kind.legacy.keys) and not any(key in annotations for key in annotation_keys(kind)):
            clean = not (returned.spec or returned.status) and are_identical(direction.output(obj, _make_returning(returned)), parts)
            remainder_out.legacy += [] if clean else [[kind.spec_key, None, ""]]


def _are_alike(first: Any, other: Any) -> bool:
    """Whether two values are equal, with null as absent; what they share costs nothing."""
    if first is other:
        return True
    if type(first) is dict and type(other) is dict:
        for name, value in first.items():
            if not _are_alike(value, other.get(name)):
                return False
        return all(value is None or name in first for name, value in other.items())
    if type(first) is list and type(other) is list:
        return len(first) == len(other) and all(_are_alike(mine, theirs) for mine, theirs in zip(first, other, strict=True))
    return are_identical(first, other)


def _write_legacy(
    direction: _Direction, legacy: Legacy, form: Form, parts: Fields, remainder_in: Remainder, remainder_out: Remainder
) -> tuple[dict[str, str], Remainder]:
    """The annotations of older operators, and the remainder, which is dropped if they contain it and the object had none."""
    kind, obj, back = direction.kind, form.object, direction.reverse()
    fresh = legacy.write(obj, direction.rightward)
    if not remainder_in.legacy:
        return fresh, remainder_out
    written = write(kind, remainder_out)

    def undo(texts: dict[str, str], alone: bool) -> Fields:
        spec = remainder_out.spec if kind.spec_key in written and not alone else None
        status = remainder_out.status if kind.status_key in written and not alone else None
        spec, status = legacy.read(texts, back.rightward, spec, status)
        return back.output(parts, Remainder(spec or {}, status or {}))

    older = choose_annotations(fresh, remainder_in.legacy, legacy.keys)
    if not form.part and older != fresh and not are_identical(undo(older, alone=False), undo(fresh, alone=False)):
        older = fresh  # a text with an effect would be a change
    had_none = any(had[0] == kind.spec_key for had in remainder_in.legacy)
    if had_none and not remainder_out.legacy and are_identical(undo(older, alone=True), {part: obj[part] for part in PARTS if part in obj}):
        remainder_out = Remainder()
    return older, remainder_out


def _find_empty_annotations(metadata: Fields) -> list[Any]:
    """The annotations of an object with explicitly none, `{}` or null; empty if they are absent.

    In a stored object, null is from server-side apply, which removed the last one.
    """
    if metadata.get("annotations", ...) is None and metadata.get("uid"):
        return []
    return [metadata["annotations"]] if "annotations" in metadata and not metadata["annotations"] else []


def _write_annotations(
    kind: Kind, metadata: Fields, remainder_out: Remainder, damaged: dict[str, str], older: dict[str, str], *, storing: bool
) -> tuple[dict[str, Any], bool]:
    """The annotations of the converted object, with reserved keys replaced and damaged texts set aside or restored; and whether
    the whole remainder fits."""
    annotations: dict[str, Any] = dict(metadata.get("annotations") or {})
    for key in reserved_keys(kind):
        annotations.pop(key, None)
    written = write(kind, remainder_out)
    if (blank := _find_empty_annotations(metadata)) and (written or older):
        remainder_out.differences.append([ANNOTATIONS, *blank])
        written = write(kind, remainder_out)
    for key in [key for key in annotations if key.startswith(ASIDE)]:
        own_key = PREFIX + key.removeprefix(ASIDE)
        if (own_key == kind.status_key or own_key in packable(kind)) and own_key not in written and own_key not in damaged:
            annotations[own_key] = annotations.pop(key)
    ours = {aside_key(key): text for key, text in damaged.items()} | older | written
    annotations.update(ours)
    return fit_annotations(annotations, ours, packable(kind), storing=storing, dispensable=ours == written and not remainder_out.has_values)


def _make_metadata(metadata: Fields, remainder_in: Remainder, annotations: dict[str, Any]) -> Fields:
    """The metadata of the converted object; without annotations, the author's form of that is restored."""
    blank = _find_empty_annotations(metadata) or next((entry[1:] for entry in remainder_in.differences if entry[0] == ANNOTATIONS), [])
    out = dict(metadata)
    out.pop("annotations", None)
    if annotations or (blank and blank[0] in ({}, None)):
        out["annotations"] = annotations or blank[0]
    return out
