"""Two objects compared beside their schema: by key where lists have keys, by amount where texts are quantities."""

import copy
from typing import Any

from dynamo_webhooks.api.line import Line
from dynamo_webhooks.api.paths import format_path
from dynamo_webhooks.api.schema import load_schema
from dynamo_webhooks.cli.commands.diff.compare import compare_objects
from dynamo_webhooks.conversion.difference import MAX_DEPTH
from tests.rows import run_each

GRAPH = load_schema("DynamoGraphDeployment", "v1beta1", Line.V1_2)
OLD_GRAPH = load_schema("DynamoGraphDeployment", "v1alpha1", Line.V1_2)


def _told(old: Any, new: Any, schema: Any = GRAPH) -> list[tuple[str, str, bool]]:
    return [(format_path(change.path), change.what, change.spelling) for change in compare_objects(old, new, schema)]


def _graph(*components: dict[str, Any]) -> dict[str, Any]:
    return {"spec": {"components": list(components)}}


def _main(**fields: Any) -> dict[str, Any]:
    return _graph({"name": "w", "podTemplate": {"spec": {"containers": [{"name": "main", **fields}]}}})


MAIN = "spec.components[w].podTemplate.spec.containers[main]"


A, B, C, D = ({"name": name} for name in "abcd")
ONE, TWO = {"name": "A", "value": "1"}, {"name": "B", "value": "$(A)"}
TCP, UDP = {"containerPort": 80, "protocol": "TCP"}, {"containerPort": 80, "protocol": "UDP", "name": "x"}
SAME: dict[str, tuple[Any, Any, list[tuple[str, str, bool]]]] = {
    "components by name": (
        _graph({**A, "replicas": 1}, {**B, "replicas": 2}),
        _graph({**B, "replicas": 3}, {**A, "replicas": 1}),
        [("spec.components[b].replicas", "changed", False), ("spec.components", "order", True)],
    ),
    "one comes and one goes": (
        _graph(A, B, C),
        _graph(B, C, D),
        [("spec.components[a]", "removed", False), ("spec.components[d]", "added", False)],
    ),
    "the order of variables means something": (_main(env=[ONE, TWO]), _main(env=[TWO, ONE]), [(f"{MAIN}.env", "order", False)]),
    "ports by number and protocol": (
        _main(ports=[TCP, UDP]),
        _main(ports=[{**UDP, "name": "y"}, TCP]),
        [(f"{MAIN}.ports[80/UDP].name", "changed", False), (f"{MAIN}.ports", "order", True)],
    ),
    "a port by number is not one by name": (
        _main(livenessProbe={"httpGet": {"port": 80}}),
        _main(livenessProbe={"httpGet": {"port": "80"}}),
        [(f"{MAIN}.livenessProbe.httpGet.port", "changed", False)],
    ),
    "a text only looks like a quantity": (_main(args=["1000m"]), _main(args=["1"]), [(f"{MAIN}.args[0]", "changed", False)]),
    "a label as well": (
        _graph({**A, "podTemplate": {"metadata": {"labels": {"a": "1000m"}}}}),
        _graph({**A, "podTemplate": {"metadata": {"labels": {"a": "1"}}}}),
        [("spec.components[a].podTemplate.metadata.labels[a]", "changed", False)],
    ),
    "lists without keys by place": ({"x": [1, 2]}, {"x": [1, 3]}, [("x[1]", "changed", False)]),
    "or as a whole": ({"x": [1, 2]}, {"x": [1]}, [("x", "changed", False)]),
    "a name twice is no key": ([{**A, "v": 1}, {**A, "v": 2}], [{**A, "v": 1}, {**A, "v": 3}], [("[1].v", "changed", False)]),
}


@run_each(("old", "new", "expected"), SAME.values(), ids=SAME)
def test_lists_are_compared_by_what_identifies_their_entries_and_texts_as_texts(old: Any, new: Any, expected: Any) -> None:
    assert _told(old, new, GRAPH if "spec" in old else None) == expected


@run_each(
    ("before", "after", "same"),
    [("1000m", "1", True), ("1Gi", "1024Mi", True), (1, "1", True), ("1G", "1Gi", False), ("1e3", 1000, True), ("1", "x", False)],
)
def test_quantities_are_compared_by_amount(before: Any, after: Any, same: bool) -> None:
    old, new = (_main(resources={"limits": {"cpu": amount}}) for amount in (before, after))
    assert _told(old, new) == [(f"{MAIN}.resources.limits[cpu]", "changed", same)]
    old, new = ({"spec": {"services": {"w": {"resources": {"limits": {"cpu": amount}}}}}} for amount in (before, after))
    assert _told(old, new, OLD_GRAPH) == [("spec.services[w].resources.limits.cpu", "changed", same)]


def test_an_empty_list_or_map_says_nothing_and_an_empty_block_may() -> None:
    assert _told(_main(), _main(args=[])) == [(f"{MAIN}.args", "added", True)]
    assert _told({"metadata": {"labels": {}}}, {"metadata": {}}) == [("metadata.labels", "removed", True)]
    component = {"name": "w", "podTemplate": {"spec": {"nodeSelector": {}}}}
    assert _told(_graph(component), _graph({"name": "w", "podTemplate": {"spec": {}}}))[0][2]
    assert not _told(_graph({"name": "w"}), _graph({"name": "w", "scalingAdapter": {}}))[0][2]


@run_each(("old", "new"), [(1, 1.0), (True, 1), (None, 0), ("1", 1), ([], {}), ({}, None), (0, False)])
def test_values_of_other_types_differ(old: Any, new: Any) -> None:
    assert [change.what for change in compare_objects({"x": old}, {"x": new}, None)] == ["changed"]


def test_depth_and_odd_values_end() -> None:
    deep: Any = 1
    other: Any = 2
    for _ in range(300):
        deep, other = {"x": deep}, {"x": other}
    assert [len(change.path) for change in compare_objects(deep, other, None)] == [MAX_DEPTH]
    assert compare_objects(deep, copy.deepcopy(deep), None) == []


def test_the_order_of_keys_changes_nothing() -> None:
    old = {"a": 1, "b": [{"name": "x"}], "c": {"d": 1, "e": 2}}
    new = {"c": {"e": 3, "d": 1}, "b": [{"name": "y"}]}
    shuffled = {"b": new["b"], "c": {"d": 1, "e": 3}}
    assert compare_objects(old, new, None) == compare_objects(old, shuffled, None)
    assert [format_path(change.path) for change in compare_objects(old, new, None)] == ["a", "b[x]", "b[y]", "c.e"]


def test_variables_that_share_a_name_are_hidden_too() -> None:
    old, new = ([{"name": "DB_PASSWORD", "value": f"{word}{index}"} for index in range(2)] for word in ("old", "new"))
    changes = compare_objects(_main(env=old), _main(env=new), GRAPH)
    assert [(format_path(change.path), change.secret) for change in changes] == [(f"{MAIN}.env[{index}].value", True) for index in range(2)]
    renamed = compare_objects(_main(env=[old[0], {"name": "A"}, {"name": "A"}]), _main(env=[{"name": "B", "value": "x"}, {}, {}]), GRAPH)
    assert [change.secret for change in renamed if change.path[-1] == "value"] == [True]
    assert [change.secret for change in renamed if change.path[-1] == "name"] == [False] * 3
