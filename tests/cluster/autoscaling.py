"""Autoscalers of adapters, and the use of CPU that they read: a definition stands in for a server of metrics."""

from typing import Any, Final

from tests.cluster.harness import ControlPlane
from tests.cluster.objects import foreign
from tests.cluster.processes import wait_until
from tests.cluster.reconciling import PODS

Node = dict[str, Any]
METRICS: Final = "/apis/metrics.k8s.io/v1beta1/pods"


def serve_metrics(plane: ControlPlane) -> None:
    """Lets the API server store how much pods use."""
    plane.apply(foreign("metrics.k8s.io", "PodMetrics", "pods", version="v1beta1"))
    wait_until(lambda: plane.serves(METRICS), "metrics of pods being served", plane.server)


def use(plane: ControlPlane, namespace: str, cpu: str) -> None:
    """Says for each pod that is there now how much CPU it uses, as a server of metrics does."""
    for pod in plane.request("GET", PODS.format(namespace)).body["items"]:
        metadata = {"name": pod["metadata"]["name"], "namespace": namespace, "labels": pod["metadata"]["labels"]}
        used = {"timestamp": "2026-01-01T00:00:00Z", "window": "10s", "containers": [{"name": "main", "usage": {"cpu": cpu}}]}
        plane.apply({"apiVersion": "metrics.k8s.io/v1beta1", "kind": "PodMetrics", "metadata": metadata, **used})


def scaler(namespace: str, adapter: str) -> Node:
    """An autoscaler that wants half a CPU of each replica, and changes its mind at once."""
    cpu = {"type": "Resource", "resource": {"name": "cpu", "target": {"type": "AverageValue", "averageValue": "500m"}}}
    target = {"apiVersion": "nvidia.com/v1beta1", "kind": "DynamoGraphDeploymentScalingAdapter", "name": adapter}
    behavior = {"scaleDown": {"stabilizationWindowSeconds": 0}}
    spec = {"scaleTargetRef": target, "minReplicas": 1, "maxReplicas": 8, "metrics": [cpu], "behavior": behavior}
    return {
        "apiVersion": "autoscaling/v2",
        "kind": "HorizontalPodAutoscaler",
        "metadata": {"name": adapter, "namespace": namespace},
        "spec": spec,
    }
