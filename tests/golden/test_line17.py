"""Worked examples of operator 1.7 about admission: the workload provider, sidecars, and defaults of requests.

Conversion: tests/conversion/test_envelope.py, ownership: tests/admission/test_ownership.py, on a real API server: tests/cluster/webhooks.
"""

from typing import Any

import pytest

from dynamo_webhooks.admission.pipeline import Admission
from dynamo_webhooks.policies.facts import facts_from
from tests.admission.line_examples import graph, worker
from tests.admission.test_worked_lines import FACTS
from tests.admission.writes import defaulted, list_refusals

PROVIDER, GROVE, SET = "nvidia.com/workload-provider", "nvidia.com/enable-grove", "nvidia.com/enable-disaggregatedset"
OPERATOR = FACTS["operatorPrincipal"]


def _written(line: str, obj: dict[str, Any], old: dict[str, Any] | None = None, user: str = "u") -> Admission:
    return defaulted(obj, old, facts=facts_from({**FACTS, "operatorVersion": f"{line}.0"}), user=user)


def _annotated(**annotations: str) -> dict[str, Any]:
    made = graph(worker())
    made["metadata"]["annotations"] = annotations
    return made


@pytest.mark.parametrize(
    ("line", "annotations", "provider"),
    [
        ("1.6", {PROVIDER: "disaggregatedset"}, "grove"),  # E27
        ("1.7", {PROVIDER: "disaggregatedset"}, "grove"),
        ("1.7", {SET: "true"}, "grove"),  # E29
        ("1.7", {SET: "True", GROVE: "False"}, "disaggregatedset"),  # E30
        ("1.7", {SET: "yes", GROVE: "false"}, "component"),
        ("1.6", {SET: "true", GROVE: "false"}, "component"),
    ],
)
def test_a_new_graph_gets_the_provider_that_its_annotations_ask_for(line: str, annotations: dict[str, str], provider: str) -> None:
    write = _written(line, _annotated(**annotations))
    assert write.object["metadata"]["annotations"][PROVIDER] == provider
    assert "workload-provider-enum" not in list_refusals(write)


@pytest.mark.parametrize(
    ("line", "old", "new", "refused"),
    [
        ("1.7", {}, {PROVIDER: "disaggregatedset"}, []),  # E27a
        ("1.6", {}, {PROVIDER: "disaggregatedset"}, ["workload-provider-enum"]),
        ("1.7", {PROVIDER: "disaggregatedset"}, {PROVIDER: "grove"}, ["workload-provider-immutable"]),  # E28
        ("1.7", {PROVIDER: "disaggregatedset"}, {PROVIDER: "disaggregatedset", "a": "b"}, []),
    ],
)
def test_the_provider_of_a_graph_never_changes(line: str, old: dict[str, str], new: dict[str, str], refused: list[str]) -> None:
    assert list_refusals(_written(line, _annotated(**new), _annotated(**old), OPERATOR)) == refused


def _beside_an_engine(**more: Any) -> dict[str, Any]:
    pod = {
        "containers": [{"name": "main", "image": "example/vllm:1.7.0", "resources": {"limits": {"nvidia.com/gpu": "1"}}}],
        "initContainers": [{"name": "runtime", "image": "example/runtime:1.7.0", "restartPolicy": "Always"}],
    }
    return graph({"name": "w", "type": "worker", "podTemplate": {"spec": pod}, **more})


def test_a_sidecar_may_run_on_several_nodes_and_the_rest_is_only_warned_of() -> None:
    """E39, and what the documentation leaves open (checkpoints, shared GPU memory and failover)."""
    several = _beside_an_engine(multinode={"nodeCount": 2})
    assert [list_refusals(_written(line, several)) for line in ("1.6", "1.7")] == [["runtime-sidecar-alone"], []]
    shared = _beside_an_engine(experimental={"gpuMemoryService": {"mode": "IntraPod"}})
    assert [list_refusals(_written(line, shared)) for line in ("1.6", "1.7")] == [["runtime-sidecar-alone"], []]
    attention = _beside_an_engine(multinode={"nodeCount": 2})
    attention["spec"]["components"][0]["podTemplate"]["spec"]["containers"][0]["args"] = ["--enable-dp-attention"]
    warned = ["warn-runtime-sidecar" in {note.rule.name for note in _written("1.7", obj).judge()} for obj in (several, shared, attention)]
    assert warned == [False, True, True]


def request(spec: dict[str, Any]) -> dict[str, Any]:
    return {"apiVersion": "nvidia.com/v1beta1", "kind": "DynamoGraphDeploymentRequest", "metadata": {"name": "r"}, "spec": spec}


def test_a_new_request_gets_its_defaults_from_a_webhook_and_one_of_v1beta2_none() -> None:
    """E14 to E16."""
    image = "nvcr.io/nvidia/ai-dynamo/dynamo-planner:1.7.0"
    filled = {"model": "m", "backend": "auto", "searchStrategy": "rapid", "autoApply": True, "image": image}
    assert _written("1.7", request({"model": "m"})).object["spec"] == filled
    assert _written("1.7", request({"model": "m"}), request({"model": "m"})).object["spec"] == {"model": "m"}
    enveloped = request({"v1beta2": {"backends": ["vllm"]}})
    assert _written("1.7", enveloped).object == enveloped


@pytest.mark.parametrize(
    ("lost", "kept", "phase", "refused"),
    [
        ({"autoApply": True}, {"model": "m"}, "Pending", set()),
        ({"autoApply": True}, {"model": "m"}, "Profiling", {"dgdr-spec-locked"}),
        ({"autoApply": False}, {"model": "m"}, "Ready", set()),
        ({"autoApply": False}, {"model": "m", "image": "example/planner:latest"}, "Ready", {"dgdr-runtime-version-required"}),
    ],
)
def test_an_update_that_loses_a_default_is_judged_as_it_is_written(
    lost: dict[str, bool], kept: dict[str, str], phase: str, refused: set[str]
) -> None:
    """TD2: without `autoApply` the graph is deployed at once, so the image must name its version."""
    write = _written("1.7", request(kept), {**request({**kept, **lost}), "status": {"phase": phase}})
    assert write.object["spec"] == kept
    assert {*list_refusals(write)} - {"dgdr-hardware-required"} == refused
