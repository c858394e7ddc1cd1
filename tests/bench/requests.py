"""The requests that are measured: objects of all kinds as people write them, a graph of about 2 KB above all, and reviews around them."""

from typing import Any, Final

import orjson

from dynamo_webhooks.api.kinds import BY_NAME
from dynamo_webhooks.conversion.engine import convert
from dynamo_webhooks.conversion.kinds import KINDS
from tests.policies.examples import base

UID: Final = "7c5b7a52-9f0e-4a31-a7ad-4ba1b6d3a0c4"
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


def wide(services: int) -> dict[str, Any]:
    """A graph of so many small services."""
    worker = {"componentType": "worker", "replicas": 1, "resources": {"limits": {"gpu": "1"}}}
    made = {"Frontend": {"componentType": "frontend", "replicas": 1}, **{f"w{index}": worker for index in range(1, services)}}
    obj = graph()
    return {**obj, "spec": {"services": made}}


def objects() -> dict[tuple[str, str], dict[str, Any]]:
    """One object of every kind and version that a webhook is asked about; v1beta1 is what conversion makes of v1alpha1."""
    alpha = {
        "DynamoGraphDeployment": graph()["spec"],
        "DynamoComponentDeployment": {**_component("worker", 1, "1"), "backendFramework": "vllm", "dynamoNamespace": "llm"},
        "DynamoGraphDeploymentRequest": {
            "model": "Qwen/Qwen3-0.6B",
            "backend": "vllm",
            "profilingConfig": {"profilerImage": IMAGE, "config": {"sla": {"ttft": 200.5, "itl": 20, "isl": 3000, "osl": 150}}},
            "deploymentOverrides": {"workersImage": IMAGE},
        },
        "DynamoGraphDeploymentScalingAdapter": {"replicas": 2, "dgdRef": {"name": "vllm-disagg", "serviceName": "VllmDecodeWorker"}},
    }
    made = {(kind, "v1alpha1"): {**graph(), "kind": kind, "spec": spec} for kind, spec in alpha.items()}
    made |= {(kind, "v1beta1"): convert(KINDS[kind], made[kind, "v1alpha1"], "v1beta1").object for kind in alpha}
    for kind in ("DynamoModel", "DynamoCheckpoint"):
        made[kind, "v1alpha1"] = {**base()[f"{kind}/v1alpha1"], "apiVersion": "nvidia.com/v1alpha1", "kind": kind}
    return made


def conversion(count: int, obj: dict[str, Any] | None = None, desired: str = "v1beta1") -> bytes:
    """The ConversionReview of a list of one object, each time with a name of its own; of graphs where none is given."""
    obj = obj or graph()
    made = [{**obj, "metadata": {**obj["metadata"], "name": f"vllm-disagg-{index}"}} for index in range(count)]
    request = {"uid": UID, "desiredAPIVersion": f"nvidia.com/{desired}", "objects": made}
    return orjson.dumps({"kind": "ConversionReview", "apiVersion": "apiextensions.k8s.io/v1", "request": request})


def review(obj: dict[str, Any]) -> bytes:
    """The AdmissionReview of a create, as an API server sends it."""
    group, _, version = obj["apiVersion"].partition("/")
    kind = {"group": group, "version": version, "kind": obj["kind"]}
    resource = {"group": group, "version": version, "resource": BY_NAME[obj["kind"]].plural}
    request = {
        "uid": UID,
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
