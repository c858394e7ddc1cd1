"""Members of a component beside its pod: roles, shared memory, switches, experimental features; and that every member is claimed."""

from __future__ import annotations

from typing import Any

import pytest

from dynamo_webhooks.conversion.coverage import members
from dynamo_webhooks.conversion.graph import SERVICE
from dynamo_webhooks.conversion.kind import LEFT, RIGHT
from dynamo_webhooks.conversion.lens.struct import DeclarationError, Struct
from tests.conversion.objects import GRAPH, away, edited_left, edited_right, left_of, made, right_of

Fields = dict[str, Any]

BOTH_WAYS: list[tuple[Fields, Fields]] = [
    ({"componentType": "worker", "subComponentType": "prefill"}, {"type": "prefill"}),
    ({"componentType": "worker", "subComponentType": "decode"}, {"type": "decode"}),
    ({"componentType": "epp"}, {"type": "epp"}),
    ({"sharedMemory": {"size": "2Gi"}}, {"sharedMemorySize": "2Gi"}),
    ({"sharedMemory": {"disabled": True}}, {"sharedMemorySize": "0"}),
    ({"scalingAdapter": {"enabled": True}}, {"scalingAdapter": {}}),
    ({"replicas": 0, "multinode": {"nodeCount": 4}}, {"replicas": 0, "multinode": {"nodeCount": 4}}),
    ({"failover": {"enabled": True, "mode": "intraPod"}}, {"experimental": {"failover": {"mode": "IntraPod"}}}),
    ({"gpuMemoryService": {"enabled": True, "mode": "odd"}}, {"experimental": {"gpuMemoryService": {"mode": "odd"}}}),
    ({"checkpoint": {"enabled": True, "mode": "Manual"}}, {"experimental": {"checkpoint": {"mode": "Manual"}}}),
]


@pytest.mark.parametrize(("left", "right"), BOTH_WAYS)
def test_members_that_both_versions_can_say(left: Fields, right: Fields) -> None:
    assert right_of(left) == right
    assert left_of(right) == left


@pytest.mark.parametrize(
    ("left", "right"),
    [
        ({"componentType": "prefill", "subComponentType": "custom"}, {"type": "prefill"}),
        ({"componentType": "main", "subComponentType": "decode"}, {}),
        ({"componentType": "default"}, {}),
        ({"componentType": ""}, {}),
        ({"subComponentType": "prefill"}, {}),
        ({"sharedMemory": {"disabled": True, "size": "1Gi"}}, {"sharedMemorySize": "0"}),
        ({"sharedMemory": {}}, {}),
        ({"scalingAdapter": {"enabled": False}}, {}),
        ({"gpuMemoryService": {"enabled": False, "mode": "intraPod"}}, {}),
        ({"failover": {"enabled": True, "mode": "InterPod"}}, {"experimental": {"failover": {"mode": "InterPod"}}}),
        ({"ingress": {"enabled": True}, "dynamoNamespace": "", "labels": {}, "autoscaling": {}}, {}),
    ],
)
def test_what_v1beta1_cannot_say_waits_in_the_remainder(left: Fields, right: Fields) -> None:
    graph = made(GRAPH, LEFT, {"services": {"w": left}})
    assert right_of(left) == right
    assert away(away(graph)) == graph


def test_an_empty_experimental_block_comes_home() -> None:
    graph = made(GRAPH, RIGHT, {"components": [{"name": "w", "experimental": {}}]})
    assert away(graph)["spec"]["services"]["w"] == {}
    assert away(away(graph)) == graph


@pytest.mark.parametrize("version", [LEFT, RIGHT])
@pytest.mark.parametrize("detector", [{}, {"queueDepthThreshold": 5}, {"metricsStalenessThreshold": None}])
def test_a_saturation_detector_always_has_a_staleness_threshold(detector: Fields, version: str) -> None:
    """As for the Go operator; what its author left out is gone again at home, and an edit of the other version wins."""
    picker = {"config": {"plugins": [{"type": "t"}], "saturationDetector": detector}}
    spec: Fields = {"services": {"w": {"eppConfig": picker}}} if version == LEFT else {"components": [{"name": "w", "eppConfig": picker}]}
    graph = made(GRAPH, version, spec)
    there = away(graph)
    parts = there["spec"]["components"][0] if version == LEFT else there["spec"]["services"]["w"]
    found = parts["eppConfig"]["config"]["saturationDetector"]
    assert found == {**detector, "metricsStalenessThreshold": "0s"}
    assert away(there) == graph
    found["metricsStalenessThreshold"] = "2s"
    home = away(there)["spec"]
    part = home["services"]["w"] if version == LEFT else home["components"][0]
    assert part["eppConfig"]["config"]["saturationDetector"] == found


def test_an_edited_role_leaves_no_stale_phase() -> None:
    assert edited_right({"componentType": "main", "subComponentType": "decode"}, type="worker") == {"componentType": "worker"}
    assert edited_right({"componentType": "worker", "subComponentType": "custom"}, type=None) == {}


def test_taking_the_shared_memory_away_is_an_edit() -> None:
    assert edited_right({"sharedMemory": {"disabled": True, "size": "1Gi"}}, sharedMemorySize=None) == {}
    assert edited_right({"sharedMemory": {"disabled": True, "size": "1Gi"}}, sharedMemorySize="16Gi") == {"sharedMemory": {"size": "16Gi"}}


def test_a_feature_that_is_switched_on_forgets_what_it_was() -> None:
    off = {"gpuMemoryService": {"enabled": False, "mode": "intraPod", "deviceClassName": "old"}}
    on = edited_right(off, experimental={"gpuMemoryService": {"mode": "InterPod"}})
    assert on == {"gpuMemoryService": {"enabled": True, "mode": "interPod"}}
    assert edited_left({"experimental": {}}, failover={"enabled": True}) == {"experimental": {"failover": {}}}


def test_every_member_of_a_service_is_claimed_once() -> None:
    left, right = members(GRAPH, LEFT, ("spec", "services", "*")), members(GRAPH, RIGHT, ("spec", "components", "*"))
    assert set(SERVICE.by_left) == left
    assert set(SERVICE.by_right) == right - {"name"}
    partial = Struct(*[lens for lens in SERVICE.lenses if "replicas" not in lens.left])
    with pytest.raises(DeclarationError, match="replicas"):
        partial.require("service", left, right - {"name"})
