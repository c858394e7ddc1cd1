"""Graphs and components, beside the worked examples (tests/conversion/worked): partial objects, what is kept, paths."""

from typing import Any

import pytest

from dynamo_webhooks.api.paths import Key, Path, format_path
from dynamo_webhooks.conversion.graph import GRAPH as GRAPH_KIND
from dynamo_webhooks.conversion.kind import LEFT, RIGHT
from dynamo_webhooks.conversion.kinds import KINDS, kind_of
from dynamo_webhooks.conversion.lens.protocol import ConversionError
from tests.conversion.objects import COMPONENT, GRAPH, away, made, saved, template

Fields = dict[str, Any]


def test_a_repeated_component_name_is_said_where_it_stands() -> None:
    with pytest.raises(ConversionError) as error:
        away(made(GRAPH, RIGHT, {"components": [{"name": "a"}, {"name": "b"}, {"name": "a"}]}))
    assert error.value.path == ("spec", "components", 2, "name")
    assert error.value.reason == 'must be a name that no other component has, got "a"'


@pytest.mark.parametrize("partial", [{}, {"spec": {}}, {"spec": {"services": {}}}, {"spec": {"services": None}}, {"status": {}}])
def test_what_is_not_there_is_not_invented(partial: Fields) -> None:
    graph = {"apiVersion": f"nvidia.com/{LEFT}", "kind": GRAPH, "metadata": {"name": "x"}, **partial}
    there = away(graph)
    assert there.keys() == graph.keys()
    assert not there.get("spec")
    assert away(there) == graph


def test_whatever_is_kept_of_a_component_holds_its_name() -> None:
    """A remainder without one would be that of a nameless component to the Go operator."""
    there = away(made(COMPONENT, RIGHT, {"name": "dep", "eppConfig": None}, name="dep"))
    assert there["spec"] == {"serviceName": "dep"}
    assert saved(there) == {"name": "dep"}


@pytest.mark.parametrize("kind", [GRAPH, COMPONENT])
def test_templates_of_both_origins_leave_no_annotation_at_home(kind: str) -> None:
    left: Fields = {"envs": [{"name": "A"}], "serviceName": "s"} if kind == COMPONENT else {"services": {"w": {"envs": [{"name": "A"}]}}}
    right: Fields = {"name": "w", "podTemplate": template({"name": "main", "image": "i"})}
    for obj in (made(kind, LEFT, left), made(kind, RIGHT, right if kind == COMPONENT else {"components": [right]})):
        assert saved(away(obj)) is not None
        assert away(away(obj)) == obj


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
    (("topologyConstraint", "topologyProfile"), ("topologyConstraint", "clusterTopologyName")),
    (("envs", 0), ("env", 0)),
]


@pytest.mark.parametrize(("left", "right"), PATHS, ids=format_path)
def test_paths_go_right(left: Path, right: Path) -> None:
    assert GRAPH_KIND.spec.to_right(left, SPEC) == right


@pytest.mark.parametrize(("left", "right"), [pair for pair in PATHS if pair[0][-1] not in ("size", "enabled")], ids=format_path)
def test_paths_go_left(left: Path, right: Path) -> None:
    converted = away(made(GRAPH, LEFT, SPEC))["spec"]
    assert GRAPH_KIND.spec.to_left(right, converted) == left


def test_a_path_by_index_is_one_by_name() -> None:
    converted = away(made(GRAPH, LEFT, SPEC))["spec"]
    found = GRAPH_KIND.spec.to_left(("components", 0, "podTemplate", "spec", "containers", 1, "image"), converted)
    assert found == (*W, "extraPodSpec", "containers", 0, "image")
    assert GRAPH_KIND.spec.to_left(("components", 7), converted) == ("services",)


def test_the_table_knows_the_converting_kinds() -> None:
    assert len(KINDS) == 4
    assert all(KINDS[name].name == name for name in KINDS if name in (GRAPH, COMPONENT))
    assert "DynamoModel" not in KINDS
    with pytest.raises(KeyError):
        kind_of("DynamoModel")
