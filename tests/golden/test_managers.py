"""The recorded objects under field managers: applied in their version, labelled in the other, applied again, nothing changes; and
upstream's manifests that were written in both versions, moved from one to the other.

Many come from upstream's example manifests. What the API server wouldn't accept in both versions isn't tried.
"""

import json
from collections.abc import Callable, Iterable
from functools import cache
from typing import Final

import pytest

from tests.golden.upstream import CONVERTED, accepted, converted_wrongly, manifests, moved_wrongly, pairs, stability
from tests.laws.conftest import WHOLE, share
from tests.laws.managers.apply import Object
from tests.laws.managers.law import breaches
from tests.laws.managers.test_managers import TRIED, modelled

MIN_OBJECTS: Final = 1000
SHARE: Final = 1 if WHOLE else 16  # of the objects, one in so many
# A sidecar called main, whose probe v1beta1 has in a second container of that name; and an empty list of client pods in a gpuMemoryService.
OPEN: Final = 2
PAIRS: Final = 36
ALIKE: Final = 10


@cache
def _tried() -> list[Object]:
    objects = [manifest for _, manifest in manifests(TRIED, CONVERTED)]
    return [manifest for manifest in share(objects, SHARE) if accepted(manifest)]


def _check(wrong: Callable[[Object], Iterable[str]]) -> None:
    broken = [f"{faults}\n{json.dumps(manifest)}" for manifest in _tried() if (faults := [*wrong(manifest)])]
    assert len(broken) <= OPEN, f"{len(broken)} of {len(_tried())}, the first ones:\n" + "\n".join(sorted(broken, key=len)[:5])
    assert len(_tried()) > MIN_OBJECTS // SHARE


def test_recorded_objects_are_stable() -> None:
    """Each, whatever it says."""
    _check(lambda manifest: breaches(stability(manifest), modelled))


def test_what_convert_writes_of_recorded_objects_changes_nothing() -> None:
    """Neither the object nor its generation; and syncs after the first one write nothing."""
    _check(lambda manifest: converted_wrongly(manifest, modelled))


@pytest.mark.slow("moves each pair of upstream's with the fields that managers own")
def test_upstream_pairs_move_in_either_direction() -> None:
    """By one manager and by two: the result is what the second manifest alone gives."""
    recorded = list(pairs())
    assert len(recorded) >= PAIRS
    assert sum(pair.alike for pair in recorded) >= ALIKE
    broken = [text for pair in recorded for text in moved_wrongly(pair, modelled)]
    assert not broken, "\n".join(broken)
