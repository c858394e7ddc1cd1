"""Each predicate of the chains alone, their order, and the guards against floods."""

from dataclasses import replace
from datetime import datetime, timedelta
from typing import Any

import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.serialization import Encoding, load_pem_private_key

from dynamo_webhooks.certs.authority import issue_leaf, make_authority
from dynamo_webhooks.certs.policy import (
    is_outage,
    leaf_reason,
    may_sign,
    renewal_time,
    rotation_reason,
    rotation_time,
    unusable_reason,
)
from dynamo_webhooks.certs.state import AuthoritySecret, CertificateState, Endpoint, Hint, Phase, Profile, Serving, Timings
from tests.certs.states import BORN, NOW, PROFILE, authority, bundle, key, leaf, leaf_pair, pair, read, serving_of, state

DAY = timedelta(days=1)
A = authority("a")


def served_by(names: tuple[str, ...] = PROFILE.names, born: datetime = BORN, **more: Any) -> Serving:
    return serving_of(issue_leaf(pair("a"), names, born, **more), bundle("a"))


WRONG: dict[str, tuple[Serving | None, datetime]] = {
    "missing": (None, NOW),
    "unreadable": (serving_of(leaf_pair("a"), b"", chain=b"x", leaf=None), NOW),
    "key-unreadable": (serving_of(leaf_pair("a"), b"", key=None), NOW),
    "key-differs": (serving_of(leaf_pair("a"), b"", key=key(leaf_pair("b").key)), NOW),
    "not-yet-valid": (served_by(), BORN - timedelta(hours=2)),
    "expired": (served_by(), BORN + 365 * DAY),
    "issuer-differs": (serving_of(leaf_pair("b"), b""), NOW),
    "server-name-missing": (served_by(PROFILE.names[1:]), NOW),
    "name-missing": (served_by(PROFILE.names[:3]), NOW),
    "profile-changed": (served_by(key_kind="rsa-2048"), NOW),
    "ends-soon": (served_by(), renewal_time(leaf("a"))),
}


@pytest.mark.parametrize("name", WRONG)
def test_each_reason_for_a_new_leaf(name: str) -> None:
    """The first violation names the reason."""
    serving, now = WRONG[name]
    assert leaf_reason(replace(state(), serving=serving), A, now) == name


def test_a_leaf_that_outlives_its_issuer() -> None:
    """Such a leaf must be foreign: own leaves end with their authority."""
    name, signer = A.parsed.subject, load_pem_private_key(pair("a").key, None)
    assert isinstance(signer, ec.EllipticCurvePrivateKey)
    builder = x509.CertificateBuilder().subject_name(name).issuer_name(name).public_key(signer.public_key()).serial_number(7)
    again = builder.not_valid_before(BORN).not_valid_after(NOW + DAY).sign(signer, hashes.SHA256())
    assert leaf_reason(state(), read(again.public_bytes(Encoding.PEM)), NOW) == "outlives-issuer"


def test_a_good_leaf_is_left_alone() -> None:
    """Until the moment at which a third of its life is left, 122 of 365 days."""
    assert leaf_reason(state(), A, NOW) == ""
    assert leaf_reason(state(), A, renewal_time(leaf("a")) - timedelta(seconds=1)) == ""
    assert (leaf("a").not_after - renewal_time(leaf("a"))).days == 121


@pytest.mark.parametrize("name", ["name-missing", "profile-changed"])
def test_one_leaf_in_five_minutes(name: str) -> None:
    """A disagreement about what a leaf must say can't turn into a flood; what can't be served waits for nothing."""
    serving, _ = WRONG[name]
    assert leaf_reason(replace(state(), serving=serving), A, BORN + timedelta(minutes=4, seconds=59)) == ""
    assert leaf_reason(replace(state(), serving=serving), A, BORN + timedelta(minutes=5)) == name
    assert leaf_reason(replace(state(), serving=WRONG["server-name-missing"][0]), A, BORN) == "server-name-missing"
    assert unusable_reason(replace(state(), serving=serving), A, NOW) == ""


def test_a_leaf_that_would_gain_nothing_is_not_renewed() -> None:
    """It ends with its authority already; the next authority brings the next leaf."""
    short = make_authority(BORN, life=60 * DAY)
    serving = serving_of(issue_leaf(short, PROFILE.names, BORN), b"")
    assert leaf_reason(replace(state(), serving=serving), read(short.certificate), BORN + 55 * DAY) == ""


def secret(**changes: Any) -> CertificateState:
    found = state()
    assert found.authority is not None
    return replace(found, authority=replace(found.authority, **changes))


OLD = read(make_authority(NOW - 3300 * DAY).certificate)
OTHER_KEY = read(make_authority(NOW - 3 * DAY, key_kind="rsa-2048").certificate)


@pytest.mark.parametrize(
    ("reason", "changes", "now"),
    [
        ("", {}, NOW),
        ("key-lost", {"current_key": None}, NOW),
        ("key-lost", {"current_key": None, "requested": "1", "reason": "compromised"}, NOW),
        ("compromised", {"reason": "compromised"}, NOW),
        ("compromised", {"reason": "compromised", "requested": "2", "handled": "1"}, NOW),
        ("requested", {"requested": "2", "handled": "1"}, NOW),
        ("", {"requested": "2", "handled": "2"}, NOW),
        ("", {"requested": "", "handled": "2"}, NOW),
        ("adopted", {"reason": "adopted"}, NOW),
        ("expiry", {"current": OLD}, NOW),
        ("expiry", {"reason": "adopted"}, NOW + 3700 * DAY),
        ("requested", {"requested": "1"}, NOW + 3700 * DAY),
        ("profile-changed", {"current": OTHER_KEY}, NOW),
        ("", {"reason": "expiry"}, NOW),
        # a wish for flight is consumed with its rotation; after it the annotation is gone
        ("", {"reason": "compromised", "hint": Hint(Phase.ROLL, NOW)}, NOW),
    ],
)
def test_each_reason_to_rotate(reason: str, changes: dict[str, Any], now: datetime) -> None:
    """The chain in its order."""
    assert rotation_reason(secret(**changes), now) == reason


def test_no_authority_no_reason() -> None:
    """Its absence is an emergency of another kind."""
    assert rotation_reason(replace(state(), authority=None), NOW) == ""
    assert rotation_reason(replace(state(), authority=AuthoritySecret("1")), NOW) == ""


def test_at_most_one_automatic_rotation_a_day() -> None:
    """A switched profile waits for the second day of an authority; a lost key does not."""
    young = make_authority(NOW - timedelta(hours=23))
    changed = replace(secret(current=read(young.certificate), current_key=key(young.key)), profile=replace(PROFILE, key_kind="rsa-2048"))
    assert rotation_reason(changed, NOW) == ""
    assert rotation_reason(changed, NOW + timedelta(hours=1)) == "profile-changed"
    assert rotation_reason(secret(current=read(young.certificate), current_key=None), NOW) == "key-lost"


def test_when_an_authority_is_rotated() -> None:
    """So early that a leaf always gets its whole life: 396 days before its end; never before two thirds of its own life."""
    assert A.not_after - rotation_time(state(), A) == 396 * DAY
    short = replace(state(), timings=Timings(leaf_life=DAY, drain=DAY))
    assert A.not_after - rotation_time(short, A) == 90 * DAY
    brief = read(make_authority(NOW, life=30 * DAY).certificate)
    assert rotation_time(state(), brief) > NOW + 19 * DAY


@pytest.mark.parametrize(("minutes", "may"), [(0, True), (60, True), (-60, True), (61, False), (-61, False)])
def test_a_wrong_clock_signs_nothing(minutes: int, may: bool) -> None:
    """Beyond an hour in either direction."""
    assert may_sign(replace(state(), skew=timedelta(minutes=minutes))) is may


@pytest.mark.parametrize(
    ("out", "facts", "now"),
    [
        (False, {}, NOW),
        (True, {}, NOW + 366 * DAY),
        (True, {"by": ""}, NOW),
        (False, {"by": "", "presents": "a"}, NOW),
        (False, {"by": "", "endpoints": None}, NOW),
        (False, {"by": "", "endpoints": (Endpoint("1"),)}, NOW),
        (True, {"by": "", "endpoints": (Endpoint("1", ready=False),)}, NOW),
        (True, {"by": "b"}, NOW),
        (True, {"authority": None}, NOW),
    ],
)
def test_outage(out: bool, facts: dict[str, Any], now: datetime) -> None:
    """Waiting is pointless only while no client can be served."""
    assert is_outage(state(**facts), now) is out


def test_names_of_a_leaf() -> None:
    """The one that the API server verifies first; the cluster's domain is read, not assumed."""
    assert Profile("s", "n", "example.org").names == ("s.n.svc", "s", "s.n", "s.n.svc.example.org")
