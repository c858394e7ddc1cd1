"""Requests and results for tests."""

from typing import Any

GRAPH = """\
apiVersion: nvidia.com/v1beta1
kind: DynamoGraphDeployment
metadata: {name: agg, labels: {a: b}}
spec:
  components:
  - name: Frontend
    type: frontend
    replicas: 1
    podTemplate: {spec: {containers: [{name: main, image: "i:1"}]}}
"""
HARDWARE = {"gpuSku": "h100_sxm", "vramMb": 81559, "numGpusPerNode": 8, "totalGpus": 8, "interconnect": "nvlink", "rdma": True}


def asked(name: str = "req", annotations: dict[str, str] | None = None, **spec: Any) -> dict[str, Any]:
    """A request with everything that it needs."""
    whole = {"model": "Qwen/Qwen3-0.6B", "backend": "vllm", "searchStrategy": "rapid", "image": "planner:1", "hardware": HARDWARE, **spec}
    metadata: dict[str, Any] = {"name": name, "namespace": "demo", "uid": "u-1", "generation": 1}
    if annotations:
        metadata["annotations"] = annotations
    kept = {key: value for key, value in whole.items() if value is not None}
    return {"apiVersion": "nvidia.com/v1beta1", "kind": "DynamoGraphDeploymentRequest", "metadata": metadata, "spec": kept}
