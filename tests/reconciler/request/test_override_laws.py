"""Overrides of generated graphs: a second time changes nothing, inputs stay, and the version of the graph makes no difference."""

import copy
from collections.abc import Iterator
from typing import Any

import pytest

from dynamo_webhooks.conversion.objects import convert_object, target
from dynamo_webhooks.reconciler.request.graph_override import GRAPH, OverrideError, override_graph
from tests.laws.conftest import SEED
from tests.laws.dice import Dice
from tests.laws.strategies import make_object

VERSIONS = ("v1alpha1", "v1beta1")
TRIED = 30  # pairs


def _pairs(graph: str, override: str) -> Iterator[tuple[dict[str, Any], dict[str, Any]]]:
    for number in range(2 * TRIED)[::2]:
        odd = number % 4 == 0
        yield (
            make_object(Dice(SEED, GRAPH, graph, number), GRAPH, graph, odd=odd),
            make_object(Dice(SEED, GRAPH, override, number + 1), GRAPH, override, odd=odd),
        )


@pytest.mark.parametrize("graph", VERSIONS)
@pytest.mark.parametrize("override", VERSIONS)
def test_a_second_time_changes_nothing(graph: str, override: str) -> None:
    merged = 0
    for base, over in _pairs(graph, override):
        before = copy.deepcopy((base, over))
        try:
            once = override_graph(base, over).graph
        except OverrideError:
            continue
        merged += 1
        assert (base, over) == before
        assert override_graph(once, over).graph is once, (base, over)
    assert merged > TRIED // 2


@pytest.mark.parametrize("override", VERSIONS)
def test_the_version_of_the_graph_makes_no_difference(override: str) -> None:
    for base, over in _pairs("v1beta1", override):
        try:
            one = override_graph(base, over).graph
            other = override_graph(_in("v1alpha1", base), over).graph
        except OverrideError:
            continue
        assert (_in("v1beta1", other).get("spec") or {}) == (one.get("spec") or {}), (base, over)


def _in(version: str, obj: dict[str, Any]) -> dict[str, Any]:
    return convert_object(obj, target(f"nvidia.com/{version}"), whole=True).object
