"""The alert rules of manifests and chart before promtool: it accepts them, and each fires on its series and is silent on others."""

import re
import subprocess
from collections.abc import Mapping
from pathlib import Path
from types import MappingProxyType
from typing import Any, Final, NamedTuple

import pytest
import yaml

from tests.cluster.assets.build import PROMTOOL
from tests.cluster.assets.wanted import wanted
from tests.cluster.rendering import charted, composed, of_kind

Series = dict[str, str]


class Case(NamedTuple):
    """One alert; `at` is when it is asked for, in minutes."""

    at: int
    fires: Series
    silent: Series
    labels: Mapping[str, str] = MappingProxyType({"namespace": "n"})  # beside severity
    value: str = ""  # how the alert's description has its value


OWN: Final = "dynamo_webhooks_"
POD: Final = 'namespace="n", pod="a"'
KIND: Final = 'namespace="n", kind="CustomResourceDefinition", name="c"'
_KIND: Final = {"namespace": "n", "kind": "CustomResourceDefinition", "name": "c"}
_CONVERSION: Final = 'namespace="n", kind="DynamoGraphDeployment", from_version="v1alpha1", to_version="v1beta1"'
_DENIALS: Final = 'dynamo_operator_webhook_denials_total{namespace="n", resource_type="DynamoGraphDeployment", reason="x"}'
_RECONCILES: Final = 'dynamo_operator_reconcile_errors_total{namespace="n", resource_type="DynamoGraphDeployment", error_type="validation"}'

_OBJECTS: Final = "dynamo_operator_resources_total"


def _gauge(metric: str, fires: str, silent: str, at: int, labels: str = POD, value: str = "", **expected: str) -> Case:
    series = f"{OWN}{metric}{{{labels}}}"
    return Case(at, {series: fires}, {series: silent}, expected or {"namespace": "n"}, value)


def _spread(name: str, labels: str, bounds: tuple[str, ...], slow: str) -> Series:
    """A histogram all of whose observations lie below one bound and above the one before."""
    grown = dict.fromkeys(bounds[bounds.index(slow) :], "0+10x60")
    return {f'{name}_bucket{{{labels}, le="{bound}"}}': grown.get(bound, "0x60") for bound in bounds}


_LATENCY: Final = "controller_runtime_webhook_latency_seconds"
_BOUNDS: Final = ("0.5", "1.0", "2.5", "5.0", "+Inf")
_CONVERTED: Final = f"{OWN}conversion_duration_seconds"
_CONVERTED_BOUNDS: Final = ("5.0", "10.0", "20.0", "30.0", "60.0", "+Inf")
_PANICS: Final = {
    f"controller_runtime_webhook_panics_total{{{POD}}}": "3x12",
    f"controller_runtime_conversion_webhook_panics_total{{{POD}}}": "0x12",
}
_READY: Final = f'{OWN}ready{{namespace="n", pod="b"}}'

CASES: Final[dict[str, Case]] = {
    "DynamoWebhooksNoneReady": Case(2, {f"{OWN}ready{{{POD}}}": "0x10", _READY: "0x10"}, {f"{OWN}ready{{{POD}}}": "0x10", _READY: "1x10"}),
    "DynamoWebhooksAbsent": Case(11, {"up": "1x20"}, {f"{OWN}ready{{{POD}}}": "0x20"}, {}),
    "DynamoWebhooksNotReady": _gauge("ready", "0x20", "0 0 0 0 0 1 0x20", 11, namespace="n", pod="a"),
    "DynamoWebhooksFault": Case(5, {**_PANICS, f"controller_runtime_webhook_panics_total{{{POD}}}": "0 0 1x10"}, _PANICS),
    "DynamoWebhooksAdmissionSlow": Case(
        20,
        _spread(_LATENCY, f'{POD}, webhook="/validate"', _BOUNDS, "2.5"),
        {
            **_spread(_LATENCY, f'{POD}, webhook="/validate"', _BOUNDS, "1.0"),
            **_spread(_LATENCY, f'{POD}, webhook="/convert"', _BOUNDS, "5.0"),
        },
        {"namespace": "n", "webhook": "/validate"},
        value="2.485s",
    ),
    "DynamoWebhooksBoundsMet": Case(
        40,
        {f'{OWN}bounds_met_total{{{POD}, bound="memory"}}': "0+5x60"},
        {f'{OWN}bounds_met_total{{{POD}, bound="memory"}}': "0+1x60", f'{OWN}bounds_met_total{{{POD}, bound="large_bodies"}}': "0+5x60"},
        {"namespace": "n", "bound": "memory"},
    ),
    "DynamoWebhooksConversionFails": Case(
        5,
        {f'{OWN}converted_objects_total{{{_CONVERSION}, pod="a", outcome="refused"}}': "0 0 1x20"},
        {
            f'{OWN}converted_objects_total{{{_CONVERSION}, pod="a", outcome="refused"}}': "1x20",
            f'{OWN}converted_objects_total{{{_CONVERSION}, pod="a", outcome="converted"}}': "0+5x20",
        },
        {"namespace": "n", "kind": "DynamoGraphDeployment", "from_version": "v1alpha1", "to_version": "v1beta1"},
    ),
    "DynamoWebhooksConversionSlow": Case(
        15, _spread(_CONVERTED, POD, _CONVERTED_BOUNDS, "20.0"), _spread(_CONVERTED, POD, _CONVERTED_BOUNDS, "10.0"), value="19.9s"
    ),
    "DynamoWebhooksConversionTooSlow": Case(
        15, _spread(_CONVERTED, POD, _CONVERTED_BOUNDS, "30.0"), _spread(_CONVERTED, POD, _CONVERTED_BOUNDS, "20.0"), value="29.9s"
    ),
    "DynamoWebhooksRuleRefusesOften": Case(
        40, {_DENIALS: "0+5x60"}, {_DENIALS: "0+2x60"}, {"namespace": "n", "resource_type": "DynamoGraphDeployment", "reason": "x"}
    ),
    **{
        f"DynamoWebhooksFactsStale/{name}": _gauge(f"{name}_stale_seconds", "400x20", "300x20", 6, value="6m 40s", namespace="n", pod="a")
        for name in ("scope_watch", "topology_watch", "api_groups")
    },
    "DynamoWebhooksCertificateEndsSoon": _gauge(
        "leaf_not_after_seconds",
        "1123200x80",  # the thirteenth day; the clock begins at 0
        "1728000x80",
        70,
        value="12d 22h 50m 0s",
    ),
    "DynamoWebhooksCertificateEnds": _gauge(
        "leaf_not_after_seconds",
        "86400x20",
        "0x20",  # none yet
        11,
        value="23h 49m 0s",
    ),
    "DynamoWebhooksAuthorityEndsSoon": _gauge("ca_not_after_seconds", "2505600x80", "5184000x80", 70, value="28d 22h 50m 0s"),
    "DynamoWebhooksRotationStuck": _gauge("roll_stuck", "1x10", "1 1 0x10", 6),
    "DynamoWebhooksTrustOutOfSync": _gauge("trust_in_sync", "0x10", "0 0 1x10", 6, KIND, **_KIND),
    "DynamoWebhooksObjectMissing": _gauge("expected_objects_missing", "1x20", "1x5 0x20", 11, KIND, **_KIND),
    "DynamoWebhooksEndpointKeepsOldCertificate": _gauge(
        "endpoint_leaf_in_sync", "0x40", "0x10 1x40", 31, 'namespace="n", address="10.0.0.1"', namespace="n", address="10.0.0.1"
    ),
    "DynamoWebhooksCertificateRefused": _gauge("certificate_refused", "1x20", "1x10 0x10", 16, namespace="n", pod="a"),
    "DynamoWebhooksPoliciesUnusable": _gauge("policy_problems", "2x20", "2x4 0x16", 6, namespace="n", pod="a"),
    "DynamoWebhooksClockSkew": _gauge("clock_skew_seconds", "-400x10", "-200x10", 6, value="6m 40s"),
    "DynamoWebhooksNoProvisioner": _gauge("provisioner_leading", "0x20", "0x10 1x10", 16),
    "DynamoWebhooksNoReconciler": _gauge("reconciler_leading", "0x20", "0x10 1x10", 16),
    "DynamoWebhooksReconcilerBlind": _gauge("reconciler_unreadable_kinds", "1x20", "0x20", 16),
    "DynamoWebhooksReconcileFails": Case(
        75,
        {_RECONCILES: "0+1x90"},
        {_RECONCILES: "0x40 10x50"},
        {"namespace": "n", "resource_type": "DynamoGraphDeployment", "error_type": "validation"},
    ),
    "DynamoWebhooksReconcilerFault": Case(
        5,
        {f'controller_runtime_reconcile_panics_total{{{POD}, controller="dynamomodel"}}': "0 0 1x20"},
        {f'controller_runtime_reconcile_panics_total{{{POD}, controller="dynamomodel"}}': "1x20"},
        {"namespace": "n", "controller": "dynamomodel"},
    ),
    "DynamoWebhooksModelsNotReady": Case(
        40,
        {f'{_OBJECTS}{{{POD}, resource_type="DynamoModel", status="not_ready"}}': "2x50"},
        {
            f'{_OBJECTS}{{{POD}, resource_type="DynamoModel", status="not_ready"}}': "2x20 0x30",
            f'{_OBJECTS}{{{POD}, resource_type="DynamoModel", status="ready"}}': "2x50",
        },
    ),
    "DynamoWebhooksObjectsFailed": Case(
        40,
        {f'{_OBJECTS}{{{POD}, resource_type="DynamoCheckpoint", status="Failed"}}': "0x30 1x20"},
        {
            f'{_OBJECTS}{{{POD}, resource_type="DynamoCheckpoint", status="Failed"}}': "3x50",
            f'{_OBJECTS}{{{POD}, resource_type="DynamoGraphDeploymentRequest", status="Failed"}}': "_x30 5x20",
            f'{_OBJECTS}{{{POD}, resource_type="DynamoGraphDeploymentRequest", status="Ready"}}': "0x30 1x20",
        },
        {"namespace": "n", "resource_type": "DynamoCheckpoint"},
    ),
    "DynamoWebhooksObjectsStuck": Case(
        65,
        {f'{_OBJECTS}{{{POD}, resource_type="DynamoGraphDeploymentRequest", status="Deploying"}}': "1x80"},
        {
            f'{_OBJECTS}{{{POD}, resource_type="DynamoCheckpoint", status="Pending"}}': "1x50 _ _ _ _ _ _ 1x30",
            f'{_OBJECTS}{{{POD}, resource_type="DynamoGraphDeploymentRequest", status="Deploying"}}': "1x20 0 1x60",
            f'{_OBJECTS}{{{POD}, resource_type="DynamoGraphDeploymentRequest", status="Ready"}}': "1x80",
            f'{_OBJECTS}{{{POD}, resource_type="DynamoGraphDeployment", status="pending"}}': "1x80",
        },
        {"namespace": "n", "resource_type": "DynamoGraphDeploymentRequest", "status": "Deploying"},
    ),
    "DynamoWebhooksSnapshotsStuck": Case(
        125,
        {f'{_OBJECTS}{{{POD}, resource_type="DynamoCheckpoint", status="Creating"}}': "1x140"},
        {f'{_OBJECTS}{{{POD}, resource_type="DynamoCheckpoint", status="Creating"}}': "1x60 0 1x90"},
    ),
    "DynamoWebhooksProfilingStuck": Case(
        1510,
        {f'{_OBJECTS}{{{POD}, resource_type="DynamoGraphDeploymentRequest", status="Profiling"}}': "1x1520"},
        {f'{_OBJECTS}{{{POD}, resource_type="DynamoGraphDeploymentRequest", status="Profiling"}}': "1x1440 0x80"},
    ),
}


Node = dict[str, Any]


@pytest.fixture(scope="module", params=["manifests", "chart"])
def rules(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The rules as Prometheus reads them."""
    home = tmp_path_factory.mktemp("rules")
    if request.param == "chart":
        objects = charted("dynamo-system", "monitoring.rules.enabled=true")
    else:
        objects = composed(home, "self-signed", "monitoring")
    [resource] = of_kind(objects, "PrometheusRule")
    file = home / "rules.yaml"
    file.write_text(yaml.safe_dump(resource["spec"]))
    return file


def _alerts(rules: Path) -> dict[str, Node]:
    return {rule["alert"]: rule for group in yaml.safe_load(rules.read_text())["groups"] for rule in group["rules"]}


def _promtool(*words: str | Path) -> str:
    done = subprocess.run([wanted(PROMTOOL) / "promtool", *words], capture_output=True, text=True, timeout=120, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def test_promtool_accepts_the_rules(rules: Path) -> None:
    assert f"{len(_alerts(rules))} rules found" in _promtool("check", "rules", rules)


def test_each_alert_fires_and_stays_silent(rules: Path) -> None:
    alerts = _alerts(rules)
    assert {name.partition("/")[0] for name in CASES} == {*alerts}
    tests = []
    for name, case in CASES.items():
        alert = alerts[name.partition("/")[0]]
        tests += [_test(alert, case, case.fires, [_told(alert, case)]), _test(alert, case, case.silent, [])]
    file = rules.with_name("tests.yaml")
    file.write_text(yaml.safe_dump({"rule_files": [rules.name], "evaluation_interval": "1m", "tests": tests}))
    _promtool("test", "rules", file)


def _test(alert: Node, case: Case, series: Series, expected: list[Node]) -> Node:
    return {
        "interval": "1m",
        "input_series": [{"series": name, "values": values} for name, values in series.items()],
        "alert_rule_test": [{"eval_time": f"{case.at}m", "alertname": alert["alert"], "exp_alerts": expected}],
    }


def _told(alert: Node, case: Case) -> Node:
    labels = {**alert["labels"], **case.labels}
    texts = {name: re.sub(r"{{ \$labels\.(\w+) }}", lambda match: labels[match[1]], text) for name, text in alert["annotations"].items()}
    texts = {name: text.replace("{{ $value | humanizeDuration }}", case.value) for name, text in texts.items()}
    return {"exp_labels": labels, "exp_annotations": texts}
