"""The requests that are measured: a graph of about 2 KB as people write them, and what surrounds it in a review."""

from __future__ import annotations

from typing import Any

import orjson

IMAGE = "registry.example/ai-dynamo/vllm-runtime:1.2.0"


def _component(kind: str, replicas: int | None, gpus: str | None) -> dict[str, Any]:
    component: dict[str, Any] = {
        "componentType": kind,
        "envFromSecret": "hf-token-secret",
        "extraPodSpec": {
            "mainContainer": {
                "image": IMAGE,
                "workingDir": "/workspace/examples/backends/vllm",
                "command": ["python3", "-m", "dynamo.vllm"],
                "args": ["--model", "Qwen/Qwen3-0.6B", "--is-decode-worker"],
                "env": [{"name": "HF_HOME", "value": "/models"}, {"name": "DYN_LOG", "value": "info"}],
            }
        },
    }
    if replicas is not None:
        component["replicas"] = replicas
    if gpus:
        component["resources"] = {"limits": {"gpu": gpus, "memory": "64Gi"}, "requests": {"cpu": "8"}}
        component["volumeMounts"] = [{"name": "model-cache", "mountPoint": "/models"}]
    return component


def graph(*, defaulted: bool = True) -> dict[str, Any]:
    """A frontend, a prefill and a decode worker; without `defaulted` the fields that the mutating webhook fills are left out."""
    replicas = 1 if defaulted else None
    annotations = {"nvidia.com/dynamo-operator-origin-version": "1.2.0"} if defaulted else {}
    return {
        "apiVersion": "nvidia.com/v1alpha1",
        "kind": "DynamoGraphDeployment",
        "metadata": {"name": "vllm-disagg", "namespace": "llm", "annotations": {**annotations, "team": "inference"}},
        "spec": {
            "backendFramework": "vllm",
            "pvcs": [{"name": "model-cache", "create": False}],
            "services": {
                "Frontend": _component("frontend", replicas, None),
                "VllmDecodeWorker": _component("worker", replicas, "1"),
                "VllmPrefillWorker": _component("worker", replicas, "1"),
            },
        },
    }


def conversion(objects: int) -> bytes:
    """The ConversionReview of a list of graphs, each with a name of its own."""
    graphs = [graph() for _ in range(objects)]
    for index, obj in enumerate(graphs):
        obj["metadata"]["name"] = f"vllm-disagg-{index}"
    request = {"uid": "7c5b7a52-9f0e-4a31-a7ad-4ba1b6d3a0c4", "desiredAPIVersion": "nvidia.com/v1beta1", "objects": graphs}
    return orjson.dumps({"kind": "ConversionReview", "apiVersion": "apiextensions.k8s.io/v1", "request": request})


def review(obj: dict[str, Any]) -> bytes:
    """The AdmissionReview of a create, as an API server sends it."""
    kind = {"group": "nvidia.com", "version": "v1alpha1", "kind": "DynamoGraphDeployment"}
    resource = {"group": "nvidia.com", "version": "v1alpha1", "resource": "dynamographdeployments"}
    request = {
        "uid": "7c5b7a52-9f0e-4a31-a7ad-4ba1b6d3a0c4",
        "kind": kind,
        "resource": resource,
        "requestKind": kind,
        "requestResource": resource,
        "name": "vllm-disagg",
        "namespace": "llm",
        "operation": "CREATE",
        "userInfo": {"username": "jane@example.com", "groups": ["system:authenticated"]},
        "object": obj,
        "oldObject": None,
        "dryRun": False,
        "options": {"kind": "CreateOptions", "apiVersion": "meta.k8s.io/v1", "fieldManager": "kubectl-client-side-apply"},
    }
    return orjson.dumps({"kind": "AdmissionReview", "apiVersion": "admission.k8s.io/v1", "request": request})
