"""What only v1alpha1 says of a request acts, in whichever annotations conversion keeps it."""

from typing import Any, Final

import pytest

from dynamo_webhooks.api.line import Line
from dynamo_webhooks.conversion.objects import convert_object, target
from dynamo_webhooks.reconciler.request.annotations import Legacy, graph_name, legacy_of, read_requested_hardware

HARDWARE: Final = {"gpuSku": "h100_sxm", "vramMb": 81559, "numGpusPerNode": 8}
PROFILING: Final = {
    "profilerImage": "p:1.5.0",
    "outputPVC": "out",
    "configMapRef": {"name": "map", "key": "k"},
    "config": {"hardware": HARDWARE},
}
OVERRIDES: Final = {"name": "mine", "namespace": "other", "labels": {"a": "b"}, "annotations": {"c": "d"}}


def _request(uid: str, **spec: Any) -> dict[str, Any]:
    metadata = {"name": "r", "namespace": "ns", **({"uid": uid} if uid else {})}
    whole = {"model": "m", "backend": "vllm", "profilingConfig": {"profilerImage": "p:1.5.0"}, **spec}
    return {"apiVersion": "nvidia.com/v1alpha1", "kind": "DynamoGraphDeploymentRequest", "metadata": metadata, "spec": whole}


@pytest.mark.parametrize("uid", ["", "u"])
@pytest.mark.parametrize("line", Line)
def test_what_v1alpha1_says_is_read_from_what_either_line_converts(line: Line, uid: str) -> None:
    wanted = target("nvidia.com/v1beta1", line)
    request = dict(convert_object(_request(uid, profilingConfig=PROFILING, deploymentOverrides=OVERRIDES), wanted).object)
    assert legacy_of(request) == Legacy("map", "k", "out", "mine", "other", {"a": "b"}, {"c": "d"}, HARDWARE)
    assert (graph_name(request), read_requested_hardware(request)) == ("mine", HARDWARE)
    assert legacy_of(dict(convert_object(_request(uid), wanted).object)) == Legacy()


@pytest.mark.parametrize("text", ["{", "[]", '{"spec": {"profilingConfig": 1}}', '{"spec": {"deploymentOverrides": {"name": {}}}}'])
def test_an_annotation_that_cannot_be_read_says_nothing(text: str) -> None:
    annotations = {"nvidia.com/dgdr-spec": text, "nvidia.com/dgdr-config-map-ref": text}
    assert legacy_of({"metadata": {"name": "r", "annotations": annotations}}) == Legacy()
