"""The object that a legacy document becomes, with a note on each field that changes."""

from typing import Any, Final, NamedTuple

from ...api.paths import Path, format_path
from ...api.wording import shorten

MAPPED: Final = "mapped"
NO_EQUIVALENT: Final = "no equivalent"
DECIDE: Final = "you must decide"
_OUTCOMES: Final = (MAPPED, NO_EQUIVALENT, DECIDE)
_NAMED: Final = 3  # fields that one sentence names before it counts the others
_LONGEST: Final = 300  # characters of a path: map keys come from authors


class Note(NamedTuple):
    """A field that changed between the document and the object. `to` is its new path, empty if it has none."""

    field: Path
    outcome: str  # MAPPED, NO_EQUIVALENT or DECIDE
    text: str
    to: Path = ()


class Modernised(NamedTuple):
    """A document of the first releases as a v1alpha1 object, or None for an image build. Fields without a note keep place and value."""

    kind: str
    name: str
    object: dict[str, Any] | None
    notes: tuple[Note, ...]

    def lines(self) -> list[str]:
        """Formats the notes, one line for each sentence with the fields it is true of; decisions come last."""
        groups: dict[tuple[str, str], list[str]] = {}
        for note in sorted(self.notes, key=lambda note: _OUTCOMES.index(note.outcome)):
            text = "; ".join(filter(None, (f"becomes {_shown(note.to)}" if note.to else "", note.text)))
            groups.setdefault((note.outcome, text), []).append(_shown(note.field))
        becomes = f"{self.object['kind']} of v1alpha1" if self.object else "no object: images are built outside the cluster"
        lines = [f"{f'{self.kind} {self.name}'.rstrip()} (a kind of the first releases) becomes {becomes}"]
        for (outcome, text), fields in groups.items():
            more = f" and {len(fields) - _NAMED} more" if len(fields) > _NAMED else ""
            lines.append(f"  {outcome}: {', '.join(fields[:_NAMED])}{more}: {text}")
        return lines


def _shown(path: Path) -> str:
    return shorten(format_path(path), _LONGEST)
