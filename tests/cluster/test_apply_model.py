"""The model of server-side apply in tests/laws/managers answers as a real API server does: the same objects, owners and conflicts.

APPLY_SEQUENCES generated sequences (300), from LAWS_SEED; what was tried is said at the end as for the laws of conversion.
"""

import json
import os
from collections.abc import Iterator
from typing import Any, Final, NamedTuple, TypeAlias

import pytest

from dynamo_webhooks.api.kinds import ALPHA, BETA
from tests.cluster.applying import Held
from tests.cluster.conversion import without_server_fields
from tests.cluster.harness import ControlPlane
from tests.laws.conftest import SEED
from tests.laws.dice import Dice
from tests.laws.managers.apply import ConflictError
from tests.laws.managers.fields import Fields
from tests.laws.managers.law import write
from tests.laws.managers.sequences import Sequence, Step, draw_sequence
from tests.laws.managers.server import Server
from tests.laws.managers.test_managers import converted
from tests.laws.managers.typed import InvalidError

Node: TypeAlias = dict[str, Any]
SEQUENCES: Final = int(os.environ.get("APPLY_SEQUENCES") or 300)
SHARES: Final = 10


@pytest.mark.parametrize("share", range(SHARES))
def test_the_model_agrees(plane: ControlPlane, share: int) -> None:
    """Step by step; a complaint shows the sequence up to the step."""
    for number in range(share, SEQUENCES, SHARES):
        if found := disagreement(plane, draw_sequence(Dice(SEED, "apply", number))):
            pytest.fail(f"LAWS_SEED={SEED}, sequence {number}: {found}")


def disagreement(plane: ControlPlane, sequence: Sequence) -> str:
    """How the model and the API server differ on a sequence; nothing when they don't."""
    real, model = Held(plane, sequence.kind), Server(sequence.kind, converted)
    before: Node = {}
    for number, step in enumerate(sequence.steps):
        got, expected = _done(real, step), _done(model, step)
        problems = [f"{got}, expected {expected}"] if got[0] != expected[0] else []
        problems += _differences(real, model)
        now = real.read(BETA)["metadata"]
        if before and not (expected.changed or expected.renewed) and now["resourceVersion"] != before["resourceVersion"]:
            problems.append("a new resourceVersion")
        if before and (now["generation"] > before["generation"]) != expected.generation:
            problems.append(f"generation {now['generation']}, expected {'a' if expected.generation else 'no'} new one")
        if problems:
            return "\n".join([*problems, *(str(step) for step in sequence.steps[: number + 1])])
        before = now
    return ""


class Done(NamedTuple):
    """How a write ended, and what it changed."""

    outcome: str
    changed: bool = False
    generation: bool = False
    renewed: bool = False


def _done(holder: Held | Server, step: Step) -> Done:
    try:
        written = write(holder, step)
    except (ConflictError, InvalidError) as error:
        return Done(type(error).__name__)
    return Done("accepted", written.changed, written.generation, written.renewed)


def _differences(real: Held, model: Server) -> Iterator[str]:
    for version in (ALPHA, BETA):
        have, want = (without_server_fields(holder.read(version)) for holder in (real, model))
        if have != want:
            yield f"{version}: {json.dumps(have)}\nexpected: {json.dumps(want)}"
    owners, expected = ({who: (owned.version, _normal(owned.fields)) for who, owned in holder.managers.items()} for holder in (real, model))
    if owners != expected:
        yield f"owners: {owners}\nexpected: {expected}"


def _normal(fields: Fields) -> set[str]:
    return {json.dumps([_element(element) for element in path]) for path in fields.paths()}


def _element(element: str) -> Any:
    kind, text = element[0], element[2:]
    return [kind, text if kind == "f" else json.dumps(json.loads(text), sort_keys=True)]


def test_every_kind_is_tried() -> None:
    """Not only graphs."""
    assert len({draw_sequence(Dice(SEED, "apply", number)).kind for number in range(SEQUENCES)}) == 4
