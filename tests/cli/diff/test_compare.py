"""Two objects compared beside their schema: by key where lists have keys, by amount where texts are quantities."""

import copy
from typing import Any

import pytest

from dynamo_webhooks.api.paths import format_path
from dynamo_webhooks.api.schema import load_schema
from dynamo_webhooks.cli.commands.diff.compare import compare_objects
from dynamo_webhooks.conversion.difference import DEPTH

GRAPH = load_schema("DynamoGraphDeployment", "v1beta1")
OLD_GRAPH = load_schema("DynamoGraphDeployment", "v1alpha1")


def _told(old: Any, new: Any, schema: Any = GRAPH) -> list[tuple[str, str, bool]]:
    return [(format_path(change.path), change.what, change.spelling) for change in compare_objects(old, new, schema)]


def _graph(*components: dict[str, Any]) -> dict[str, Any]:
    return {"spec": {"components": list(components)}}


def _main(**fields: Any) -> dict[str, Any]:
    return _graph({"name": "w", "podTemplate": {"spec": {"containers": [{"name": "main", **fields}]}}})


MAIN = "spec.components[w].podTemplate.spec.containers[main]"


def test_components_are_compared_by_name() -> None:
    old = _graph({"name": "a", "replicas": 1}, {"name": "b", "replicas": 2})
    new = _graph({"name": "b", "replicas": 3}, {"name": "a", "replicas": 1})
    assert _told(old, new) == [("spec.components[b].replicas", "changed", False), ("spec.components", "order", True)]


def test_one_that_comes_or_goes_leaves_its_neighbours_alone() -> None:
    old, new = _graph({"name": "a"}, {"name": "b"}, {"name": "c"}), _graph({"name": "b"}, {"name": "c"}, {"name": "d"})
    assert _told(old, new) == [("spec.components[a]", "removed", False), ("spec.components[d]", "added", False)]


def test_the_order_of_variables_means_something() -> None:
    one, two = {"name": "A", "value": "1"}, {"name": "B", "value": "$(A)"}
    assert _told(_main(env=[one, two]), _main(env=[two, one])) == [(f"{MAIN}.env", "order", False)]


def test_ports_are_told_apart_by_number_and_protocol() -> None:
    tcp, udp = {"containerPort": 80, "protocol": "TCP"}, {"containerPort": 80, "protocol": "UDP", "name": "x"}
    assert _told(_main(ports=[tcp, udp]), _main(ports=[{**udp, "name": "y"}, tcp])) == [
        (f"{MAIN}.ports[80/UDP].name", "changed", False),
        (f"{MAIN}.ports", "order", True),
    ]


@pytest.mark.parametrize(
    ("before", "after", "same"),
    [("1000m", "1", True), ("1Gi", "1024Mi", True), (1, "1", True), ("1G", "1Gi", False), ("1e3", 1000, True), ("1", "x", False)],
)
def test_quantities_are_compared_by_amount(before: Any, after: Any, same: bool) -> None:
    old, new = (_main(resources={"limits": {"cpu": amount}}) for amount in (before, after))
    assert _told(old, new) == [(f"{MAIN}.resources.limits[cpu]", "changed", same)]
    old, new = ({"spec": {"services": {"w": {"resources": {"limits": {"cpu": amount}}}}}} for amount in (before, after))
    assert _told(old, new, OLD_GRAPH) == [("spec.services[w].resources.limits.cpu", "changed", same)]


def test_what_only_looks_like_a_quantity_is_text() -> None:
    old, new = (_graph({"name": "w", "podTemplate": {"metadata": {"labels": {"a": amount}}}}) for amount in ("1000m", "1"))
    assert _told(old, new) == [("spec.components[w].podTemplate.metadata.labels[a]", "changed", False)]
    args = [_main(args=[amount]) for amount in ("1000m", "1")]
    assert _told(*args) == [(f"{MAIN}.args[0]", "changed", False)]


def test_a_port_by_number_is_not_a_port_by_name() -> None:
    old, new = (_main(livenessProbe={"httpGet": {"port": port}}) for port in (80, "80"))
    assert _told(old, new) == [(f"{MAIN}.livenessProbe.httpGet.port", "changed", False)]


def test_an_empty_list_or_map_says_nothing_and_an_empty_block_may() -> None:
    assert _told(_main(), _main(args=[])) == [(f"{MAIN}.args", "added", True)]
    assert _told({"metadata": {"labels": {}}}, {"metadata": {}}) == [("metadata.labels", "removed", True)]
    component = {"name": "w", "podTemplate": {"spec": {"nodeSelector": {}}}}
    assert _told(_graph(component), _graph({"name": "w", "podTemplate": {"spec": {}}}))[0][2]
    assert not _told(_graph({"name": "w"}), _graph({"name": "w", "scalingAdapter": {}}))[0][2]


@pytest.mark.parametrize(("old", "new"), [(1, 1.0), (True, 1), (None, 0), ("1", 1), ([], {}), ({}, None), (0, False)])
def test_values_of_other_types_differ(old: Any, new: Any) -> None:
    assert [change.what for change in compare_objects({"x": old}, {"x": new}, None)] == ["changed"]


def test_lists_without_keys_are_compared_by_place_or_as_a_whole() -> None:
    assert [format_path(change.path) for change in compare_objects([1, 2], [1, 3], None)] == ["[1]"]
    assert [format_path(change.path) for change in compare_objects({"x": [1, 2]}, {"x": [1]}, None)] == ["x"]
    twice = [{"name": "a", "v": 1}, {"name": "a", "v": 2}]
    assert [format_path(change.path) for change in compare_objects(twice, [twice[0], {"name": "a", "v": 3}], None)] == ["[1].v"]


def test_depth_and_odd_values_end() -> None:
    deep: Any = 1
    other: Any = 2
    for _ in range(300):
        deep, other = {"x": deep}, {"x": other}
    assert [len(change.path) for change in compare_objects(deep, other, None)] == [DEPTH]
    assert compare_objects(deep, copy.deepcopy(deep), None) == []


def test_the_order_of_keys_changes_nothing() -> None:
    old = {"a": 1, "b": [{"name": "x"}], "c": {"d": 1, "e": 2}}
    new = {"c": {"e": 3, "d": 1}, "b": [{"name": "y"}]}
    shuffled = {"b": new["b"], "c": {"d": 1, "e": 3}}
    assert compare_objects(old, new, None) == compare_objects(old, shuffled, None)
    assert [format_path(change.path) for change in compare_objects(old, new, None)] == ["a", "b[x]", "b[y]", "c.e"]


def test_variables_that_share_a_name_are_hidden_too() -> None:
    old, new = ([{"name": "DB_PASSWORD", "value": f"{word}{index}"} for index in range(2)] for word in ("old", "new"))
    found = compare_objects(_main(env=old), _main(env=new), GRAPH)
    assert [(format_path(change.path), change.secret) for change in found] == [(f"{MAIN}.env[{index}].value", True) for index in range(2)]
    renamed = compare_objects(_main(env=[old[0], {"name": "A"}, {"name": "A"}]), _main(env=[{"name": "B", "value": "x"}, {}, {}]), GRAPH)
    assert [change.secret for change in renamed if change.path[-1] == "value"] == [True]
    assert [change.secret for change in renamed if change.path[-1] == "name"] == [False] * 3
