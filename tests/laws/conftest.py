"""How many objects the laws are tried on, and from which seed; the environment may say otherwise, and every run says what it was.

LAWS_OBJECTS is the number a kind and direction thrown with dice (1,000; `make laws` tries ten thousand), LAWS_EXAMPLES the number that
hypothesis draws (100; `make laws` 500), which is slower and looks in other places, LAWS_SEED the seed of both, fresh by default: the
conftest.py above draws it, and says it at the end of a run. `make laws` takes the day. CI takes its seed from the content of the tree:
each change is tried on objects of its own, and tried again it is tried on the same ones.
"""

from __future__ import annotations

import os
import secrets
from typing import Any, Final

import hypothesis
from hypothesis import HealthCheck, Phase

SEED: Final = int(os.environ.get("LAWS_SEED") or secrets.randbits(32))
OBJECTS: Final = int(os.environ.get("LAWS_OBJECTS") or 1000)
EXAMPLES: Final = int(os.environ.get("LAWS_EXAMPLES") or 100)

# No deadline: nothing here is timed. No database: a counterexample that matters becomes an explicit one in examples.py.
SETTINGS: Final = hypothesis.settings(
    max_examples=EXAMPLES,
    deadline=None,
    database=None,
    print_blob=True,
    phases=(Phase.explicit, Phase.generate, Phase.shrink),
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large, HealthCheck.large_base_example],
)


def lawful(test: Any) -> Any:
    """Gives a property the run's seed and number of examples."""
    return hypothesis.seed(SEED)(SETTINGS(test))


def sampled(test: Any) -> Any:
    """As lawful, but with a tenth of the examples where they are many: for properties beside the main ones."""
    return hypothesis.seed(SEED)(hypothesis.settings(SETTINGS, max_examples=max(EXAMPLES // 10, min(EXAMPLES, 200)))(test))
