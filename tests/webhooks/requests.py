"""Requests that the tests send: one valid graph with a private word in every place that holds text, and the reviews around objects."""

from typing import Any, Final

import orjson

GRAPHS: Final = "/validate-nvidia-com-v1alpha1-dynamographdeployment"
GRAPH_DEFAULTS: Final = "/mutate-nvidia-com-v1alpha1-dynamographdeployment"
PRIVATE: Final = "word-of-the-author"


def graph() -> dict[str, Any]:
    """A valid v1alpha1 graph that uses much of the schema; made anew, so that a test may change it."""
    return {
        "apiVersion": "nvidia.com/v1alpha1",
        "kind": "DynamoGraphDeployment",
        "metadata": {
            "name": "g",
            "namespace": "llm",
            "labels": {"team": PRIVATE},
            "annotations": {"note": PRIVATE},
            "finalizers": ["nvidia.com/x"],
            "generation": 1,
        },
        "spec": {
            "backendFramework": "vllm",
            "envs": [{"name": "TOKEN", "value": PRIVATE}],
            "pvcs": [{"name": "cache", "create": False}],
            "services": {
                "frontend": {
                    "componentType": "frontend",
                    "replicas": 1,
                    "envs": [{"name": "TOKEN", "value": PRIVATE}],
                    "extraPodSpec": {"mainContainer": {"image": "runtime:1.2.0"}},
                },
                "worker": {
                    "componentType": "worker",
                    "replicas": 2,
                    "resources": {"limits": {"gpu": "1", "memory": "64Gi"}},
                    "sharedMemory": {"size": "8Gi"},
                    "volumeMounts": [{"name": "cache", "mountPoint": "/cache"}],
                    "extraPodSpec": {
                        "mainContainer": {
                            "image": "runtime:1.2.0",
                            "args": ["--token", PRIVATE],
                            "ports": [{"name": "system", "containerPort": 9090}],
                            "livenessProbe": {"httpGet": {"path": "/live", "port": 9090}, "periodSeconds": 5},
                        },
                        "tolerations": [{"key": "gpu", "operator": "Exists"}],
                    },
                },
            },
        },
    }


def request(obj: Any, operation: Any = "CREATE", old: Any = None, **more: Any) -> dict[str, Any]:
    """The review of one operation on an object."""
    made = {"uid": "u-1", "operation": operation, "object": obj, "oldObject": old, "userInfo": {"username": "jane"}, **more}
    return {"apiVersion": "admission.k8s.io/v1", "kind": "AdmissionReview", "request": made}


def review(obj: Any, operation: Any = "CREATE", old: Any = None, **more: Any) -> bytes:
    """The same as bytes."""
    return orjson.dumps(request(obj, operation, old, **more))


def conversion(
    objects: Any, desired: Any = "nvidia.com/v1beta1", uid: str = "c-1", version: str = "apiextensions.k8s.io/v1", **more: Any
) -> bytes:
    """The review of objects that are wanted in another version; `more` stands beside them."""
    request = {"uid": uid, "desiredAPIVersion": desired, "objects": objects, **more}
    return orjson.dumps({"apiVersion": version, "kind": "ConversionReview", "request": request})
