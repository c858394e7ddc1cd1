"""The decoders on inputs that coverage led to, and on those that hypothesis draws; what must hold of each, targets.py says."""

import random
from typing import Any, Final

import hypothesis
import orjson
import pytest
from hypothesis import HealthCheck, example, given
from hypothesis import strategies as st

from tests.hostile.guided import explored
from tests.hostile.settings import GUIDED, SEED
from tests.hostile.targets import TARGETS, Target

_SETTINGS: Final = hypothesis.settings(
    max_examples=max(GUIDED // 10, 100),
    database=None,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large],
)
_TEXT: Final = st.text(max_size=30)
_NAMES: Final = st.sampled_from(
    ["metadata", "spec", "status", "services", "components", "replicas", "name", "annotations", "kept", "request"]
)
_LEAF: Final = st.none() | st.booleans() | st.integers(-(2**63), 2**64 - 1) | st.floats(allow_nan=False, allow_infinity=False) | _TEXT
_JSON: Final = st.recursive(_LEAF, lambda below: st.lists(below, max_size=4) | st.dictionaries(_NAMES | _TEXT, below, max_size=5))
_YAML: Final = st.lists(
    st.sampled_from(
        [*"-?:,[]{}#&*!|>'\"%@` \n\t~", "\n- ", ": ", "\n  ", "---\n", "...\n", "<<: *a", "&a ", "!!int ", "0x1", "\u2028", "\ufeff"]
    )
    | _TEXT,
    max_size=25,
).map("".join)


@pytest.mark.interpreted
@pytest.mark.parametrize("name", TARGETS)
def test_nothing_unforeseen_is_raised(name: str) -> None:
    _, steps = explored(TARGETS[name], random.Random(f"{SEED}/{name}"), GUIDED)  # noqa: S311 - nothing here is a secret
    assert steps > 30, "nothing is watched"


@hypothesis.seed(SEED)
@_SETTINGS
@given(value=_JSON, first=st.integers(0, 255))
@example(value="\x85", first=0)
def test_any_json_is_read(value: Any, first: int) -> None:
    body = orjson.dumps(value)
    TARGETS["envelope"].run(body)
    TARGETS["decode"].run(bytes([first]) + body)
    TARGETS["remainder"].run(bytes([first]) + body + b"\0" + body)
    TARGETS["yaml"].run(body)


@hypothesis.seed(SEED)
@_SETTINGS
@given(text=_YAML)
def test_any_text_is_read(text: str) -> None:
    TARGETS["yaml"].run(text.encode())


def picky(body: bytes) -> None:
    """Raises only after four steps that are taken one after the other."""
    if b"[" not in body:
        return
    if b"{" not in body:
        return
    if b"null" not in body:
        return
    if len(body) > 20:
        raise KeyError


def test_coverage_leads_to_what_no_single_change_reaches() -> None:
    target = Target(picky, lambda: [b"1"], frozenset({__file__}))
    with pytest.raises(AssertionError, match=r"KeyError for b'"):
        explored(target, random.Random(1), 20_000)  # noqa: S311 - as above
    assert explored(Target(picky, lambda: [b"1"], frozenset()), random.Random(1), 500) == (1, 0)  # noqa: S311 - as above
