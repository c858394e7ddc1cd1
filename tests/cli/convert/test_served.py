"""A converted file says what the server would hold, so that applying it again and again writes nothing."""

import copy
from typing import Any

import pytest

from dynamo_webhooks.api.line import Line
from dynamo_webhooks.api.schema import load_schema
from dynamo_webhooks.api.walk.default import default
from dynamo_webhooks.cli.commands.convert.served import convert_as_served, leave_out_marks
from dynamo_webhooks.cli.objects.forms import apply_schema_defaults
from dynamo_webhooks.conversion.kind import LEFT, RIGHT
from dynamo_webhooks.conversion.legacy import RECORD
from dynamo_webhooks.conversion.objects import convert_object, target
from tests.conversion.objects import GRAPH, made
from tests.laws.managers.subjects import REQUEST

OVERRIDES = '{"spec":{"deploymentOverrides":{"name":"n"}},"version":1}'
MOUNTS = [{"name": "c", "mountPoint": "/c"}, {"name": "d", "mountPoint": "/d"}]
SERVICES: list[dict[str, Any]] = [
    {"componentType": "worker", "volumeMounts": MOUNTS},
    {"componentType": "worker", "volumeMounts": MOUNTS, "extraPodSpec": {"mainContainer": {"env": [{"name": "A"}]}}},
    {"gpuMemoryService": {"enabled": True}, "failover": {"enabled": True}, "checkpoint": {"enabled": True}},
    {"scalingAdapter": {}, "multinode": {}},
    {"envs": [{"name": "A", "valueFrom": {"secretKeyRef": {"key": "k"}}}], "extraPodSpec": {"mainContainer": {"env": [{"name": "B"}]}}},
]


@pytest.mark.parametrize("service", SERVICES)
def test_a_converted_file_is_what_the_server_holds(service: dict[str, Any]) -> None:
    obj = made(GRAPH, LEFT, {"services": {"w": service}})
    before = copy.deepcopy(obj)
    wanted = target(f"nvidia.com/{RIGHT}", line=Line.V1_2)
    held = convert_object(apply_schema_defaults(obj, line=Line.V1_2), wanted).object
    file = copy.deepcopy(convert_as_served(obj, wanted).object)
    default(file, load_schema(GRAPH, RIGHT, Line.V1_2))
    assert file == leave_out_marks(held)
    assert obj == before


def test_an_annotation_that_holds_no_value_is_left_out_but_not_one_that_says_how_it_was_written() -> None:
    for version, spec in ((LEFT, {"services": {"w": {"replicas": 2}}}), (RIGHT, {"components": [{"name": "w", "replicas": 2}]})):
        other = RIGHT if version == LEFT else LEFT
        obj = made(GRAPH, version, spec)
        file = convert_as_served(obj, target(f"nvidia.com/{other}", line=Line.V1_2)).object
        assert (file["metadata"], convert_as_served(file, target(f"nvidia.com/{version}", line=Line.V1_2)).object) == ({"name": "x"}, obj)
    nothing = made("DynamoComponentDeployment", LEFT, {})  # it has no name of a service, which its name would be taken for
    file = convert_as_served(nothing, target(f"nvidia.com/{RIGHT}", line=Line.V1_2)).object
    assert "nvidia.com/dcd-spec" in file["metadata"]["annotations"]
    assert convert_as_served(file, target(f"nvidia.com/{LEFT}", line=Line.V1_2)).object == nothing


def test_fields_stay_as_they_were_written_but_blocks_say_their_defaults() -> None:
    obj = made(GRAPH, LEFT, {"services": {"w": {"gpuMemoryService": {"enabled": True}, "volumeMounts": MOUNTS}}})
    block = {"gpuMemoryService": {"deviceClassName": "gpu.nvidia.com", "mode": "IntraPod"}}
    mounts = [{"name": mount["name"], "mountPath": mount["mountPoint"]} for mount in MOUNTS]
    [component] = convert_as_served(obj, target(f"nvidia.com/{RIGHT}", line=Line.V1_2)).object["spec"]["components"]
    assert component["experimental"] == block
    assert component["podTemplate"]["spec"]["containers"][0]["volumeMounts"] == mounts


@pytest.mark.parametrize(
    ("version", "spec"),
    [
        (LEFT, {"model": "m", "backend": "vllm", "useMocker": True, "profilingConfig": {"profilerImage": "i", "outputPVC": "o"}}),
        (RIGHT, {"model": "m", "backend": "vllm", "searchStrategy": "thorough", "hardware": {"totalGpus": 8}}),
    ],
)
def test_a_converted_request_is_what_the_server_holds_and_says_no_status(version: str, spec: dict[str, Any]) -> None:
    """The status is the controller's, and a default that one version alone has isn't kept."""
    obj = made(REQUEST, version, spec)
    other = RIGHT if version == LEFT else LEFT
    wanted = target(f"nvidia.com/{other}", line=Line.V1_2)
    stored = apply_schema_defaults({**obj, "metadata": {**obj["metadata"], "uid": "u"}}, line=Line.V1_2)
    held = convert_object(stored, wanted).object
    del held["metadata"]["uid"]
    file = copy.deepcopy(convert_as_served(obj, wanted).object)
    default(file, load_schema(REQUEST, other, Line.V1_2))
    assert file == held
    assert "status" not in file


def test_an_empty_section_of_a_request_says_its_defaults() -> None:
    """In v1alpha1 it has no field of its own, so that its defaults would go with the last one who said it."""
    obj = made(REQUEST, RIGHT, {"model": "m", "backend": "vllm", "workload": {}, "modelCache": {}})
    config = {"sla": {"isl": 4000, "osl": 1000}, "deployment": {"modelCache": {"pvcMountPath": "/opt/model-cache"}}}
    assert convert_as_served(obj, target(f"nvidia.com/{LEFT}", line=Line.V1_2)).object["spec"]["profilingConfig"]["config"] == config


def test_a_record_of_older_annotations_is_in_a_file_only_where_it_had_reserved_ones() -> None:
    """That there were none need not be said; what was there comes home."""
    obj = made(REQUEST, RIGHT, {"model": "m", "backend": "vllm", "sla": {"ttft": 9}})
    assert "annotations" not in convert_as_served(obj, target(f"nvidia.com/{LEFT}", line=Line.V1_2)).object["metadata"]
    obj["metadata"]["annotations"] = {"nvidia.com/dgdr-output-pvc": "o", "nvidia.com/dgdr-spec": OVERRIDES}
    there = convert_as_served(obj, target(f"nvidia.com/{LEFT}", line=Line.V1_2)).object
    assert RECORD in there["metadata"]["annotations"]
    assert (
        convert_as_served(there, target(f"nvidia.com/{RIGHT}", line=Line.V1_2)).object["metadata"]["annotations"][
            "nvidia.com/dgdr-output-pvc"
        ]
        == "o"
    )
