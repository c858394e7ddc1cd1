"""The closed form of Grove's name lengths gives what building the names one by one would give, and in no time."""

import itertools
from typing import Any

import pytest

from dynamo_webhooks.admission.judging import judge as evaluate
from dynamo_webhooks.policies.facts import Facts
from dynamo_webhooks.policies.finding import Finding
from dynamo_webhooks.policies.graph.grove_names import ALWAYS_FITS, MAX_NAME_BYTES, MIN_SET_BYTES, budget, byte_length, set_length, set_name
from dynamo_webhooks.policies.review import CREATE, Review

MULTI = {"multinode": {"nodeCount": 2}}
FORCED = {"experimental": {"grove": {"forceScalingGroup": True}}}


def gms(nodes: int) -> dict[str, Any]:
    return {"experimental": {"gpuMemoryService": {"mode": "InterPod"}}, "multinode": {"nodeCount": nodes}}


def longest_child(graph: str, name: str, component: dict[str, Any]) -> int:
    """Set, scaling group and clique together, spelt out: the names that the children really get."""
    low, nodes = name.lower(), component.get("multinode", {}).get("nodeCount", 1)
    if "experimental" in component:
        children = [low + f"{low}-{role}-{rank}" for rank in range(nodes) for role in ("gms", "wkr")]
    elif nodes > 1:
        children = [low + f"{low}-{role}" for role in ("ldr", "wkr")]
    else:
        children = [low]
    return max(len(graph + child) for child in children)


def findings(graph: str, services: dict[str, Any]) -> list[Finding]:
    components = [{"name": name, **component} for name, component in services.items()]
    obj = {"metadata": {"name": graph}, "spec": {"components": components, "backendFramework": "vllm"}}
    review = Review("DynamoGraphDeployment/v1beta1", CREATE, obj, facts=Facts(grove=True))
    judged = evaluate(review)
    return [finding for finding in judged if finding.rule.name == "grove-name-length"]


def test_the_verdict_is_that_of_the_names_spelt_out(subtests: pytest.Subtests) -> None:
    rows: list[tuple[str, dict[str, Any]]] = [
        ("one", {}),
        ("multi", MULTI),
        ("1", gms(1)),
        ("10", gms(10)),
        ("11", gms(11)),
        ("101", gms(101)),
    ]
    for what, component in rows:
        with subtests.test(what):
            for graph_length, name_length in itertools.product((1, 7, 8, 9, 30), range(1, 46)):
                graph, name = "g" * graph_length, "S" * name_length
                cut = set_name(graph, budget(name, component))
                assert bool(findings(graph, {name: component})) is (longest_child(cut, name, component) > MAX_NAME_BYTES), (
                    graph_length,
                    name_length,
                )


@pytest.mark.parametrize("graph_length", [1, 8, 30])
def test_a_scaling_group_that_was_asked_for_counts_the_name_twice(graph_length: int) -> None:
    graph = "g" * graph_length
    for name_length in range(1, 46):
        name = "s" * name_length
        fits = min(graph_length, MIN_SET_BYTES) + 2 * name_length <= MAX_NAME_BYTES
        assert (findings(graph, {name: FORCED}) == []) is fits, name_length
    assert findings(graph, {"s" * 23: {}, "another": FORCED}) == []


def test_one_long_service_does_not_blame_the_others() -> None:
    assert [finding.path[1:] for finding in findings("a-long-graph", {"s" * 40: {}, "t" * 30: {}, "u": MULTI})] == [
        ("components", 0, "name")
    ]


def test_names_are_shortened_as_the_operator_shortens_them() -> None:
    graph = "a-very-long-graph-deployment-name-0123456"
    assert set_name(graph, budget("frontend", {})) == "a-very-long-graph-deployment-nam-2d77"
    assert set_name("a-very-long-graph-deployment", budget("decode-worker", MULTI)) == "a-very-lon-2ae7"
    assert set_name("short", 45) == "short"
    for widest in range(60):
        assert len(set_name(graph, widest)) == set_length(graph, widest) >= MIN_SET_BYTES


def test_names_count_as_bytes_in_lower_case() -> None:
    assert byte_length("Worker") == 6
    assert byte_length("wörker") == 7
    assert byte_length("\u0130") == 1  # a capital I with a dot is a plain i in lower case
    assert byte_length("\ud800") == 3  # half a character still takes the room of one


def test_a_name_that_always_fits_does() -> None:
    widest = budget("s" * ALWAYS_FITS, gms(2**31 - 1))
    assert widest + MIN_SET_BYTES <= MAX_NAME_BYTES
    assert budget("s" * (ALWAYS_FITS + 1), gms(2**31 - 1)) + MIN_SET_BYTES > MAX_NAME_BYTES


def test_only_a_shortened_graph_name_is_said_to_be_shortened() -> None:
    (short,) = findings("graphnm8", {"s" * 38: {}})
    (long,) = findings("graph-name", {"s" * 38: {}})
    assert "shortened" not in short.text
    assert 'graph "graph-name" (10 bytes, shortened to "gra-' in long.text
    assert "needs 46" in short.text
    assert f'component "{"s" * 38}" (38 bytes)' in long.text
