"""Events, conditions and gauges: the first cause of a problem, and lasting reports."""

from dataclasses import replace
from datetime import timedelta
from typing import Any

from dynamo_webhooks.certs.gather import RotationFacts
from dynamo_webhooks.certs.report import find_unready_cause, list_reports, make_gauges
from dynamo_webhooks.certs.state import Endpoint, Ownership, Phase, Target, TargetKind
from dynamo_webhooks.cli.commands.certs.work import as_text, describe_cluster
from tests.certs.states import NOW, authority, bundle, leaf, leaf_pair, serving_of, state, targets
from tests.rows import run_each

GOOD = targets(bundle("a"))


def with_target(**changes: Any) -> dict[str, Any]:
    return {"targets": (*GOOD[:2], replace(GOOD[2], **changes))}


NAMED = "ValidatingWebhookConfiguration validatingwebhookconfiguration"
CASES: dict[str, tuple[dict[str, Any], str]] = {
    "clock-differs": ({"skew": timedelta(hours=-2)}, "this machine's clock must agree with the API server's, and differs by -7200 s"),
    "authority-missing": ({"authority": None}, "the CA Secret is missing"),
    "certificate-missing": ({"by": ""}, "the serving Secret is missing or holds no certificate"),
    "trust-unknown": ({"trusted": "b"}, "ca.crt must hold the authority of tls.crt"),
    "certificate-unusable": (
        {"serving": serving_of(leaf_pair("a"), bundle("a"), key=None)},
        "the certificate must be replaced: key-unreadable",
    ),
    "object-missing": (with_target(ownership=Ownership.ABSENT, bundles=()), f"{NAMED} is not there"),
    "object-foreign": (with_target(ownership=Ownership.FOREIGN, bundles=()), f"{NAMED} points to another service"),
    "conversion-unset": (with_target(ownership=Ownership.UNSET, bundles=()), f"{NAMED} has no conversion by webhook"),
    "trust-differs": (with_target(bundles=(bundle("a"), b"")), f"{NAMED} doesn't trust the certificate"),
    "not-usable": ({"usable": "b"}, "the authority of the new certificate has not been trusted long enough to be used"),
}


@run_each("name", CASES)
def test_the_first_cause_is_named(name: str) -> None:
    """One sentence, the cause before its consequences."""
    facts, text = CASES[name]
    assert find_unready_cause(state(**facts), NOW) == (name, text)


@run_each("name", CASES)
def test_what_is_done_next_does_not_contradict_the_cause(name: str) -> None:
    facts, text = CASES[name]
    shown = describe_cluster(RotationFacts(state(**facts), NOW, None, {}))
    assert as_text(shown).startswith(f"not ready: {text}\n")
    assert "as it should be" not in as_text(shown)


def test_ready() -> None:
    """Nothing to say, also in the midst of a rotation and with a leaf that will soon be renewed."""
    assert find_unready_cause(state(), NOW) is None
    assert find_unready_cause(state("b<a", by="b", shows=("ba",), phase=Phase.ROLL, presents="ab"), NOW) is None
    assert find_unready_cause(state(), NOW + timedelta(days=300)) is None
    assert find_unready_cause(replace(state(), trust=None), NOW) is None


def test_standing_reports() -> None:
    """Skew from five minutes on, missing and foreign objects, and who holds a rotation up."""
    assert list_reports(state(), NOW) == ()
    assert [report.reason for report in list_reports(state(skew=timedelta(minutes=6)), NOW)] == ["ClockSkew"]
    gone, foreign = list_reports(
        state(targets=(replace(GOOD[0], ownership=Ownership.ABSENT), replace(GOOD[1], ownership=Ownership.FOREIGN))), NOW
    )
    assert (gone.reason, foreign.reason) == ("WebhookConfigMissing", "WebhookConfigMissing")
    assert "does not exist" in gone.text
    assert "left alone" in foreign.text
    rolling = state("b<a", by="b", shows=("ba",), phase=Phase.ROLL, ago=timedelta(minutes=15))
    held = replace(rolling, endpoints=(Endpoint("10.0.0.1", leaf("a"), 9), Endpoint("10.0.0.2"), Endpoint("10.0.0.3", leaf("b"), 9)))
    assert [report.text for report in list_reports(held, NOW)] == [
        "phase ROLL: 10.0.0.1 still present an older certificate; 10.0.0.2 don't answer",
    ]
    assert list_reports(held, NOW - timedelta(seconds=1)) == ()
    assert list_reports(replace(held, endpoints=None), NOW) == ()
    refused = replace(GOOD[0], bundles=(b"",), refused="forbidden")
    text = "phase ROLL: the bundle can't be written to CustomResourceDefinition customresourcedefinition (forbidden)"
    assert [report.text for report in list_reports(replace(rolling, targets=(refused,)), NOW)] == [text]


def test_gauges() -> None:
    """Days left, the phase, who is in sync, and how far the clocks differ."""
    rolling = state("b<a", by="b", shows=("ba", "a"), phase=Phase.ROLL, presents="ab", skew=timedelta(seconds=3))
    gauges = make_gauges(rolling, NOW)
    assert gauges["rotation_phase"]["ROLL",] == 1
    assert sum(gauges["rotation_phase"].values()) == 1
    assert gauges["leaf_not_after_seconds"][()] == leaf("b").not_after.timestamp()
    assert gauges["ca_not_after_seconds"]["dynamo-webhook-ca-1",] == authority("a").not_after.timestamp()
    assert [*gauges["trust_in_sync"].values()] == [1, 0, 1]
    assert [*gauges["endpoint_leaf_in_sync"].values()] == [0, 1]
    assert gauges["clock_skew_seconds"][()] == 3
    assert make_gauges(state(endpoints=None), NOW)["probe_unavailable"][()] == 1
    missing = Target(TargetKind.CRD, "x", ownership=Ownership.ABSENT)
    assert make_gauges(state(targets=(missing,)), NOW)["expected_objects_missing"]["CustomResourceDefinition", "x"] == 1
