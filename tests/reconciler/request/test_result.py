"""What a profiler wrote: read within bounds, and turned into what may be applied."""

import json
from typing import Any

import pytest

from dynamo_webhooks.api.line import Line
from dynamo_webhooks.reconciler.request.documents import (
    MAX_LEVELS,
    MAX_TEXT_CHARACTERS,
    MAX_VALUES,
    UnreadableError,
    _Reader,
    read_documents,
)
from dynamo_webhooks.reconciler.request.names import PARETO, REQUEST_UID, RESULT, SPEC
from dynamo_webhooks.reconciler.request.phases import trim_request
from dynamo_webhooks.reconciler.request.result import (
    MAX_CHOICE_VALUES,
    MAX_CONFIG_MAPS,
    ResultError,
    find_result,
    is_there,
    make_result,
    prepare_graph,
    read_failure,
    read_pareto,
    summarise_result,
)
from tests.reconciler.request.asked import GRAPH, asked
from tests.rows import run_each

CONFIG_MAP = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: data, namespace: kube-system, ownerReferences: [{uid: x}]}\ndata: {a: 1}\n"


@run_each(
    ("text", "values"),
    [
        ("a: 1\n---\nb: [1.5, true, ~, 'x', 0x10, .inf, 2026-01-01]", [{"a": 1}, {"b": [1.5, True, None, "x", 16, ".inf", "2026-01-01"]}]),
        ("a: &x {b: 1}\nc: *x", [{"a": {"b": 1}, "c": {"b": 1}}]),
        ("1: a\ntrue: b", [{"1": "a", "true": "b"}]),
        ("", []),
        ('{"a": [1, {"b": null}]}', [{"a": [1, {"b": None}]}]),
    ],
)
def test_documents_are_values_of_json(text: str, values: list[object]) -> None:
    assert read_documents(text) == values


_BOMB = "a: &a [x,x,x,x,x,x,x,x,x,x]\n" + "".join(
    f"{name}: &{name} [{','.join([f'*{before}'] * 10)}]\n" for before, name in zip("abcde", "bcdef", strict=True)
)


@run_each(
    ("text", "why"),
    [
        ("{{{", "document 1 is no YAML"),
        ("a: 1\n---\nb: [", "document 2 is no YAML"),
        ("[" * 100_000, f"must be nested at most {MAX_LEVELS} levels deep"),
        ("a: &a [1]\n" + "".join(f"b{n}: &b{n} [{'[' * 40}*{'a' if not n else f'b{n - 1}'}{']' * 40}]\n" for n in range(3)), "levels deep"),
        ("x: &x [*x]", "must name an earlier value"),
        ("[" + "1," * (MAX_VALUES + 1) + "]", f"must have at most {MAX_VALUES} values"),
        (_BOMB, f"must have at most {MAX_VALUES} values"),
        ("? [1]\n: 2", "a key must be text"),
        (" " * (MAX_TEXT_CHARACTERS + 1), f"must be at most {MAX_TEXT_CHARACTERS} characters"),
        ("a: !!python/object:os.system x\n--- [", "document 2"),
    ],
)
def test_text_beyond_a_bound_is_refused_with_its_document(text: str, why: str) -> None:
    with pytest.raises(UnreadableError, match=why):
        read_documents(text)


def test_a_graph_keeps_its_version_and_spec_and_gets_our_name() -> None:
    result = make_result(asked(), {RESULT: GRAPH}, line=Line.V1_2)
    graph = prepare_graph(asked(), result.graph)
    assert (graph["apiVersion"], graph["metadata"]["name"], graph["metadata"]["namespace"]) == ("nvidia.com/v1beta1", "req-dgd", "demo")
    assert graph["spec"]["components"][0]["name"] == "Frontend"
    assert graph["metadata"]["labels"] == {
        "a": "b",
        "dgdr.nvidia.com/name": "req",
        "dgdr.nvidia.com/namespace": "demo",
        "nvidia.com/managed-by": "dynamo-operator",
    }
    assert graph["metadata"]["annotations"] == {REQUEST_UID: "u-1"}


def test_nothing_else_of_the_metadata_counts() -> None:
    hostile = GRAPH.replace(
        "{name: agg, labels: {a: b}}",
        "{name: kube-root, namespace: kube-system, uid: 1, finalizers: [x], ownerReferences: [{uid: y}], labels: 7,"
        " annotations: {webhooks.nvidia.com/request-uid: u-2, b: c}}",
    )
    graph = prepare_graph(asked(), make_result(asked(), {RESULT: hostile}, line=Line.V1_2).graph)
    assert graph["metadata"].keys() == {"name", "namespace", "labels", "annotations"}
    assert graph["metadata"]["annotations"] == {REQUEST_UID: "u-1", "b": "c"}
    assert graph["metadata"]["namespace"] == "demo"


def test_config_maps_come_into_the_namespace_and_others_are_named() -> None:
    other = "apiVersion: v1\nkind: Secret\nmetadata: {name: s}\n"
    result = make_result(asked(), {RESULT: f"{CONFIG_MAP}---\n{other}---\n{GRAPH}"}, line=Line.V1_2)
    [made] = result.config_maps
    assert (made["metadata"]["name"], made["metadata"]["namespace"], made["data"]) == ("data", "demo", {"a": "1"})
    assert made["metadata"].keys() == {"name", "namespace", "labels"}
    assert result.ignored == ("Secret s",)


@run_each(
    ("data", "why"),
    [
        (None, "output ConfigMap dgdr-output-req not found"),
        ({}, "key final_config.yaml not found in ConfigMap dgdr-output-req"),
        ({RESULT: "a: 1"}, "no DynamoGraphDeployment found"),
        ({RESULT: f"{GRAPH}---\n{GRAPH}"}, "must hold one DynamoGraphDeployment, found 2"),
        ({RESULT: GRAPH.replace("nvidia.com/v1beta1", "evil.example/v1")}, "apiVersion must be one of"),
        ({RESULT: "{{{"}, "final_config.yaml: document 1 is no YAML"),
        ({RESULT: "---\n".join([CONFIG_MAP] * (MAX_CONFIG_MAPS + 1) + [GRAPH])}, "must hold at most 20 ConfigMaps, found 21"),
    ],
)
def test_a_result_that_nothing_can_be_made_of(data: dict[str, str] | None, why: str) -> None:
    with pytest.raises(ResultError, match=why):
        make_result(asked(), data, line=Line.V1_2)


def test_overrides_of_v1alpha1_name_and_mark_the_graph() -> None:
    request = asked(
        annotations={"nvidia.com/dgdr-deployment-overrides": '{"name": "mine", "labels": {"l": "v"}, "annotations": {"n": "w"}}'}
    )
    graph = make_result(request, {RESULT: GRAPH}, line=Line.V1_2).graph
    assert graph["metadata"] == {"name": "mine", "labels": {"a": "b", "l": "v"}, "annotations": {"n": "w"}}


def test_a_result_of_the_go_operator_is_read_from_its_annotation() -> None:
    result = find_result(asked(annotations={SPEC: GRAPH}), {"phase": "Done"})
    assert make_result(asked(), result, line=Line.V1_2).graph["metadata"]["name"] == "req-dgd"
    assert find_result(asked(), {}) is None


def test_configurations_to_choose_from_are_shown_as_far_as_they_can_be_read() -> None:
    rows = '[[1,2,3,4,5,6,"# c\\nspec: {a: 1}"],[1,2],[1,2,3,4,5,6,7],[1,2,3,4,5,6,"# only"],[1,2,3,4,5,6,"- list"],[1,2,3,4,5,6,"{{{"]]'
    text = '{"cost": {"table": {"data": ' + rows + "}}}"
    assert read_pareto({PARETO: text}) == [{"config": {"spec": {"a": 1}}}]
    assert [read_pareto({PARETO: text}) for text in ("", "[", '{"cost": 7}', "[" * 100_000)] == [[], [], [], []]


@pytest.mark.parametrize(
    "row", ["[" + "1," * 2000 + "}", "[" + "1," * 2000 + "]", "a: [" + "1," * 2000 + "]", "- x\n" * 2000, "a\n---\n" * 2000]
)
def test_a_hostile_table_costs_no_more_than_its_bound(row: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Rows that can't be read, or aren't shown, count as well: they took up to six seconds of a thread."""
    values: list[int] = []
    scalar = _Reader._scalar

    def counted(self: _Reader, event: object) -> object:
        values.append(1)
        return scalar(self, event)

    monkeypatch.setattr(_Reader, "_scalar", counted)
    read_pareto({PARETO: json.dumps({"cost": {"table": {"data": [[0] * 6 + [row]] * 200}}})})
    assert len(values) <= MAX_CHOICE_VALUES + 1


def test_a_graph_too_large_for_a_status_is_not_shown() -> None:
    large = GRAPH.replace("i:1", "i" * 300_000)
    assert summarise_result(make_result(asked(), {RESULT: large}, line=Line.V1_2), {}) == {}
    assert summarise_result(make_result(asked(), {RESULT: GRAPH}, line=Line.V1_2), {})["selectedConfig"]["metadata"] == {
        "name": "req-dgd",
        "labels": {"a": "b"},
    }


def test_a_failure_says_what_the_profiler_said() -> None:
    assert read_failure({"profiler_status": "failed", "profiler_error": "no GPU"}) == "profiling failed: no GPU"
    assert read_failure({"profiler_status": "success"}) == ""
    assert [is_there(given) for given in (None, {}, {"phase": "Done"}, {"profiler_status": "success"})] == [False, False, False, True]


def nested(levels: int) -> dict[str, Any]:
    out: dict[str, Any] = {}
    for _ in range(levels):
        out = {"a": out}
    return out


def kept(results: dict[str, Any]) -> Any:
    request = {"metadata": {"name": "r"}, "status": {"phase": "Ready", "profilingResults": results}}
    trim_request(request)
    return request["status"]


def test_a_result_becomes_a_digest() -> None:
    first, same, other = kept({"a": 1, "b": 2}), kept({"b": 2, "a": 1}), kept({"a": 2})
    assert first == same == {"phase": "Ready", "profilingResults": first["profilingResults"]}
    assert len(first["profilingResults"]) == 16
    assert other != first


def test_a_result_of_any_depth_keeps_no_other_request_from_being_read() -> None:
    status = kept(nested(1020))  # the decoder reads 1,024 levels
    assert status["phase"] == "Ready"
    assert isinstance(status["profilingResults"], str)
