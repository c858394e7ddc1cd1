"""`overrides.dgd` over the graph of a profiler: by keys, across versions, and twice as once."""

import copy
from collections.abc import Iterator
from typing import Any

import pytest

from dynamo_webhooks.api.line import Line
from dynamo_webhooks.conversion.objects import convert_object, target
from dynamo_webhooks.reconciler.request.graph_override import GRAPH, OverrideError, explain_unfit, override_graph
from dynamo_webhooks.reconciler.request.hardware import GpuInventory
from dynamo_webhooks.reconciler.request.names import RESULT
from dynamo_webhooks.reconciler.request.result import ResultError, make_result
from dynamo_webhooks.reconciler.request.validation import explain_invalid
from tests.laws.conftest import SEED
from tests.laws.dice import Dice
from tests.laws.strategies import make_object
from tests.reconciler.rendering import component, graph, vllm
from tests.reconciler.request.asked import asked
from tests.rows import run_each

Fields = dict[str, Any]
ALPHA, BETA = "nvidia.com/v1alpha1", "nvidia.com/v1beta1"
KIND = "DynamoGraphDeployment"
BLUEPRINT = graph(component("Frontend", "frontend", {"image": "img:1", "env": [{"name": "A", "value": "1"}]}), vllm("Worker", gpus="8"))


def _in(version: str, obj: Fields) -> Fields:
    return convert_object(obj, target(version, line=Line.V1_2), whole=True).object


def _over(version: str, spec: Fields, **metadata: Any) -> Fields:
    return {"apiVersion": version, "kind": KIND, "spec": spec, **({"metadata": metadata} if metadata else {})}


def _beta(worker: Fields) -> Fields:
    return _over(BETA, {"components": [{"name": "Worker", **worker}]})


def _alpha(worker: Fields) -> Fields:
    return _over(ALPHA, {"services": {"Worker": worker}})


OVERRIDES = [
    _beta({"replicas": 3, "podTemplate": {"spec": {"containers": [{"name": "main", "env": [{"name": "B", "value": "2"}]}]}}}),
    _alpha({"replicas": 3, "resources": {"limits": {"gpu": "4"}}, "envs": [{"name": "B", "value": "2"}]}),
    _alpha({"extraPodSpec": {"mainContainer": {"args": ["--x"]}, "nodeSelector": {"a": "b"}}, "annotations": {"k": "v"}}),
]


def _worker(made: Fields) -> Fields:
    (worker,) = [part for part in _in(BETA, made)["spec"]["components"] if part["name"] == "Worker"]
    main = worker["podTemplate"]["spec"]["containers"][0]
    return {"replicas": worker.get("replicas"), "args": main["args"], "env": main.get("env"), "limits": main["resources"]["limits"]}


@run_each("written", [ALPHA, BETA])
def test_what_is_said_replaces_and_what_is_not_said_stays(written: str) -> None:
    blueprint = _in(written, BLUEPRINT)
    made = _worker(override_graph(blueprint, OVERRIDES[0], line=Line.V1_2).graph)
    limits = {"nvidia.com/gpu": "8"}
    assert made == {"replicas": 3, "args": ["--model", "m"], "env": [{"name": "B", "value": "2"}], "limits": limits}
    made = _worker(override_graph(blueprint, OVERRIDES[1], line=Line.V1_2).graph)
    assert (made["replicas"], made["limits"]) == (3, {"nvidia.com/gpu": "4"})
    replaced = override_graph(blueprint, OVERRIDES[2], line=Line.V1_2)
    assert _worker(replaced.graph)["args"] == ["--x"]
    (warning,) = replaced.warnings
    assert warning.startswith("spec.services[Worker].extraPodSpec.mainContainer.args: replaces the whole list of the graph")


@run_each(
    ("override", "warning"),
    [
        (
            _over(BETA, {"components": [{"name": "worker", "replicas": 3}]}),
            "spec.components[worker]: is dropped, since the graph has no such",
        ),
        (_over(ALPHA, {"services": {"worker": {"replicas": 3}}}), "to be a new one; it has Frontend, Worker"),
        (_beta({"replica": 3}), "spec.components[0].replica: is dropped, since nvidia.com/v1beta1 has no such field"),
        ({**_over(BETA, {}), "status": {"state": "successful"}}, "status: is dropped"),
        (_over(BETA, {}, name="n", finalizers=["x"]), "metadata.finalizers: is dropped"),
        (_over(BETA, {}, annotations={"nvidia.com/dgd-spec": "{}"}), "metadata.annotations[nvidia.com/dgd-spec]: is dropped"),
    ],
)
def test_what_has_no_effect_is_told_and_changes_nothing(override: Fields, warning: str) -> None:
    done = override_graph(BLUEPRINT, override, line=Line.V1_2)
    assert done.graph is BLUEPRINT
    assert len(done.warnings) == 1
    assert warning in done.warnings[0]


@run_each(
    ("override", "why"),
    [
        ({"apiVersion": "v1", "kind": "Pod"}, "kind: must be DynamoGraphDeployment, got Pod"),
        (
            {"apiVersion": "nvidia.com/v2", "kind": KIND},
            "apiVersion: must be one of nvidia.com/v1alpha1, nvidia.com/v1beta1, got nvidia.com/v2",
        ),
        (_beta({"replicas": "three"}), "spec.components[0].replicas: "),
    ],
)
def test_what_is_no_override_is_refused_before_anything_is_profiled(override: Fields, why: str) -> None:
    assert explain_unfit(override).startswith(why)
    with pytest.raises(OverrideError, match=why.partition(",")[0].replace("[", r"\[")):
        override_graph(BLUEPRINT, override, line=Line.V1_2)
    request = asked(overrides={"dgd": override})
    assert explain_invalid(request, GpuInventory(), claim=True).startswith(f"spec.overrides.dgd.{why}")
    with pytest.raises(ResultError, match=r"spec\.overrides\.dgd\."):
        make_result(request, {RESULT: _text(BLUEPRINT)}, line=Line.V1_2)


def test_a_request_gets_the_graph_of_its_result_with_its_override() -> None:
    override = _over(BETA, {"components": [{"name": "Worker", "replicas": 3}, {"name": "x"}]}, name="mine", labels={"team": "a"})
    made = make_result(asked(overrides={"dgd": override}), {RESULT: _text(BLUEPRINT)}, line=Line.V1_2)
    assert _worker(made.graph)["replicas"] == 3
    assert made.graph["metadata"] == {"name": "mine", "labels": {"team": "a"}}
    (note,) = made.notes
    assert note.startswith("spec.overrides.dgd.spec.components[x]: is dropped")
    assert make_result(asked(overrides={"dgd": override}), {RESULT: _text(made.graph)}, line=Line.V1_2).graph == made.graph


def _text(obj: Fields) -> str:
    import json

    return json.dumps(obj)


VERSIONS = ("v1alpha1", "v1beta1")
TRIED = 30  # pairs


def _pairs(graph: str, override: str) -> Iterator[tuple[dict[str, Any], dict[str, Any]]]:
    for number in range(2 * TRIED)[::2]:
        odd = number % 4 == 0
        yield (
            make_object(Dice(SEED, GRAPH, graph, number), GRAPH, graph, odd=odd),
            make_object(Dice(SEED, GRAPH, override, number + 1), GRAPH, override, odd=odd),
        )


@run_each("graph", VERSIONS)
@run_each("override", VERSIONS)
def test_a_second_time_changes_nothing(graph: str, override: str) -> None:
    merged = 0
    for base, over in _pairs(graph, override):
        before = copy.deepcopy((base, over))
        try:
            once = override_graph(base, over, line=Line.V1_2).graph
        except OverrideError:
            continue
        merged += 1
        assert ((base, over), once["apiVersion"]) == (before, base["apiVersion"])
        assert override_graph(once, over, line=Line.V1_2).graph is once, (base, over)
    assert merged > TRIED // 2


@run_each("override", VERSIONS)
def test_the_version_of_the_graph_makes_no_difference(override: str) -> None:
    for base, over in _pairs("v1beta1", override):
        try:
            result = override_graph(base, over, line=Line.V1_2).graph
            other = override_graph(_in(ALPHA, base), over, line=Line.V1_2).graph
        except OverrideError:
            continue
        assert (_in(BETA, other).get("spec") or {}) == (result.get("spec") or {}), (base, over)
