"""What `render` hands to each kind: the other objects of the same file, and the operator's configuration."""

import json
from typing import Any

import pytest

from dynamo_webhooks.cli.commands.render import kinds
from dynamo_webhooks.cli.commands.render.kinds import OperatorSettings
from dynamo_webhooks.reconciler.render.children import RenderedChildren
from dynamo_webhooks.reconciler.render.errors import RenderError
from dynamo_webhooks.reconciler.render.object_index import ObjectIndex
from dynamo_webhooks.reconciler.render.template import read_pod_templates
from tests.cli.conftest import Command, Files
from tests.cli.daemon.processes import CONFIG
from tests.reconciler.rendering import graph, vllm

MODEL = {
    "apiVersion": "nvidia.com/v1alpha1",
    "kind": "DynamoModel",
    "metadata": {"name": "m", "namespace": "demo"},
    "spec": {"modelName": "m", "baseModelName": "b"},
}
NODE = {"apiVersion": "v1", "kind": "Node", "metadata": {"name": "n1"}}
CLAIM = {"apiVersion": "v1", "kind": "PersistentVolumeClaim", "metadata": {"name": "c"}}


def _probe(obj: dict[str, Any], held: ObjectIndex, operator: OperatorSettings) -> RenderedChildren:
    seen = {
        "nodes": [node["metadata"]["name"] for node in held.all("Node")],
        "claim": held.get("PersistentVolumeClaim", "demo", "c") is not None,
        "models": len(held.all("DynamoModel", "demo")),
        "version": operator.configuration().operator.version,
    }
    problem = RenderError(("spec", "modelName"), "must be another")
    return RenderedChildren(
        [{"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"namespace": "demo", "name": "seen"}, "data": seen}], [problem]
    )


def test_a_kind_is_given_what_the_file_holds_and_the_configuration(command: Command, files: Files, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(kinds, "ROWS", {**kinds.ROWS, "DynamoModel": _probe})
    files(
        a=json.dumps({"apiVersion": "v1", "kind": "List", "items": [NODE, MODEL, CLAIM]}),
        config=CONFIG.replace("{namespace: dynamo-system}", "{namespace: dynamo-system, version: 1.2.7}"),
    )
    ran = command("render", "-q", "-o", "json", "-n", "demo", "--config", "config.yaml", "a.yaml")
    assert ran.code == 1
    assert "DynamoModel demo/m: spec.modelName: must be another" in ran.err
    assert [child["data"] for child in ran.json] == [{"nodes": ["n1"], "claim": True, "models": 1, "version": "1.2.7"}]


@pytest.mark.parametrize("odd", [{}, {"kind": 1, "metadata": {"name": "x"}}, {"kind": "Node"}, {"kind": "Node", "metadata": {"name": []}}])
def test_what_has_no_name_is_not_held(odd: dict[str, Any]) -> None:
    held = ObjectIndex([odd, NODE])
    assert held.all("Node") == [NODE]


IDENTITY = {"model": "m", "backendFramework": "vllm"}
READY = {
    "apiVersion": "nvidia.com/v1alpha1",
    "kind": "DynamoCheckpoint",
    "metadata": {"name": "ck", "namespace": "demo", "annotations": {"webhooks.nvidia.com/checkpoint-image": "img:1"}},
    "spec": {
        "identity": IDENTITY,
        "job": {"podTemplateSpec": {"spec": {"containers": [{"name": "main", "image": "img:1", "command": ["x"]}]}}},
    },
    "status": {"phase": "Ready"},
}
STORAGE = (
    CONFIG.replace("{namespace: dynamo-system}", "{namespace: dynamo-system, version: 1.2.0}")
    + "checkpoint: {enabled: true, storage: {type: pvc, pvc: {pvcName: snaps, basePath: /snaps}}}\n"
)


@pytest.mark.parametrize("grove", [False, True])
def test_pods_of_a_graph_are_restored_from_a_checkpoint_of_the_file(command: Command, files: Files, *, grove: bool) -> None:
    worker = vllm(experimental={"checkpoint": {"checkpointRef": "ck"}})
    items = [graph(worker), READY, {**CLAIM, "metadata": {"name": "snaps", "namespace": "demo"}}]
    files(a=json.dumps({"apiVersion": "v1", "kind": "List", "items": items}), b=json.dumps(graph(worker)), config=STORAGE)
    words = ("render", "-q", "-o", "json", "--set-fact", f"grove={str(grove).lower()}", "--config", "config.yaml")
    warm, cold = (_worker(command(*words, name).json) for name in ("a.yaml", "b.yaml"))
    assert warm["command"] == ["sleep", "infinity"]
    assert cold["command"] != warm["command"]


@pytest.mark.parametrize("items", [[graph(vllm(experimental={"checkpoint": {"checkpointRef": "ck"}})), READY], [{**READY, "status": {}}]])
def test_a_claim_that_the_file_lacks_is_told(command: Command, files: Files, items: list[dict[str, Any]]) -> None:
    files(a=json.dumps({"apiVersion": "v1", "kind": "List", "items": items}), config=STORAGE)
    ran = command("render", "-q", "-o", "json", "-n", "demo", "--config", "config.yaml", "a.yaml")
    assert ran.code == 1
    assert "checkpoint storage PVC demo/snaps does not exist and checkpoint.storage.pvc.create is false" in ran.err


def test_gpus_of_claims_are_counted_by_the_templates_of_the_input(command: Command, files: Files) -> None:
    resources = {"claims": [{"name": "gpus"}]}
    worker = vllm("w", args=("--tensor-parallel-size", "16"), multinode={"nodeCount": 2}, main={"resources": resources})
    worker["podTemplate"]["spec"]["resourceClaims"] = [{"name": "gpus", "resourceClaimTemplateName": "eight"}]
    template: dict[str, Any] = {"apiVersion": "resource.k8s.io/v1", "kind": "ResourceClaimTemplate", "metadata": {"name": "eight"}}
    request = {"name": "gpus", "exactly": {"deviceClassName": "gpu.nvidia.com", "count": 8}}
    template["spec"] = {"spec": {"devices": {"requests": [request]}}}
    files(a=json.dumps(graph(worker)), b=json.dumps({"apiVersion": "v1", "kind": "List", "items": [graph(worker), template]}))
    with_lws = ("render", "-q", "-o", "json", "-n", "demo", "--set-fact", "lws=true", "--only", "LeaderWorkerSet")
    ran = command(*with_lws, "a.yaml")
    assert ran.code == 1
    assert "resourceClaims: must give GPUs that can be counted" in ran.err
    assert "ResourceClaimTemplate eight is not among the documents of the input" in ran.err
    ran = command(*with_lws, "b.yaml")
    assert (ran.code, ran.err) == (0, "")
    assert "--distributed-executor-backend" in ran.out


def test_what_contradicts_a_checkpoint_is_told_at_the_component(command: Command, files: Files) -> None:
    worker = vllm(experimental={"checkpoint": {"mode": "Auto"}})
    files(a=json.dumps({"apiVersion": "v1", "kind": "List", "items": [graph(worker), READY]}), config=STORAGE)
    ran = command("render", "-q", "-o", "json", "--config", "config.yaml", "a.yaml")
    assert ran.code == 1
    assert "spec.components[0].experimental.checkpoint: checkpoint enabled but no checkpointRef or identity provided" in ran.err


@pytest.mark.parametrize("odd", [{"spec": 1}, {"spec": {"template": []}}, {"metadata": {"name": "d", "labels": 1}}])
def test_an_agent_of_an_odd_shape_is_none(command: Command, files: Files, odd: dict[str, Any]) -> None:
    worker = vllm(experimental={"checkpoint": {"checkpointRef": "ck"}})
    labels = {"app.kubernetes.io/component": "snapshot-agent"}
    agent = {"apiVersion": "apps/v1", "kind": "DaemonSet", "metadata": {"name": "d", "namespace": "demo", "labels": labels}, **odd}
    items = [
        graph(worker),
        READY,
        agent,
        {"kind": "DynamoCheckpoint", "apiVersion": "nvidia.com/v1alpha1", "metadata": {"name": "x"}, "spec": 1},
    ]
    files(a=json.dumps({"apiVersion": "v1", "kind": "List", "items": items}), config=CONFIG + "checkpoint: {enabled: true}\n")
    ran = command("render", "-q", "-o", "json", "--config", "config.yaml", "a.yaml")
    assert "internal" not in ran.err
    assert _worker(ran.json)["command"] != ["sleep", "infinity"]


def _worker(children: list[dict[str, Any]]) -> dict[str, Any]:
    """The main container of the one worker."""
    for child in children:
        for template in read_pod_templates(child).values():
            container: dict[str, Any] = template["spec"]["containers"][0]
            return container
    raise AssertionError("nothing controls pods")
