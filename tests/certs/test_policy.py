"""Each predicate of the chains alone, their order, and the guards against floods."""

from dataclasses import replace
from datetime import datetime, timedelta
from typing import Any

from cryptography import x509
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.serialization import Encoding, load_pem_private_key

from dynamo_webhooks.certs.authority import issue_leaf, make_authority
from dynamo_webhooks.certs.policy import (
    derive,
    has_converged,
    is_outage,
    is_probing_impossible,
    leaf_reason,
    list_foreign_endpoints,
    may_sign,
    renewal_time,
    rotation_reason,
    rotation_time,
    unusable_reason,
)
from dynamo_webhooks.certs.state import AuthoritySecret, CertificateState, Endpoint, Hint, Phase, Serving, Timings
from tests.certs.states import BORN, NOW, PROFILE, authority, bundle, key, leaf, leaf_pair, pair, read, serving_of, state
from tests.rows import run_each

DAY = timedelta(days=1)
FOREIGN = issue_leaf(pair("a"), ["operator-webhook.dynamo-system.svc"], BORN)
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


@run_each("name", WRONG)
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


@run_each("name", ["name-missing", "profile-changed"])
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
    base = state()
    assert base.authority is not None
    return replace(base, authority=replace(base.authority, **changes))


OLD = read(make_authority(NOW - 3300 * DAY).certificate)
OTHER_KEY = read(make_authority(NOW - 3 * DAY, key_kind="rsa-2048").certificate)


@run_each(
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


def test_no_authority_is_no_reason_to_rotate() -> None:
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


@run_each(("minutes", "may"), [(0, True), (60, True), (-60, True), (61, False), (-61, False)])
def test_a_wrong_clock_signs_nothing(minutes: int, may: bool) -> None:
    """Beyond an hour in either direction."""
    assert may_sign(replace(state(), skew=timedelta(minutes=minutes))) is may


@run_each(
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
        # a pair that servers refuse: of another operator's Service, or with another key
        (True, {"serving": serving_of(FOREIGN, bundle("a")), "presents": ""}, NOW),
        (False, {"serving": serving_of(FOREIGN, bundle("a")), "presents": "a"}, NOW),
        (False, {"serving": serving_of(FOREIGN, bundle("a")), "endpoints": None}, NOW),
        (True, {"serving": serving_of(leaf_pair("a"), bundle("a"), key=key(pair("b").key)), "presents": ""}, NOW),
        (False, {"presents": ""}, NOW),
    ],
)
def test_outage(out: bool, facts: dict[str, Any], now: datetime) -> None:
    """Waiting is pointless only while no client can be served."""
    assert is_outage(state(**facts), now) is out


LONG, SHORT = timedelta(days=2), timedelta(seconds=119)
ALL = ("ab",)


@run_each(
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


def rolling(*endpoints: Endpoint) -> CertificateState:
    return state("b<a", shows=("ba",), by="b", phase=Phase.ROLL, endpoints=endpoints)


def test_endpoints_decide_when_an_old_authority_is_removed() -> None:
    """Two rounds of all endpoints; one silent endpoint counts as no answer, only silent ones as unreachable."""
    good, early, old = Endpoint("1", leaf("b"), 2), Endpoint("2", leaf("b"), 1), Endpoint("3", leaf("a"), 9)
    silent, starting = Endpoint("4", None, 2), Endpoint("5", ready=False)
    assert all(has_converged(rolling(*group)) for group in ((good,), (), (silent,)))
    assert not any(has_converged(rolling(*group)) for group in ((good, early), (good, old), (good, silent), (good, starting), (starting,)))
    assert list_foreign_endpoints(rolling(good, old, silent)) == ("3",)
    assert [is_probing_impossible(rolling(*group)) for group in ((good, silent), (silent,), (starting,), ())] == [False, True, False, False]


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
