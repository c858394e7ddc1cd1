"""The decoders on inputs that coverage led to; what must hold of each, targets.py says."""

from __future__ import annotations

import random

import pytest

from tests.hostile.guided import explored
from tests.hostile.settings import GUIDED, SEED
from tests.hostile.targets import TARGETS


@pytest.mark.parametrize("name", TARGETS)
def test_nothing_unforeseen_is_raised(name: str) -> None:
    target = TARGETS[name]
    given = len(target.seeds())
    kept, steps = explored(target, random.Random(f"{SEED}/{name}"), GUIDED)  # noqa: S311 - nothing here is a secret
    assert kept > given, "no input led anywhere: nothing is watched"
    assert steps > 20
