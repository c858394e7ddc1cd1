"""Graphs and components, beside the worked examples (tests/conversion/worked): what is kept, saturation detectors, paths."""

from typing import Any

import pytest

from dynamo_webhooks.api.paths import Key, Path, format_path
from dynamo_webhooks.conversion.graph import GRAPH as GRAPH_KIND
from dynamo_webhooks.conversion.graph import SERVICE
from dynamo_webhooks.conversion.kind import LEFT, RIGHT, property_of
from dynamo_webhooks.conversion.lens.protocol import ConversionError
from dynamo_webhooks.conversion.lens.struct import DeclarationError, Struct
from tests.conversion.objects import COMPONENT, GRAPH, away, made, saved

Fields = dict[str, Any]


def test_a_repeated_component_name_is_said_where_it_stands() -> None:
    with pytest.raises(ConversionError) as error:
        away(made(GRAPH, RIGHT, {"components": [{"name": "a"}, {"name": "b"}, {"name": "a"}]}))
    assert error.value.path == ("spec", "components", 2, "name")
    assert error.value.reason == 'must be a name that no other component has, got "a"'


def test_whatever_is_kept_of_a_component_holds_its_name() -> None:
    """A remainder without one would be that of a nameless component to the Go operator."""
    there = away(made(COMPONENT, RIGHT, {"name": "dep", "eppConfig": None}, name="dep"))
    assert there["spec"] == {"serviceName": "dep"}
    assert saved(there) == {"name": "dep"}


def test_a_saturation_detector_always_has_a_staleness_threshold(subtests: pytest.Subtests) -> None:
    """As for the Go operator; what its author left out is gone again at home, and an edit of the other version wins."""
    rows: list[str] = [LEFT, RIGHT]
    rows1: list[Fields] = [{}, {"queueDepthThreshold": 5}, {"metricsStalenessThreshold": None}]
    for version in rows:
        for detector in rows1:
            with subtests.test(f"{version} {detector}"):
                picker = {"config": {"plugins": [{"type": "t"}], "saturationDetector": detector}}
                spec: Fields = (
                    {"services": {"w": {"eppConfig": picker}}} if version == LEFT else {"components": [{"name": "w", "eppConfig": picker}]}
                )
                graph = made(GRAPH, version, spec)
                there = away(graph)
                parts = there["spec"]["components"][0] if version == LEFT else there["spec"]["services"]["w"]
                completed = parts["eppConfig"]["config"]["saturationDetector"]
                assert completed == {**detector, "metricsStalenessThreshold": "0s"}
                assert away(there) == graph
                completed["metricsStalenessThreshold"] = "2s"
                home = away(there)["spec"]
                part = home["services"]["w"] if version == LEFT else home["components"][0]
                assert part["eppConfig"]["config"]["saturationDetector"] == completed


def test_a_member_that_no_lens_claims_is_refused() -> None:
    left = set(property_of(GRAPH, LEFT, "spec", "services", "*")["properties"])
    right = set(property_of(GRAPH, RIGHT, "spec", "components", "*")["properties"])
    partial = Struct(*[lens for lens in SERVICE.lenses if "replicas" not in lens.left])
    with pytest.raises(DeclarationError, match="replicas"):
        partial.require("service", left, right - {"name"})


SPEC: Fields = {
    "services": {
        "w": {
            "resources": {"limits": {"gpu": "1", "custom": {"x.io/y": "1"}}},
            "volumeMounts": [{"name": "c", "mountPoint": "/c", "useAsCompilationCache": True}, {"name": "p", "mountPoint": "/p"}],
            "extraPodSpec": {"mainContainer": {"image": "i"}, "containers": [{"name": "side"}]},
        }
    }
}
W: Path = ("services", Key("w"))
V: Path = ("components", Key("w"))
MAIN: Path = (*V, "podTemplate", "spec", "containers", Key("main"))
PATHS: list[tuple[Path, Path]] = [
    ((*W, "replicas"), (*V, "replicas")),
    ((*W, "componentType"), (*V, "type")),
    ((*W, "sharedMemory", "size"), (*V, "sharedMemorySize")),
    ((*W, "gpuMemoryService", "mode"), (*V, "experimental", "gpuMemoryService", "mode")),
    ((*W, "failover", "enabled"), (*V, "experimental", "failover")),
    ((*W, "resources", "limits", "gpu"), (*MAIN, "resources", "limits", Key("nvidia.com/gpu"))),
    ((*W, "resources", "limits", "custom", Key("x.io/y")), (*MAIN, "resources", "limits", Key("x.io/y"))),
    ((*W, "envs", 0, "name"), (*MAIN, "env", 0, "name")),
    ((*W, "volumeMounts", 0, "mountPoint"), (*V, "compilationCache", "mountPath")),
    ((*W, "volumeMounts", 1, "mountPoint"), (*MAIN, "volumeMounts", 0, "mountPath")),
    ((*W, "extraPodSpec", "mainContainer", "image"), (*MAIN, "image")),
    ((*W, "extraPodSpec", "containers", 0, "env"), (*V, "podTemplate", "spec", "containers", Key("side"), "env")),
    ((*W, "extraPodSpec", "tolerations", 0), (*V, "podTemplate", "spec", "tolerations", 0)),
    ((*W, "extraPodMetadata", "labels"), (*V, "podTemplate", "metadata", "labels")),
    ((*W, "frontendSidecar", "envs", 0), (*V, "podTemplate", "spec", "containers", Key("sidecar-frontend"), "env", 0)),
    (
        (*W, "frontendSidecar", "envFromSecret"),
        (*V, "podTemplate", "spec", "containers", Key("sidecar-frontend"), "envFrom", 0, "secretRef", "name"),
    ),
    (("topologyConstraint", "topologyProfile"), ("topologyConstraint", "clusterTopologyName")),
    (("envs", 0), ("env", 0)),
]


def test_paths_go_right() -> None:
    assert [(format_path(left), place) for left, right in PATHS if (place := GRAPH_KIND.spec.to_right(left, SPEC)) != right] == []


def test_paths_go_left(subtests: pytest.Subtests) -> None:
    for left, right in [pair for pair in PATHS if not {"size", "enabled", "frontendSidecar"} & {*pair[0]}]:
        with subtests.test(format_path(left)):
            converted = away(made(GRAPH, LEFT, SPEC))["spec"]
            assert GRAPH_KIND.spec.to_left(right, converted, SPEC) == left


def test_a_place_that_is_in_no_list_is_the_lists() -> None:
    for place in (-1, 2, "x"):
        assert GRAPH_KIND.spec.to_right((*W, "volumeMounts", place, "name"), SPEC) == (*MAIN, "volumeMounts")


def test_a_path_by_index_is_one_by_name() -> None:
    converted = away(made(GRAPH, LEFT, SPEC))["spec"]
    place = GRAPH_KIND.spec.to_left(("components", 0, "podTemplate", "spec", "containers", 1, "image"), converted, SPEC)
    assert place == (*W, "extraPodSpec", "containers", 0, "image")
    assert GRAPH_KIND.spec.to_left(("components", 7), converted, SPEC) == ("services",)
