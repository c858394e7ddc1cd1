"""The recorded objects under field managers: applied in their version, labelled in the other, applied again, nothing changes; and
upstream's manifests that were written in both versions, moved from one to the other.

Many come from upstream's example manifests. What the API server wouldn't accept in both versions isn't tried.
"""

from __future__ import annotations

import json
from typing import Final

import pytest

from tests.golden.upstream import CONVERTED, accepted, converted_wrongly, manifests, moved_wrongly, pairs, stability
from tests.laws.managers.law import breaches
from tests.laws.managers.test_managers import TRIED, modelled

pytestmark = pytest.mark.golden
ENOUGH: Final = 1000
# A sidecar called main, whose probe v1beta1 has in a second container of that name; and an empty list of client pods in a gpuMemoryService.
OPEN: Final = 2
PAIRS: Final = 36
ALIKE: Final = 10


def test_recorded_objects_are_stable() -> None:
    """Each, whatever it says."""
    tried, broken = 0, []
    for _, manifest in manifests(TRIED, CONVERTED):
        if accepted(manifest):
            tried += 1
            if found := breaches(stability(manifest), modelled):
                broken.append(f"{found}\n{json.dumps(manifest)}")
    assert len(broken) <= OPEN, f"{len(broken)} of {tried}, the first ones:\n" + "\n".join(sorted(broken, key=len)[:5])
    assert tried > ENOUGH


def test_what_convert_writes_of_recorded_objects_changes_nothing() -> None:
    """Neither the object nor its generation; and syncs after the first one write nothing."""
    tried, broken = 0, []
    for _, manifest in manifests(TRIED, CONVERTED):
        if accepted(manifest):
            tried += 1
            if found := [*converted_wrongly(manifest, modelled)]:
                broken.append(f"{found}\n{json.dumps(manifest)}")
    assert len(broken) <= OPEN, f"{len(broken)} of {tried}, the first ones:\n" + "\n".join(sorted(broken, key=len)[:5])
    assert tried > ENOUGH


def test_upstream_pairs_move_in_either_direction() -> None:
    """By one manager and by two: the result is what the second manifest alone gives."""
    found = list(pairs())
    assert len(found) >= PAIRS
    assert sum(pair.alike for pair in found) >= ALIKE
    broken = [text for pair in found for text in moved_wrongly(pair, modelled)]
    assert not broken, "\n".join(broken)
