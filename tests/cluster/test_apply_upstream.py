"""Upstream's manifests on a real API server: nothing is written when they are applied again beside writes in the other version, and one
moved by hand to the other version is what its twin alone is. They lie in the recorded objects, beside the checkout.

APPLY_RECORDED objects (60) of all that were recorded, spread over the files.
"""

import json
import os
from functools import partial
from typing import Final

import pytest

from tests.cluster.applying import Held
from tests.cluster.harness import ControlPlane
from tests.golden.upstream import CONVERTED, accepted, converted_wrongly, manifests, moved_wrongly, pairs, stability
from tests.laws.managers.law import breaches
from tests.laws.managers.test_managers import TRIED, modelled

pytestmark = pytest.mark.golden
RECORDED: Final = int(os.environ.get("APPLY_RECORDED") or 60)


def test_recorded_objects_and_what_convert_writes_of_them_are_stable(plane: ControlPlane) -> None:
    """Those that are on the model, which tests/golden/test_managers.py tries on all."""
    found = [manifest for _, manifest in manifests(TRIED, CONVERTED)]
    tried = 0
    for manifest in found[:: max(1, len(found) // RECORDED)]:
        if accepted(manifest) and not breaches(stability(manifest), modelled):
            tried += 1
            assert not breaches(stability(manifest), partial(Held, plane)), json.dumps(manifest)
            assert not [*converted_wrongly(manifest, partial(Held, plane))], json.dumps(manifest)
    assert tried > RECORDED // 3


def test_upstream_pairs_move_in_either_direction(plane: ControlPlane) -> None:
    """By one manager and by two."""
    broken = [text for pair in pairs() for text in moved_wrongly(pair, partial(Held, plane))]
    assert not broken, "\n".join(broken)
