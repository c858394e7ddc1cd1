"""The phase follows from facts: the table of docs/certificates.md ("A rotation"), row by row, and the emergencies."""

from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest

from dynamo_webhooks.certs.policy import derive, has_converged, is_probing_impossible, list_foreign_endpoints
from dynamo_webhooks.certs.state import CertificateState, Endpoint, Phase
from tests.certs.states import NOW, leaf, leaf_pair, serving_of, state

LONG, SHORT = timedelta(days=2), timedelta(seconds=119)
ALL = ("ab",)


@pytest.mark.parametrize(
    ("phase", "facts"),
    [
        # nothing
        (Phase.BOOTSTRAP, {"authority": None}),
        (Phase.BOOTSTRAP, {"slots": "", "by": ""}),
        (Phase.BOOTSTRAP, {"phase": Phase.BOOTSTRAP}),
        # current | current
        (Phase.STABLE, {}),
        (Phase.STABLE, {"shows": ("a", "b", "")}),
        (Phase.STABLE, {"phase": None}),
        (Phase.STABLE, {"phase": Phase.DRAIN}),
        (Phase.STABLE, {"by": ""}),
        (Phase.STABLE, {"by": "b"}),
        (Phase.PREPARE, {"keys": ""}),
        # current, next | current
        (Phase.TRUST, {"slots": "a>b", "shows": ("a",)}),
        (Phase.TRUST, {"slots": "a>b", "shows": ("ab", "a", "ab")}),
        (Phase.TRUST, {"slots": "a>b", "shows": ("ba",), "phase": Phase.SETTLE, "ago": LONG}),
        (Phase.SETTLE, {"slots": "a>b", "shows": ALL, "phase": Phase.TRUST, "ago": LONG}),
        (Phase.SETTLE, {"slots": "a>b", "shows": ALL, "phase": Phase.SETTLE, "ago": SHORT}),
        (Phase.SETTLE, {"slots": "a>b", "shows": ALL, "phase": Phase.SETTLE, "ago": None}),
        (Phase.SETTLE, {"slots": "a>b", "shows": ALL, "phase": Phase.SETTLE, "ago": -LONG}),
        (Phase.SETTLE, {"slots": "a>b", "shows": ALL, "phase": None, "ago": LONG}),
        (Phase.ISSUE, {"slots": "a>b", "shows": ALL, "phase": Phase.SETTLE, "ago": timedelta(seconds=120)}),
        # the serving Secret is gone, leaves live on in memory
        (Phase.SETTLE, {"slots": "a>b", "shows": ALL, "by": "", "presents": "aa", "phase": Phase.SETTLE, "ago": SHORT}),
        # nothing is served at all: waiting prevents no failure
        (Phase.ISSUE, {"slots": "a>b", "shows": ALL, "by": "", "presents": "", "phase": Phase.TRUST}),
        # current, next | next
        (Phase.ISSUE, {"slots": "a>b", "shows": ALL, "by": "b", "phase": Phase.SETTLE, "ago": SHORT}),
        (Phase.ISSUE, {"slots": "a>b", "shows": ("a",), "by": "b"}),
        (Phase.ISSUE, {"slots": "a>b", "shows": ALL, "by": "b", "keys": "a"}),
        # the old authorities were removed from the CA Secret that replaces a lost one: the new one must not sign before it is trusted
        (Phase.TRUST, {"slots": "b", "by": "a", "shows": ("a",), "phase": Phase.TRUST}),
        (Phase.SETTLE, {"slots": "b", "by": "a", "shows": ("ba",), "phase": Phase.TRUST, "ago": LONG}),
        (Phase.SETTLE, {"slots": "b", "by": "a", "shows": ("ba",), "phase": Phase.SETTLE, "ago": SHORT}),
        (Phase.ISSUE, {"slots": "b", "by": "a", "shows": ("ba",), "phase": Phase.SETTLE, "ago": LONG}),
        (Phase.STABLE, {"slots": "b", "by": "b", "shows": ("ba",), "phase": Phase.SETTLE, "ago": LONG}),
        # next can't sign, and its leaf is not served
        (Phase.PREPARE, {"slots": "a>b", "shows": ALL, "keys": "a", "phase": Phase.SETTLE}),
        # current, previous | current
        (Phase.ROLL, {"slots": "b<a", "shows": ("ba",), "by": "b", "phase": Phase.ROLL}),
        (Phase.ROLL, {"slots": "b<a", "shows": ("ba",), "by": "b", "phase": None}),
        (Phase.ROLL, {"slots": "b<a", "shows": ("ba",), "by": "b", "phase": Phase.SETTLE}),
        (Phase.DRAIN, {"slots": "b<a", "shows": ("ba",), "by": "b", "phase": Phase.DRAIN}),
        (Phase.DROP, {"slots": "b<a", "shows": ("ba", "b", "b"), "by": "b", "phase": Phase.DROP}),
        (Phase.ROLL, {"slots": "b<a", "shows": ("b",), "by": "b", "phase": None}),
        (Phase.DRAIN, {"slots": "b<a", "shows": ("b",), "by": "b", "phase": Phase.DRAIN}),
        # current, previous | previous: an old Secret was put back
        (Phase.ISSUE, {"slots": "b<a", "shows": ("ba",), "by": "a", "phase": Phase.ROLL}),
        (Phase.ISSUE, {"slots": "b<a", "shows": ("ba",), "by": "a", "phase": Phase.DRAIN}),
        (Phase.TRUST, {"slots": "b<a", "shows": ("ba", "a"), "by": "a", "phase": Phase.DRAIN}),
        # ... or the CA Secret was lost, and no client knows current yet
        (Phase.TRUST, {"slots": "b<a", "shows": ("a",), "by": "a", "phase": Phase.TRUST}),
        (Phase.SETTLE, {"slots": "b<a", "shows": ("ba",), "by": "a", "phase": Phase.TRUST}),
        (Phase.SETTLE, {"slots": "b<a", "shows": ("ba",), "by": "a", "phase": None}),
        (Phase.ISSUE, {"slots": "b<a", "shows": ("ba",), "by": "a", "phase": Phase.SETTLE, "ago": LONG}),
        # the serving Secret is gone while the old authority is let go
        (Phase.ROLL, {"slots": "b<a", "shows": ("ba",), "by": "", "presents": "b", "phase": Phase.ROLL}),
        (Phase.DRAIN, {"slots": "b<a", "shows": ("ba",), "by": "", "presents": "b", "phase": Phase.DRAIN}),
        (Phase.PREPARE, {"slots": "b<a", "shows": ("ba",), "by": "", "presents": "b", "phase": Phase.DRAIN, "keys": ""}),
        # a lost key can wait for the end of DRAIN as long as no leaf is needed
        (Phase.DRAIN, {"slots": "b<a", "shows": ("ba",), "by": "b", "phase": Phase.DRAIN, "keys": ""}),
    ],
)
def test_every_row(phase: Phase, facts: dict[str, Any]) -> None:
    """One row of the table; the phase written down decides only where facts can't."""
    assert derive(state(**facts), NOW) is phase


def test_a_compromised_authority_settles_quickly() -> None:
    """15 seconds, since waiting protects the thief."""
    begun = state("a>b", shows=ALL, phase=Phase.SETTLE, ago=timedelta(seconds=15))
    assert begun.authority is not None
    assert derive(begun, NOW) is Phase.SETTLE
    assert derive(replace(begun, authority=replace(begun.authority, reason="compromised")), NOW) is Phase.ISSUE


def test_expiry_is_an_outage() -> None:
    """With the leaf expired nothing is protected by waiting, with the authority expired neither."""
    later = NOW + timedelta(days=400)
    assert derive(state("a>b", shows=ALL, phase=Phase.TRUST), later) is Phase.ISSUE
    assert derive(state(), NOW + timedelta(days=3640)) is Phase.PREPARE


def asked(*endpoints: Endpoint) -> CertificateState:
    return state("b<a", shows=("ba",), by="b", phase=Phase.ROLL, endpoints=endpoints)


def test_an_old_authority_is_let_go_by_what_endpoints_say() -> None:
    """Two rounds of all endpoints; one silent endpoint counts as no answer, only silent ones as unreachable."""
    good, early, old = Endpoint("1", leaf("b"), 2), Endpoint("2", leaf("b"), 1), Endpoint("3", leaf("a"), 9)
    silent, starting = Endpoint("4"), Endpoint("5", ready=False)
    assert has_converged(asked(good))
    assert has_converged(asked())
    assert not has_converged(asked(good, early))
    assert not has_converged(asked(good, old))
    assert not has_converged(asked(good, silent))
    assert not has_converged(asked(good, starting))
    assert not has_converged(asked(starting))
    assert list_foreign_endpoints(asked(good, old, silent)) == ("3",)
    assert [is_probing_impossible(asked(*found)) for found in ((good, silent), (silent,), (starting,), ())] == [False, True, False, False]
    assert is_probing_impossible(replace(asked(), endpoints=None))
    assert has_converged(replace(asked(), endpoints=None))


def test_a_stored_leaf_without_its_key_counts_as_stored() -> None:
    """The phase asks who issued; whether the pair is any good is the leaf's own question."""
    broken = replace(state("b<a", shows=("ba",), by="b", phase=Phase.DRAIN), serving=serving_of(leaf_pair("b"), b"", key=None))
    assert derive(broken, NOW) is Phase.DRAIN
