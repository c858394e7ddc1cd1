"""Sequences of writes to one object by several field managers in both versions, made by dice. What must hold of them says `law.py`."""

from enum import Enum
from typing import Any, Final, NamedTuple

from dynamo_webhooks.api.kinds import ALPHA, BETA
from tests.laws.dice import Draw
from tests.laws.managers.subjects import Subject, draw_subject

Object = dict[str, Any]
OWNER: Final = "owner"  # holds the manifest, as Flux or Argo CD do
BESIDE: Final = "beside"  # another manager with a manifest of its own
SUCCESSOR: Final = "successor"  # holds the manifest after the owner
MAX_STEPS: Final = 6  # after the first


class Intent(Enum):
    """What a step means to do."""

    FIRST = "first"
    AGAIN = "again"
    MOVE = "move"
    DROP = "drop"
    BESIDE = "beside"
    LABEL = "label"
    STATUS = "status"
    EDIT = "edit"


class Step(NamedTuple):
    """One write. `body` is a manifest for applies and a JSON merge patch for the others."""

    intent: Intent
    version: str
    manager: str
    body: Object
    force: bool = False

    @property
    def applies(self) -> bool:
        """Whether it is a server-side apply."""
        return self.intent in (Intent.FIRST, Intent.AGAIN, Intent.MOVE, Intent.DROP, Intent.BESIDE)


class Sequence(NamedTuple):
    """The steps, and the subject that the owner's manifest says in the end."""

    kind: str
    steps: tuple[Step, ...]

    def __str__(self) -> str:
        """All that is needed to see it again."""
        return "\n".join(f"{step.intent.value} {step.version} by {step.manager}: {step.body}" for step in self.steps)


def draw_any(draw: Draw, kind: str = "") -> Sequence:
    """A sequence of one owner's writes and others' beside him, or now and then a handover."""
    return draw_handover(draw, kind) if draw(5) == 4 else draw_sequence(draw, kind)


def draw_sequence(draw: Draw, kind: str = "") -> Sequence:
    """A first apply and up to six more writes."""
    subject = draw_subject(draw, kind)
    version = _version(draw)
    steps = [Step(Intent.FIRST, version, OWNER, subject.manifest(version))]
    beside: Subject | None = None
    beside_version = ""
    for _ in range(1 + draw(MAX_STEPS)):
        match draw(8):
            case 0:
                steps.append(Step(Intent.AGAIN, version, OWNER, subject.manifest(version)))
            case 1 | 2:
                version = BETA if version == ALPHA else ALPHA
                steps.append(Step(Intent.MOVE, version, OWNER, subject.manifest(version), force=True))
            case 3 if beside is None:  # dropping beside others still has open ends: a component's null, an annotation that is written again
                subject = subject.smaller(draw)
                steps.append(Step(Intent.DROP, version, OWNER, subject.manifest(version)))
            case 4:
                if beside is None:
                    beside, beside_version = subject.beside(draw), _version(draw)
                if beside is not None:
                    steps.append(Step(Intent.BESIDE, beside_version, BESIDE, beside.manifest(beside_version)))
            case 5:
                labels = {"metadata": {"labels": {f"l{draw(2)}": f"v{draw(3)}"}}}
                steps.append(Step(Intent.LABEL, _version(draw), "kubectl", labels))
            case 6:
                written = _version(draw)
                steps.append(Step(Intent.STATUS, written, "controller", {"status": subject.status(written, draw)}))
            case _:
                written = _version(draw)
                steps.append(Step(Intent.EDIT, written, "editor", subject.edit(draw)))
    return Sequence(subject.kind, tuple(steps))


def draw_handover(draw: Draw, kind: str = "") -> Sequence:
    """Somebody else takes over with the manifest in the other version; the first owner's fields stay his, too."""
    subject, first = draw_subject(draw, kind), _version(draw)
    second = BETA if first == ALPHA else ALPHA
    steps = [
        Step(Intent.FIRST, first, OWNER, subject.manifest(first)),
        Step(Intent.LABEL, _version(draw), "kubectl", {"metadata": {"labels": {"a": "b"}}}),
        Step(Intent.MOVE, second, SUCCESSOR, subject.manifest(second), force=True),
        Step(Intent.STATUS, first, "controller", {"status": subject.status(first, draw)}),
    ]
    return Sequence(subject.kind, tuple(steps))


def _version(draw: Draw) -> str:
    return (ALPHA, BETA)[draw(2)]
