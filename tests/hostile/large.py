"""Reviews that are large on purpose: what stopped an earlier version, and what is as long as may be."""

from typing import Any, Final

import orjson

from dynamo_webhooks.admission.registration import Purpose
from dynamo_webhooks.webhooks.routes import route_path

GRAPH: Final = "DynamoGraphDeployment"
VALIDATE, MUTATE, VALIDATE_BETA, MUTATE_BETA = (
    route_path(GRAPH, version, purpose) for version in ("v1alpha1", "v1beta1") for purpose in (Purpose.VALIDATE, Purpose.MUTATE)
)


def _review(version: str, spec: dict[str, Any], old: dict[str, Any] | None = None) -> bytes:
    kind = {"apiVersion": f"nvidia.com/{version}", "kind": GRAPH, "metadata": {"name": "h", "namespace": "h"}}
    request: dict[str, Any] = {"uid": "h", "operation": "CREATE", "object": {**kind, "spec": spec}}
    if old is not None:
        request |= {"operation": "UPDATE", "oldObject": {**kind, "spec": old}}
    return orjson.dumps({"apiVersion": "admission.k8s.io/v1", "kind": "AdmissionReview", "request": request})


def _conversion(objects: list[Any]) -> bytes:
    request = {"uid": "h", "desiredAPIVersion": "nvidia.com/v1beta1", "objects": objects}
    return orjson.dumps({"apiVersion": "apiextensions.k8s.io/v1", "kind": "ConversionReview", "request": request})


def shapes() -> list[tuple[str, bytes]]:
    """Where each is posted, and its body."""
    names = [{"name": f"w{number}"} for number in range(30_000)]
    mounts: dict[str, Any] = {f"w{number}": {"volumeMounts": [{}] * 6_000} for number in range(20)}
    wrong = {f"w{number}": {"replicas": -1} for number in range(4_000)}
    services = {f"w{number}": {"replicas": 1, "envs": [{"name": "A", "value": "b"}]} for number in range(20_000)}
    unknown = {f"field{number}": number for number in range(60_000)}
    small: dict[str, Any] = {f"w{number}": {"volumeMounts": [{}] * 450} for number in range(20)}
    alpha = {"apiVersion": "nvidia.com/v1alpha1", "kind": GRAPH, "metadata": {"name": "h", "namespace": "h"}}
    return [
        (MUTATE_BETA, _review("v1beta1", {"components": names})),
        (VALIDATE_BETA, _review("v1beta1", {"components": [{**each, "experimental": {"failover": {}}} for each in names[:25]]})),
        (VALIDATE, _review("v1alpha1", {"services": wrong})),
        (VALIDATE, _review("v1alpha1", {"services": mounts}, {"services": mounts})),
        (MUTATE, _review("v1alpha1", {"services": {}, **unknown})),
        (VALIDATE, _review("v1alpha1", {"services": small})),  # short enough for the event loop
        ("/convert", _conversion([{**alpha, "spec": {"services": services}}])),
        ("/convert", b'{"request":{"uid":"h","desiredAPIVersion":"nvidia.com/v1beta1","objects":[' + b"{}," * 2_000_000 + b"{}]}}"),
    ]
