"""Writes on line 1.5 that the recorded ones lack: what only v1beta1 says, components of graphs, locks, objects stored without defaults."""

import copy
import json
from typing import Any

import pytest

from dynamo_webhooks.admission.pipeline import Admission, Settings
from dynamo_webhooks.conversion.objects import convert_object, target
from dynamo_webhooks.policies.answer import REFUSING
from dynamo_webhooks.policies.facts import facts_from
from dynamo_webhooks.policies.review import CREATE, UPDATE

OPERATOR = "system:serviceaccount:dynamo-system:operator"
SETTINGS = Settings(
    facts_from({"operatorScope": "cluster", "operatorVersion": "1.5.0", "operatorPrincipal": OPERATOR, "grove": True, "gpuDiscovery": True})
)
PROVIDER = "nvidia.com/workload-provider"
OFF_GROVE = {"nvidia.com/enable-grove": "false"}
MAIN = {"name": "main", "image": "x/vllm:1.5.0"}
FORCED = {"experimental": {"grove": {"forceScalingGroup": True}}}
OF_GRAPH = [{"apiVersion": "nvidia.com/v1beta1", "kind": "DynamoGraphDeployment", "name": "g", "uid": "u"}]


def _graph(annotations: dict[str, str], **component: Any) -> dict[str, Any]:
    worker = {"name": "worker", "type": "worker", "podTemplate": {"spec": {"containers": [MAIN]}}, **component}
    metadata = {"name": "g", "namespace": "ns", "annotations": annotations}
    return {"apiVersion": "nvidia.com/v1beta1", "kind": "DynamoGraphDeployment", "metadata": metadata, "spec": {"components": [worker]}}


def _request(**spec: Any) -> dict[str, Any]:
    whole = {"model": "m", "backend": "vllm", "image": "x/planner:1.5.0", **spec}
    metadata = {"name": "r", "namespace": "ns"}
    return {"apiVersion": "nvidia.com/v1beta1", "kind": "DynamoGraphDeploymentRequest", "metadata": metadata, "spec": whole}


def _written(obj: dict[str, Any], old: dict[str, Any] | None = None, user: str = "jane") -> Admission:
    """The write with the defaults of all."""
    version = obj["apiVersion"].partition("/")[2]
    operation = CREATE if old is None else UPDATE
    made = Admission(obj["kind"], version, operation, copy.deepcopy(obj), copy.deepcopy(old), user=user, settings=SETTINGS)
    made.shape()
    assert not made.decode()
    if made.mutated:
        made.mutate()
    assert not made.conform()
    return made


def _refused(obj: dict[str, Any], old: dict[str, Any] | None = None, user: str = "jane") -> list[str]:
    return sorted({finding.rule.name for finding in _written(obj, old, user).judge() if finding.level in REFUSING})


def _as(version: str, obj: dict[str, Any]) -> dict[str, Any]:
    return dict(convert_object(copy.deepcopy(obj), target(f"nvidia.com/{version}", SETTINGS.line)).object)


@pytest.mark.parametrize(
    ("phase", "automatic", "refused"),
    [
        ("Profiling", True, True),
        ("Ready", True, True),
        ("Deploying", True, True),
        ("Deployed", True, True),
        ("Profiling", False, False),
        ("Ready", False, False),
        ("Deploying", False, True),
        ("Deployed", False, True),
        ("Pending", True, False),
    ],
)
@pytest.mark.parametrize("version", ["v1alpha1", "v1beta1"])
def test_the_runtime_version_of_a_request_is_locked_with_it(version: str, phase: str, *, automatic: bool, refused: bool) -> None:
    """It may change only while nothing is applied automatically, and nothing is deployed yet."""
    stored = _written(_request(autoApply=automatic)).object
    stored["status"] = {"phase": phase}
    changed = copy.deepcopy(stored)
    changed["spec"]["runtimeVersionOverride"] = "1.5.0"
    expected = ["dgdr-spec-locked"] if refused else []
    assert _refused(_as(version, changed), _as(version, stored)) == expected


@pytest.mark.parametrize("asks", [{"frontendSidecar": "missing"}, FORCED])
def test_a_component_of_a_graph_is_not_judged_by_the_rules_that_graphs_were_held_to(asks: dict[str, Any]) -> None:
    spec = {"name": "worker", "type": "worker", "podTemplate": {"spec": {"containers": [MAIN]}}, **asks}
    metadata: dict[str, Any] = {"name": "g-worker", "namespace": "ns"}
    alone = {"apiVersion": "nvidia.com/v1beta1", "kind": "DynamoComponentDeployment", "metadata": metadata, "spec": spec}
    assert len(_refused(alone)) == 1
    owned = {**alone, "metadata": {**metadata, "ownerReferences": OF_GRAPH}}
    assert _refused(owned) == []
    dropped = {**owned, "spec": {name: value for name, value in spec.items() if name not in asks}}
    assert _refused(dropped, owned) == (["force-scaling-group-immutable"] if asks is FORCED else []), "what may not change is held"


def test_what_only_v1beta1_says_is_judged_in_an_annotation_that_had_to_be_packed() -> None:
    sidecar = {"name": "s" * 300_000, "image": "x/frontend:1.5.0"}
    graph = _graph({}, **FORCED, frontendSidecar=sidecar["name"], podTemplate={"spec": {"containers": [MAIN, sidecar]}})
    stored = _as("v1alpha1", _written(graph).object)
    text = stored["metadata"]["annotations"]["nvidia.com/dgd-spec"]
    assert "forceScalingGroup" not in text
    without = copy.deepcopy(stored)
    del without["metadata"]["annotations"]["nvidia.com/dgd-spec"]
    assert _refused(without, stored) == ["force-scaling-group-immutable"]
    assert _refused(stored, stored) == []


@pytest.mark.parametrize("name", ["forceScalingGroup", "force\\u0053calingGroup"])
def test_what_only_v1beta1_says_is_judged_however_an_annotation_spells_it(name: str) -> None:
    remainder = json.dumps({"version": 1, "spec": {"components": [{"name": "worker", "experimental": {"grove": {"X": True}}}]}})
    obj = _as("v1alpha1", _graph(OFF_GROVE))
    obj["metadata"]["annotations"]["nvidia.com/dgd-spec"] = remainder.replace("X", name)
    assert _refused(obj) == ["force-scaling-group-requires-grove"]


def test_a_sidecar_that_is_no_container_is_refused_in_either_version() -> None:
    graph = _graph({}, frontendSidecar="missing")
    assert _refused(graph) == _refused(_as("v1alpha1", graph)) == ["frontend-sidecar-unknown"]


@pytest.mark.parametrize("version", ["v1alpha1", "v1beta1"])
def test_what_a_stored_graph_had_wrong_is_forgiven_in_any_order_of_its_components(version: str) -> None:
    stored = _written(_graph({}, frontendSidecar="missing")).object
    stored["spec"]["components"].append({"name": "other", "type": "worker", "podTemplate": {"spec": {"containers": [MAIN]}}})
    turned = copy.deepcopy(stored)
    turned["spec"]["components"].reverse()
    assert _refused(_as(version, turned), _as(version, stored)) == []
    turned["spec"]["components"][0]["frontendSidecar"] = "missing"
    assert _refused(_as(version, turned), _as(version, stored)) == ["frontend-sidecar-unknown"]


@pytest.mark.parametrize("version", ["v1alpha1", "v1beta1"])
def test_an_override_that_was_stored_without_target_gets_it_with_any_update(version: str) -> None:
    """So it is stored by a server of line 1.2 beside definitions of line 1.5; a graph must not be stuck with it when it is adopted."""
    override = {"apiVersion": "grove.io/v1alpha1", "value": {"topologyConstraint": {"packDomain": "rack"}}}
    stored = _as(version, _graph({}, providerOverride=override, replicas=1))
    adopted = copy.deepcopy(stored)
    adopted["metadata"]["annotations"] = {**(adopted["metadata"].get("annotations") or {}), PROVIDER: "grove"}
    write = _written(adopted, stored, OPERATOR)
    assert [finding.rule.name for finding in write.judge()] == []
    assert _as("v1beta1", write.object)["spec"]["components"][0]["providerOverride"]["target"] == "PodCliqueTemplateSpec"
    after = write.object
    other = copy.deepcopy(_as("v1beta1", after))
    other["spec"]["components"][0]["providerOverride"]["target"] = "PodCliqueSet"
    assert _refused(_as(version, other), after) == ["provider-override-immutable"]
