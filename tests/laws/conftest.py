"""How many objects the laws are tried on, and from which seed: 200 a kind and direction from a fresh seed, or what the environment says.

LAWS_EXAMPLES asks for another number (`make laws` for ten thousand, about 20 minutes of one core), LAWS_SEED for the objects of an
earlier run. CI fixes the seed, so that a change is judged by the change and not by the dice; the dice are for `make laws`.
"""

from __future__ import annotations

import os
import secrets
from typing import Any, Final

import hypothesis
import pytest
from hypothesis import HealthCheck, Phase

SEED: Final = int(os.environ.get("LAWS_SEED") or secrets.randbits(32))
EXAMPLES: Final = int(os.environ.get("LAWS_EXAMPLES") or 200)

# No deadline: nothing here is timed. No database: a counterexample that matters becomes an explicit one in examples.py.
SETTINGS: Final = hypothesis.settings(
    max_examples=EXAMPLES,
    deadline=None,
    database=None,
    print_blob=True,
    phases=(Phase.explicit, Phase.generate, Phase.shrink),
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large, HealthCheck.large_base_example],
)


def pytest_report_header(config: pytest.Config) -> str:
    """Says how to run the same objects again."""
    return f"laws of conversion: LAWS_SEED={SEED} LAWS_EXAMPLES={EXAMPLES}"


def lawful(test: Any) -> Any:
    """Gives a property the run's seed and number of examples."""
    return hypothesis.seed(SEED)(SETTINGS(test))


def sampled(test: Any) -> Any:
    """As lawful, but with a tenth of the examples where they are many: for properties beside the main ones."""
    return hypothesis.seed(SEED)(hypothesis.settings(SETTINGS, max_examples=max(EXAMPLES // 10, min(EXAMPLES, 200)))(test))
