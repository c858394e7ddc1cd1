"""Nobody loses anything on a real API server: manifests of both versions, applied by one manager and by two, beside other writes."""

import os
from collections.abc import Callable
from functools import partial
from typing import Final

import pytest

from dynamo_webhooks.api.kinds import ALPHA, BETA
from tests.cluster.applying import Held
from tests.cluster.harness import ControlPlane
from tests.laws.conftest import SEED
from tests.laws.dice import Dice
from tests.laws.managers.law import breaches
from tests.laws.managers.sequences import OWNER, SUCCESSOR, Intent, Sequence, Step, draw_handover, draw_sequence
from tests.laws.managers.subjects import ADAPTER, COMPONENT, FACETS, GRAPH, NAME, Subject
from tests.laws.managers.test_managers import TRIED
from tests.laws.managers.twins import ALPHA_ONLY, EXCLUSIVE, TRAITS, Part

SEQUENCES: Final = int(os.environ.get("APPLY_LAW_SEQUENCES") or 12)  # generated ones a kind, of each sort
MOVES: Final = [(first, second, mover) for first, second in ((ALPHA, BETA), (BETA, ALPHA)) for mover in (OWNER, SUCCESSOR)]


def _everything() -> list[Subject]:
    """Every trait in a component of its own, all that go together in one, and every facet of every kind."""
    alone = [Part(name.replace(" ", "-"), "worker", tuple(dict.fromkeys(("image", name)))) for name in TRAITS]
    together = tuple(name for name in TRAITS if not any(name in group and name != min(group & set(TRAITS)) for group in EXCLUSIVE))
    whole = Part("all", "decode", together, tuple(ALPHA_ONLY))
    return [
        Subject(GRAPH, tuple(alone[::2]), tuple(FACETS[GRAPH])),
        Subject(GRAPH, (*alone[1::2], whole)),
        Subject(COMPONENT, (Part(NAME, "worker", together, tuple(ALPHA_ONLY)),), tuple(FACETS[COMPONENT])),
        Subject(ADAPTER),
    ]


@pytest.mark.parametrize(("first", "second", "mover"), MOVES)
@pytest.mark.parametrize("subject", _everything(), ids=lambda subject: f"{subject.kind}-{len(subject.parts)}")
def test_a_manifest_moved_by_hand_is_its_twin(plane: ControlPlane, subject: Subject, first: str, second: str, mover: str) -> None:
    """Applied in one version, then its handwritten twin by the same manager or another; labels and a status are written in between."""
    label = {"metadata": {"labels": {"a": "b"}}}
    status = {"status": subject.status(first, Dice(0))}
    steps = (
        Step(Intent.FIRST, first, OWNER, subject.manifest(first)),
        Step(Intent.LABEL, second, "kubectl", label),
        Step(Intent.MOVE, second, mover, subject.manifest(second), force=True),
        Step(Intent.STATUS, first, "controller", status),
        Step(Intent.AGAIN, second, mover, subject.manifest(second)),
    )
    assert not breaches(Sequence(subject.kind, steps), partial(Held, plane))


@pytest.mark.parametrize("kind", TRIED)
@pytest.mark.parametrize("sort", [draw_sequence, draw_handover], ids=["sequences", "handovers"])
def test_generated_sequences_keep_the_law(plane: ControlPlane, kind: str, sort: Callable[[Dice, str], Sequence]) -> None:
    """The law of tests/laws/managers, held to by the API server itself."""
    for number in range(SEQUENCES):
        sequence = sort(Dice(SEED, "law", number), kind)
        found = breaches(sequence, partial(Held, plane))
        assert not found, f"LAWS_SEED={SEED}, {kind} number {number}: {found}\n{sequence}"
