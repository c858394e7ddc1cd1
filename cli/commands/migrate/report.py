"""The report of a run, kind by kind, as data and as text."""

from collections.abc import Iterator
from dataclasses import asdict, dataclass, field
from typing import Any, Final

from ....api.wording import escape_unprintable

MAX_NAMED_OBJECTS: Final = 1000  # of a kind for one matter; more are counted
_MAX_NAMED_IN_TEXT: Final = 10


@dataclass(frozen=True, slots=True)
class ObjectNote:
    """One object and its remarks."""

    object: str  # namespace/name
    matter: str  # refused, differs, too-long, loses-fields, refused-at-creation
    text: str


@dataclass(slots=True)
class ObjectNotes:
    """Objects of one kind that something is to be said about. Its length is bounded."""

    items: list[ObjectNote] = field(default_factory=list)
    counts: dict[str, int] = field(default_factory=dict)  # by matter, of those that are not named, too

    def add(self, note: ObjectNote) -> None:
        """Names the object, or counts it alone."""
        self.counts[note.matter] = self.counts.get(note.matter, 0) + 1
        if self.counts[note.matter] <= MAX_NAMED_OBJECTS:
            self.items.append(note)

    def of(self, matter: str) -> list[ObjectNote]:
        """Those of one matter, by object."""
        return sorted((note for note in self.items if note.matter == matter), key=lambda note: (note.object, note.text))


@dataclass(slots=True)
class PassCounts:
    """Counts of one pass over a kind."""

    objects: int = 0
    moved: int = 0  # written by this pass: they were stored in another form
    there: int = 0  # an empty write changed nothing: their bytes are current
    others: int = 0  # written by other clients since they were listed
    gone: int = 0
    refused: int = 0


@dataclass(slots=True)
class KindReport:
    """One kind. `moved` is None when a dry run can't know it: objects are stored in several versions."""

    kind: str
    storage_before: str
    storage_after: str
    stored_before: list[str]
    stored_after: list[str]
    objects: int = 0
    moved: int | None = 0
    already_there: int | None = 0
    written_by_others: int = 0
    refused: int = 0
    proven: bool = False
    passes: int = 0
    seconds: float = 0.0  # of the passes that moved something
    untrue: int = 0  # objects in a version that storedVersions did not name
    notes: ObjectNotes = field(default_factory=ObjectNotes)

    def as_data(self) -> dict[str, Any]:
        """For programs."""
        notes = sorted(self.notes.items, key=lambda note: (note.matter, note.object, note.text))
        return {
            "kind": self.kind,
            "storage": {"before": self.storage_before, "after": self.storage_after},
            "storedVersions": {"before": self.stored_before, "after": self.stored_after},
            "objects": self.objects,
            "moved": self.moved,
            "alreadyThere": self.already_there,
            "writtenByOthers": self.written_by_others,
            "refused": self.refused,
            "untrue": self.untrue,
            "passes": self.passes,
            "seconds": round(self.seconds, 1),
            "proven": self.proven,
            "counts": dict(sorted(self.notes.counts.items())),
            "notes": [asdict(note) for note in notes],
        }


@dataclass(slots=True)
class MigrationReport:
    """A whole run."""

    to: str
    namespace: str
    dry_run: bool
    kinds: list[KindReport] = field(default_factory=list)
    blocked: list[str] = field(default_factory=list)  # why nothing was begun
    warnings: list[str] = field(default_factory=list)
    failed: str = ""  # why the run ended early
    stopped: bool = False
    unreachable: bool = False  # the run ended early because nothing answered for as long as its patience
    retire: dict[str, Any] | None = None
    seconds: float = 0.0

    @property
    def proven(self) -> bool:
        """Whether all objects of all kinds are in the version."""
        return bool(self.kinds) and all(each.proven for each in self.kinds)

    def as_data(self) -> dict[str, Any]:
        """For programs."""
        document: dict[str, Any] = {
            "to": self.to,
            "namespace": self.namespace,
            "dryRun": self.dry_run,
            "proven": self.proven,
            "stopped": self.stopped,
            "failed": self.failed,
            "blocked": self.blocked,
            "warnings": self.warnings,
            "seconds": round(self.seconds, 1),
            "kinds": [each.as_data() for each in self.kinds],
        }
        return document if self.retire is None else {**document, "retire": self.retire}


def as_text(report: MigrationReport) -> str:
    """For people: nothing that is unusual is left out, of long lists the first lines are shown."""
    return "\n".join(escape_unprintable(line) for line in _lines(report)) + "\n"


def _lines(report: MigrationReport) -> Iterator[str]:
    yield from (f"not begun: {reason}" for reason in report.blocked)
    yield from (f"warning: {text}" for text in report.warnings)
    for each in report.kinds:
        yield from _kind(report, each)
    if report.failed:
        yield f"ended early: {report.failed}"
    if report.retire is not None:
        yield from _retire(report.retire)
    yield _verdict(report)


def _kind(report: MigrationReport, kind: KindReport) -> Iterator[str]:
    would = "would be " if report.dry_run else ""
    yield f"{kind.kind}: {kind.objects} objects"
    yield f"  stored in {_change(kind.storage_before, kind.storage_after)}"
    yield f"  storedVersions {_change(', '.join(kind.stored_before), ', '.join(kind.stored_after))}"
    if kind.moved is None:
        yield f"  up to {kind.objects} {would}moved: storedVersions names {' and '.join(kind.stored_before)}"
    else:
        yield f"  {kind.moved} {would}moved, {kind.already_there} already there" + (
            f", {kind.written_by_others} written by others meanwhile" if kind.written_by_others else ""
        )
    if kind.untrue:
        yield f"  storedVersions named {report.to} alone, and {kind.untrue} objects were stored in another version"
    yield from _notes(kind)


def _notes(kind: KindReport) -> Iterator[str]:
    for matter, words in _MATTERS.items():
        notes = kind.notes.of(matter)
        if notes:
            yield f"  {kind.notes.counts[matter]} {words}:"
            yield from (f"    {note.object}: {note.text}" for note in notes[:_MAX_NAMED_IN_TEXT])
            if kind.notes.counts[matter] > _MAX_NAMED_IN_TEXT:
                yield f"    and {kind.notes.counts[matter] - _MAX_NAMED_IN_TEXT} more; -o json names {MAX_NAMED_OBJECTS}"


_MATTERS: Final = {
    "refused": "refused by the API server",
    "differs": "would not come back as they are",
    "loses-fields": "lose fields with each write",
    "too-long": "have more annotations than Kubernetes admits",
    "refused-at-creation": "stay as they are, but would be refused if you created them again",
}


def _change(before: str, after: str) -> str:
    return before if before == after else f"{before}, then {after}"


def _retire(retire: dict[str, Any]) -> Iterator[str]:
    rows = retire["managers"]
    yield f"{retire['version']}: {retire['objects']} objects have managed fields in this version"
    for row in rows[:_MAX_NAMED_IN_TEXT]:
        yield f"  {row['kind']} {row['manager']} ({row['operation']}): {row['objects']} objects, such as {', '.join(row['examples'])}"
    if rows:
        yield (
            "  Apply these objects again in the other version, as their managers do. Entries that are dropped instead take the ownership "
            "with them: fields that a manager stops applying are not removed any more"
        )


def _verdict(report: MigrationReport) -> str:
    if report.blocked:
        return "nothing was changed"
    if report.dry_run:
        return "nothing was changed; run without --dry-run to do it"
    where = f" of namespace {report.namespace}" if report.namespace else ""
    if report.stopped:
        return f"stopped after {report.seconds:.0f} s; run it again to go on"
    if report.proven:
        return f"proven: all objects{where} are stored in {report.to}, after {report.seconds:.0f} s"
    return f"not proven: some objects{where} may be stored in another version than {report.to}; see above, and run it again"
