"""The creation and update probes of operator line 1.5: the stages of a write refuse and admit what they refused and admitted there."""

import copy
from pathlib import Path
from typing import Any

import pytest
import yaml

from dynamo_webhooks.admission.pipeline import Admission, Settings
from dynamo_webhooks.policies.answer import REFUSING
from dynamo_webhooks.policies.facts import facts_from
from dynamo_webhooks.policies.review import CREATE, UPDATE

PROBES: dict[str, list[dict[str, Any]]] = yaml.safe_load(Path(__file__).with_name("line15_probes.yaml").read_text())
FACTS = facts_from(
    {
        "operatorScope": "cluster",
        "operatorVersion": "1.5.0",
        "operatorPrincipal": "system:serviceaccount:dynamo-system:operator",
        "grove": True,
        "inferencePool": True,
        "clusterTopologies": {"default": ["zone", "rack", "host"]},
        "gpuDiscovery": True,
        "dra": True,
        "lws": True,
        "checkpoint": True,
        "excludedNamespaces": [],
    }
)
IMAGE = "x/vllm:1.5.0"
OF_MAIN = ("args", "command")


def _beta(written: dict[str, Any]) -> dict[str, Any]:
    """A component of v1beta1: `image`, `args` and `command` are the main container's, `gpus` its limits, `power` the annotation."""
    part = copy.deepcopy(written)
    main: dict[str, Any] = {"name": "main", "image": part.pop("image", IMAGE)}
    main |= {name: part.pop(name) for name in OF_MAIN if name in part}
    if gpus := part.pop("gpus", None):
        main["resources"] = {"limits": gpus}
    template: dict[str, Any] = {"spec": {"containers": [main]}}
    if power := part.pop("power", None):
        template["metadata"] = {"annotations": {"dynamo.nvidia.com/gpu-power-limit": power}}
    return {"type": "worker", "podTemplate": template, **part}


def _graph(probe: dict[str, Any], component: str, rest: str) -> dict[str, Any]:
    annotations = probe.get("annotations") if component != "before" else None
    metadata = {"name": "g", "namespace": "ns", **({"annotations": annotations} if annotations else {})}
    spec = copy.deepcopy(probe.get(rest) or {})
    if component == "alpha":
        good = {"componentType": "worker", "extraPodSpec": {"mainContainer": {"image": IMAGE}}}
        spec["services"] = {} if probe["alpha"] is None else {"worker": {**good, **copy.deepcopy(probe["alpha"])}, "other": good}
        return {"apiVersion": "nvidia.com/v1alpha1", "kind": "DynamoGraphDeployment", "metadata": metadata, "spec": spec}
    spec["components"] = [{"name": "worker", **_beta(probe[component])}, {"name": "other", **_beta({})}]
    return {"apiVersion": "nvidia.com/v1beta1", "kind": "DynamoGraphDeployment", "metadata": metadata, "spec": spec}


def _object(probe: dict[str, Any], *, before: bool) -> dict[str, Any]:
    """The object of a probe, or the stored one of an update."""
    suffix = "-before" if before else ""
    metadata = {"name": "g", "namespace": "ns"}
    if "dcd" in probe:
        spec = copy.deepcopy(probe[f"dcd{suffix}"])
        if spec.pop("image", None) == "good":
            spec = _beta(spec)
        return {
            "apiVersion": "nvidia.com/v1beta1",
            "kind": "DynamoComponentDeployment",
            "metadata": metadata,
            "spec": {"name": "g", **spec},
        }
    if "dgdr" in probe:
        spec = {"model": "m", "backend": "vllm", "image": "x/planner:1.5.0", **probe[f"dgdr{suffix}"]}
        return {"apiVersion": "nvidia.com/v1beta1", "kind": "DynamoGraphDeploymentRequest", "metadata": metadata, "spec": spec}
    if "model" in probe:
        source = {"uri": "s3://bucket/adapter"}
        spec = {"modelName": "m", "baseModelName": "b", "modelType": "lora", "source": source, **probe[f"model{suffix}"]}
        return {"apiVersion": "nvidia.com/v1alpha1", "kind": "DynamoModel", "metadata": metadata, "spec": spec}
    component = "before" if before else next(name for name in ("alpha", "beta") if name in probe)
    return _graph(probe, component, f"graph{suffix}")


def _write(obj: dict[str, Any], operation: str, old: dict[str, Any] | None = None) -> Admission:
    version = obj["apiVersion"].partition("/")[2]
    return Admission(obj["kind"], version, operation, obj, old, user="jane", settings=Settings(FACTS))


def _refused(write: Admission) -> list[str]:
    """The names of what refuses a write; "schema" alone for the definition, behind which no webhook is asked."""
    assert not write.decode_metadata()
    write.shape()
    assert not write.decode()
    if write.mutated:
        write.mutate()
    if write.conform():
        return ["schema"]
    return sorted({finding.rule.name for finding in write.judge() if finding.level in REFUSING})


@pytest.mark.parametrize("probe", PROBES["create"], ids=lambda probe: str(probe["name"]))
def test_a_creation_is_answered_as_by_line_1_5(probe: dict[str, Any]) -> None:
    assert _refused(_write(_object(probe, before=False), CREATE)) == probe.get("rules", [])


@pytest.mark.parametrize("probe", PROBES["update"], ids=lambda probe: str(probe["name"]))
def test_an_update_is_answered_as_by_line_1_5(probe: dict[str, Any]) -> None:
    stored = _write(_object(probe, before=True), CREATE)
    assert _refused(stored) == []
    obj = _object(probe, before=False)
    if probe.get("keep"):
        obj["spec"] = copy.deepcopy(stored.object["spec"])
    kept = dict(stored.object["metadata"].get("annotations") or {})
    annotations = {**kept, **(obj["metadata"].get("annotations") or {})}
    obj["metadata"]["annotations"] = {key: value for key, value in annotations.items() if value is not None}
    if phase := probe.get("phase"):
        stored.object["status"] = {"phase": phase}
    assert _refused(_write(obj, UPDATE, stored.object)) == probe.get("rules", [])


@pytest.mark.parametrize(("letters", "refused"), [(18, []), (19, ["grove-name-length"])])
def test_a_forced_scaling_group_needs_room_for_the_name_twice(letters: int, refused: list[str]) -> None:
    """The pods of such a component are named like those of several nodes, without a role."""
    component = {"name": "w" * letters, **_beta({"experimental": {"grove": {"forceScalingGroup": True}}})}
    obj = _graph({"beta": {}}, "beta", "graph")
    obj["metadata"]["name"] = "a-long-graph"
    obj["spec"]["components"].append(component)
    assert _refused(_write(obj, CREATE)) == refused


@pytest.mark.parametrize("value", ["a", ["a"], {"a": 1}, 5, [None]])
def test_an_unknown_field_of_a_component_may_have_the_name_of_a_graphs(value: Any) -> None:
    write = _write({**_object({"dcd": {"image": "good"}}, before=False)}, CREATE)
    write.object["spec"]["components"] = value
    write.mutate(schema=False)
    assert [finding for finding in write.judge() if finding.level in REFUSING] == []


def test_all_probes_are_here() -> None:
    assert (len(PROBES["create"]), len(PROBES["update"])) == (104, 33)
