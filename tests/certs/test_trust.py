"""Trusted authorities: own ones, and foreign ones only while an endpoint presents their leaf."""

from dataclasses import replace
from datetime import timedelta
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from dynamo_webhooks.certs.authority import issue_leaf, make_authority
from dynamo_webhooks.certs.certificate import read_certificates
from dynamo_webhooks.certs.state import Endpoint, Ownership, Phase, Target, TargetKind
from dynamo_webhooks.certs.trust import MAX_AUTHORITIES, choose_bundle, compose_bundle, is_trusted_everywhere, list_survivors
from tests.certs.states import NOW, authority, bundle, read, state
from tests.rows import run_each

VALIDATING = TargetKind.VALIDATING


def letters(pem: bytes) -> str:
    known = {authority(letter): letter for letter in "abcdefg"}
    return "".join(known[cert] for cert in read_certificates(pem))


@run_each(
    ("expected", "phase", "facts"),
    [
        ("a", Phase.STABLE, {}),
        ("ab", Phase.TRUST, {"slots": "a>b"}),
        ("ba", Phase.ROLL, {"slots": "b<a", "by": "b"}),
        ("b", Phase.DROP, {"slots": "b<a", "by": "b"}),
        # a next that can't sign is forgotten, unless its leaf is out
        ("a", Phase.PREPARE, {"slots": "a>b", "keys": "a"}),
        ("ab", Phase.ISSUE, {"slots": "a>b", "keys": "a", "by": "b"}),
        # a stranger's bundle is trusted only while a leaf of it is presented
        ("a", Phase.STABLE, {"shows": ("a", "f", "a")}),
        ("af", Phase.STABLE, {"shows": ("a", "f", "a"), "presents": "af"}),
        ("af", Phase.STABLE, {"shows": ("a",), "trusted": "f", "presents": "f"}),
        ("a", Phase.STABLE, {"presents": "f"}),
        # I6: not even DROP lets an issuer go whose leaf is presented
        ("ba", Phase.DROP, {"slots": "b<a", "by": "b", "shows": ("ba",), "presents": "ba"}),
        # two survivors of a lost CA Secret, and a stranger too many
        ("abcd", Phase.TRUST, {"slots": "a>b<cd", "by": "a"}),
        ("abcf", Phase.TRUST, {"slots": "a>b<cd", "by": "a", "shows": ("f",), "presents": "f"}),
    ],
)
def test_wanted(expected: str, phase: Phase, facts: dict[str, Any]) -> None:
    """The bundle of a phase, in its order."""
    assert letters(choose_bundle(state(**facts), phase, NOW)) == expected


@run_each(
    ("expected", "facts"),
    [
        ("a", {"by": "a"}),
        ("a", {"by": "", "presents": "aa"}),
        ("", {"by": "", "presents": ""}),
        ("ab", {"by": "b", "presents": "ab", "shows": ("ba",)}),
        # a ready endpoint doesn't answer: the whole last bundle is kept
        ("ab", {"by": "b", "shows": ("ba",), "endpoints": (Endpoint("1"),)}),
        ("ab", {"by": "", "shows": ("ab",), "endpoints": None}),
        ("", {"by": "", "shows": ("ab",), "endpoints": (Endpoint("1", ready=False),)}),
    ],
)
def test_survivors_of_a_lost_secret(expected: str, facts: dict[str, Any]) -> None:
    """The issuers of served leaves, from any object that still holds them."""
    lost = replace(state(**facts), authority=None)
    assert sorted(letters(b"".join(cert.pem for cert in list_survivors(lost)))) == sorted(expected)


@run_each(
    ("shown", "target"),
    [
        (True, Target(VALIDATING, "x", bundles=(bundle("ab"), bundle("ab")))),
        (False, Target(VALIDATING, "x", bundles=(bundle("ab"), bundle("a")))),
        (False, Target(VALIDATING, "x", bundles=(bundle("ba"),))),
        (False, Target(VALIDATING, "x", bundles=(b"",))),
        (False, Target(VALIDATING, "x", bundles=(bundle("ab") + b"\n",))),
        (False, Target(TargetKind.CRD, "x", ownership=Ownership.UNSET)),
        (True, Target(VALIDATING, "x", ownership=Ownership.ABSENT)),
        (True, Target(VALIDATING, "x", ownership=Ownership.FOREIGN)),
        (True, Target(VALIDATING, "x", ownership=Ownership.ANNOTATED, bundles=(bundle("cba"),))),
        (False, Target(VALIDATING, "x", ownership=Ownership.ANNOTATED, bundles=(bundle("a"),))),
    ],
)
def test_what_shows_a_bundle(shown: bool, target: Target) -> None:
    """Own bundles are compared by bytes, cert-manager's by authorities, foreign ones not at all."""
    assert is_trusted_everywhere(replace(state(), targets=(target,)), bundle("ab")) is shown


PAIRS = [make_authority(NOW, generation=number) for number in range(6)]
LIVE = [read(pair.certificate) for pair in PAIRS]
OLD = make_authority(NOW - timedelta(days=100), life=timedelta(days=50), generation=9)
EXPIRED = read(OLD.certificate)
OLD_LEAF = read(issue_leaf(OLD, ["a"], NOW - timedelta(days=100)).certificate)


@given(st.lists(st.sampled_from(LIVE), max_size=8))
def test_order_and_repetition(authorities: list[object]) -> None:
    """Keeps the caller's order, drops duplicates and all but four, and reads back as the same bytes."""
    chosen = [cert for cert in LIVE if cert in authorities]
    bundle = compose_bundle(chosen * 2, (), NOW)
    assert list(read_certificates(bundle)) == chosen[:MAX_AUTHORITIES]
    assert compose_bundle(read_certificates(bundle), (), NOW) == bundle
    assert bundle == b"".join(cert.pem for cert in chosen[:MAX_AUTHORITIES])
    assert all(block.endswith(b"-----END CERTIFICATE-----\n") for block in [bundle] if block)


def test_expired_ones_stay_only_while_they_are_served() -> None:
    """An expired authority is kept only if it issued a served leaf; a bundle is never emptied."""
    assert compose_bundle([LIVE[0], EXPIRED], (), NOW) == LIVE[0].pem
    assert compose_bundle([LIVE[0], EXPIRED], (OLD_LEAF,), NOW) == LIVE[0].pem + EXPIRED.pem
    assert compose_bundle([EXPIRED], (), NOW) == EXPIRED.pem
    assert compose_bundle([], (), NOW) == b""
