"""Extra clients of a checkpoint, where reviews made by hand say null: a null name is an empty one, as typed readers have it."""

from typing import Any

from dynamo_webhooks.admission.judging import judge as evaluate
from dynamo_webhooks.policies.facts import Facts
from dynamo_webhooks.policies.review import CREATE, Review

CLIENT: dict[str, Any] = {
    "resources": {"claims": [{"name": "intrapod-shared-gpu"}]},
    "volumeMounts": [{"name": "gms-intrapod-control", "mountPath": "/gms-intrapod-control"}],
    "env": [{"name": "GMS_SOCKET_DIR", "value": "/gms-intrapod-control"}],
}


def _found(containers: list[dict[str, Any] | None]) -> list[tuple[str, str]]:
    pod = {
        "resourceClaims": [{"name": "intrapod-shared-gpu"}],
        "volumes": [{"name": "gms-intrapod-control"}],
        "initContainers": [{"name": "gms-server", "restartPolicy": "Always", **CLIENT}],
        "containers": containers,
    }
    spec = {"gpuMemoryService": {"enabled": True, "extraClientContainers": [None]}, "job": {"podTemplateSpec": {"spec": pod}}}
    review = Review("DynamoCheckpoint/v1alpha1", CREATE, {"spec": spec}, facts=Facts(allowGmsSnapshot=True, operatorVersion="1.2.0"))
    return [(finding.rule.name, finding.text) for finding in evaluate(review)]


def test_a_null_name_is_the_container_without_a_name_and_told_as_an_empty_one() -> None:
    assert _found([{"name": "main", **CLIENT}, CLIENT]) == []
    ((rule, text),) = _found([{"name": "main", **CLIENT}])
    assert rule == "ckpt-extra-client-container"
    assert 'names ""' in text
