"""Probes of operator line 1.5, and writes that they lack: the stages of a write refuse and admit what they refused and admitted there."""

import copy
import itertools
import json
from pathlib import Path
from typing import Any

import pytest
import yaml

from dynamo_webhooks.admission.pipeline import Admission
from dynamo_webhooks.conversion.objects import convert_object, target
from dynamo_webhooks.policies.answer import REFUSING
from dynamo_webhooks.policies.facts import facts_from
from tests.admission.line_examples import alone, graph, request, worker
from tests.admission.test_worked_lines import FACTS as KNOWN
from tests.admission.writes import defaulted, list_refusals, sent

OPERATOR = KNOWN["operatorPrincipal"]
FACTS = facts_from({**KNOWN, "operatorVersion": "1.5.0"})
PROBES: dict[str, list[dict[str, Any]]] = yaml.load(Path(__file__).with_name("line15_probes.yaml").read_text(), yaml.CSafeLoader)
IMAGE = "x/vllm:1.5.0"


def _beta(written: dict[str, Any]) -> dict[str, Any]:
    """A component of v1beta1: `image`, `args` and `command` are the main container's, `gpus` its limits, `power` the annotation."""
    part = copy.deepcopy(written)
    main: dict[str, Any] = {"name": "main", "image": IMAGE} | {
        name: part.pop(name) for name in ("image", "args", "command") if name in part
    }
    if gpus := part.pop("gpus", None):
        main["resources"] = {"limits": gpus}
    template: dict[str, Any] = {"spec": {"containers": [main]}}
    if power := part.pop("power", None):
        template["metadata"] = {"annotations": {"dynamo.nvidia.com/gpu-power-limit": power}}
    return {"type": "worker", "podTemplate": template, **part}


def _object(probe: dict[str, Any], *, before: bool) -> dict[str, Any]:
    """The object of a probe, or the stored one of an update."""
    suffix = "-before" if before else ""
    if "dcd" in probe:
        spec = copy.deepcopy(probe[f"dcd{suffix}"])
        return alone({"name": "g", "backendFramework": None, **(_beta(spec) if spec.pop("image", None) == "good" else spec)})
    if "dgdr" in probe:
        return request(**probe[f"dgdr{suffix}"])
    if "model" in probe:
        spec = {"modelName": "m", "baseModelName": "b", "modelType": "lora", "source": {"uri": "s3://bucket/adapter"}}
        about = {"name": "g", "namespace": "ns"}
        return {"apiVersion": "nvidia.com/v1alpha1", "kind": "DynamoModel", "metadata": about, "spec": {**spec, **probe[f"model{suffix}"]}}
    rest, annotations = copy.deepcopy(probe.get(f"graph{suffix}") or {}), None if before else probe.get("annotations")
    if "alpha" in probe and not before:
        good = {"componentType": "worker", "extraPodSpec": {"mainContainer": {"image": IMAGE}}}
        services = (
            [] if probe["alpha"] is None else [{"name": "worker", **good, **copy.deepcopy(probe["alpha"])}, {"name": "other", **good}]
        )
        return graph(*services, version="v1alpha1", annotations=annotations, **rest)
    components: tuple[tuple[str, dict[str, Any]], ...] = (("worker", probe["before" if before else "beta"]), ("other", {}))
    return graph(*({"name": name, **_beta(written)} for name, written in components), annotations=annotations, **rest)


def _refusals(obj: dict[str, Any], old: dict[str, Any] | None = None, user: str = "jane") -> list[str]:
    return list_refusals(defaulted(obj, old, facts=FACTS, user=user))


def test_a_creation_is_answered_as_by_line_1_5() -> None:
    assert [
        (probe["name"], rules) for probe in PROBES["create"] if (rules := _refusals(_object(probe, before=False))) != probe.get("rules", [])
    ] == []


def test_an_update_is_answered_as_by_line_1_5(subtests: pytest.Subtests) -> None:
    for probe in PROBES["update"]:
        with subtests.test(str(probe["name"])):
            stored = defaulted(_object(probe, before=True), facts=FACTS)
            assert list_refusals(stored) == []
            obj = _object(probe, before=False)
            if probe.get("keep"):
                obj["spec"] = copy.deepcopy(stored.object["spec"])
            kept = dict(stored.object["metadata"].get("annotations") or {})
            annotations = {**kept, **(obj["metadata"].get("annotations") or {})}
            obj["metadata"]["annotations"] = {key: value for key, value in annotations.items() if value is not None}
            if phase := probe.get("phase"):
                stored.object["status"] = {"phase": phase}
            assert _refusals(obj, stored.object) == probe.get("rules", [])


@pytest.mark.parametrize(("letters", "refused"), [(18, []), (19, ["grove-name-length"])])
def test_a_forced_scaling_group_needs_room_for_the_name_twice(letters: int, refused: list[str]) -> None:
    """The pods of such a component are named like those of several nodes, without a role."""
    obj = graph(worker(name="other"), worker(name="w" * letters, **FORCED))
    obj["metadata"]["name"] = "a-long-graph"
    assert _refusals(obj) == refused


def test_an_unknown_field_of_a_component_may_have_the_name_of_a_graphs(subtests: pytest.Subtests) -> None:
    rows: list[Any] = ["a", ["a"], {"a": 1}, 5, [None]]
    for value in rows:
        with subtests.test(str(value)):
            write = sent(alone(worker(name="g")), facts=FACTS)
            write.object["spec"]["components"] = value
            write.mutate(schema=False)
            assert [finding for finding in write.judge() if finding.level in REFUSING] == []


PROVIDER = "nvidia.com/workload-provider"
OFF_GROVE = {"nvidia.com/enable-grove": "false"}
MAIN = {"name": "main", "image": "x/vllm:1.5.0"}
FORCED = {"experimental": {"grove": {"forceScalingGroup": True}}}
OF_GRAPH = [{"apiVersion": "nvidia.com/v1beta1", "kind": "DynamoGraphDeployment", "name": "g", "uid": "u"}]


def _mixed(annotations: dict[str, str], **component: Any) -> dict[str, Any]:
    return graph(worker(name="worker", **{"podTemplate": {"spec": {"containers": [MAIN]}}, **component}), annotations=annotations)


def _written(obj: dict[str, Any], old: dict[str, Any] | None = None, user: str = "jane") -> Admission:
    """The write with the defaults of all, which the definition admits."""
    write = defaulted(obj, old, facts=FACTS, user=user)
    assert not write.conform()
    return write


def _as(version: str, obj: dict[str, Any]) -> dict[str, Any]:
    return dict(convert_object(copy.deepcopy(obj), target(f"nvidia.com/{version}", FACTS.line)).object)


def test_the_runtime_version_of_a_request_is_locked_with_it(subtests: pytest.Subtests) -> None:
    """It may change only while nothing is applied automatically, and nothing is deployed yet."""
    rows: list[tuple[str, bool, bool]] = [
        ("Profiling", True, True),
        ("Ready", True, True),
        ("Deploying", True, True),
        ("Deployed", True, True),
        ("Profiling", False, False),
        ("Ready", False, False),
        ("Deploying", False, True),
        ("Deployed", False, True),
        ("Pending", True, False),
    ]
    for (phase, automatic, refused), version in itertools.product(rows, ("v1alpha1", "v1beta1")):
        with subtests.test(f"{version} {phase}, automatic {automatic}"):
            stored = _written(request(autoApply=automatic)).object
            stored["status"] = {"phase": phase}
            changed = copy.deepcopy(stored)
            changed["spec"]["runtimeVersionOverride"] = "1.5.0"
            expected = ["dgdr-spec-locked"] if refused else []
            assert _refusals(_as(version, changed), _as(version, stored)) == expected


@pytest.mark.parametrize("asks", [{"frontendSidecar": "missing"}, FORCED])
def test_a_component_of_a_graph_is_not_judged_by_the_rules_that_graphs_were_held_to(asks: dict[str, Any]) -> None:
    spec = {"name": "worker", "type": "worker", "podTemplate": {"spec": {"containers": [MAIN]}}, **asks}
    metadata: dict[str, Any] = {"name": "g-worker", "namespace": "ns"}
    alone = {"apiVersion": "nvidia.com/v1beta1", "kind": "DynamoComponentDeployment", "metadata": metadata, "spec": spec}
    assert len(_refusals(alone)) == 1
    owned = {**alone, "metadata": {**metadata, "ownerReferences": OF_GRAPH}}
    assert _refusals(owned) == []
    dropped = {**owned, "spec": {name: value for name, value in spec.items() if name not in asks}}
    assert _refusals(dropped, owned) == (["force-scaling-group-immutable"] if asks is FORCED else []), "what may not change is held"


def test_what_only_v1beta1_says_is_judged_in_an_annotation_that_had_to_be_packed() -> None:
    sidecar = {"name": "s" * 300_000, "image": "x/frontend:1.5.0"}
    graph = _mixed({}, **FORCED, frontendSidecar=sidecar["name"], podTemplate={"spec": {"containers": [MAIN, sidecar]}})
    stored = _as("v1alpha1", _written(graph).object)
    text = stored["metadata"]["annotations"]["nvidia.com/dgd-spec"]
    assert "forceScalingGroup" not in text
    without = copy.deepcopy(stored)
    del without["metadata"]["annotations"]["nvidia.com/dgd-spec"]
    assert _refusals(without, stored) == ["force-scaling-group-immutable"]
    assert _refusals(stored, stored) == []


@pytest.mark.parametrize("name", ["forceScalingGroup", "force\\u0053calingGroup"])
def test_what_only_v1beta1_says_is_judged_however_an_annotation_spells_it(name: str) -> None:
    remainder = json.dumps({"version": 1, "spec": {"components": [{"name": "worker", "experimental": {"grove": {"X": True}}}]}})
    obj = _as("v1alpha1", _mixed(OFF_GROVE))
    obj["metadata"]["annotations"]["nvidia.com/dgd-spec"] = remainder.replace("X", name)
    assert _refusals(obj) == ["force-scaling-group-requires-grove"]


@pytest.mark.parametrize("version", ["v1alpha1", "v1beta1"])
def test_what_a_stored_graph_had_wrong_is_forgiven_in_any_order_of_its_components(version: str) -> None:
    stored = _written(_mixed({}, frontendSidecar="missing")).object
    stored["spec"]["components"].append({"name": "other", "type": "worker", "podTemplate": {"spec": {"containers": [MAIN]}}})
    turned = copy.deepcopy(stored)
    turned["spec"]["components"].reverse()
    assert _refusals(_as(version, turned), _as(version, stored)) == []
    turned["spec"]["components"][0]["frontendSidecar"] = "missing"
    assert _refusals(_as(version, turned), _as(version, stored)) == ["frontend-sidecar-unknown"]


@pytest.mark.parametrize("version", ["v1alpha1", "v1beta1"])
def test_an_override_that_was_stored_without_target_gets_it_with_any_update(version: str) -> None:
    """So it is stored by a server of line 1.2 beside definitions of line 1.5; a graph must not be stuck with it when it is adopted."""
    override = {"apiVersion": "grove.io/v1alpha1", "value": {"topologyConstraint": {"packDomain": "rack"}}}
    stored = _as(version, _mixed({}, providerOverride=override, replicas=1))
    adopted = copy.deepcopy(stored)
    adopted["metadata"]["annotations"] = {**(adopted["metadata"].get("annotations") or {}), PROVIDER: "grove"}
    write = _written(adopted, stored, OPERATOR)
    assert [finding.rule.name for finding in write.judge()] == []
    assert _as("v1beta1", write.object)["spec"]["components"][0]["providerOverride"]["target"] == "PodCliqueTemplateSpec"
    after = write.object
    other = copy.deepcopy(_as("v1beta1", after))
    other["spec"]["components"][0]["providerOverride"]["target"] = "PodCliqueSet"
    assert _refusals(_as(version, other), after) == ["provider-override-immutable"]
