"""One object costs as much as it is long: calls counted, at one length and at twice that, for lists that are matched with each other."""

import sys
from collections.abc import Callable
from typing import Final

import pytest

from dynamo_webhooks.conversion.kind import LEFT, RIGHT
from tests.conversion.objects import GRAPH, Object, away, made

LENGTH: Final = 60
MOST: Final = 2.2  # for twice the length


def _mounts(count: int) -> list[Object]:
    return [{"name": f"v{index}", "mountPath": f"/m{index}", "readOnly": True} for index in range(count)]


def _in_pod(*containers: Object) -> Object:
    return made(GRAPH, RIGHT, {"components": [{"name": "w", "podTemplate": {"spec": {"containers": list(containers)}}}]})


def _mounts_edited(count: int) -> Object:
    obj = away(_in_pod({"name": "main", "volumeMounts": _mounts(count)}))
    obj["spec"]["services"]["w"]["volumeMounts"].append({"name": "more", "mountPoint": "/more"})
    return obj


def _cache_added(count: int) -> Object:
    entries = [{"name": f"v{index}", "mountPoint": f"/m{index}"} for index in range(count)] * 2
    obj = away(made(GRAPH, LEFT, {"services": {"w": {"volumeMounts": entries}}}))
    obj["spec"]["components"][0]["compilationCache"] = {"pvcName": "q", "mountPath": "/q"}
    return obj


SHAPES: Final[dict[str, Callable[[int], Object]]] = {
    "mounts with options": lambda count: _in_pod({"name": "main", "volumeMounts": _mounts(count)}),
    "mounts of which one was added in the other version": _mounts_edited,
    "mounts twice, and a cache that was added": _cache_added,
    "containers without a main": lambda count: _in_pod(*({"name": f"c{index}", "image": "x"} for index in range(count))),
    "containers, and then many mains": lambda count: _in_pod(
        *({"name": f"c{index}", "image": "x"} for index in range(count)), *({"name": "main", "image": "y"} for _ in range(count))
    ),
}


def _calls(obj: Object) -> int:
    """How many calls a conversion makes, those of functions in C included."""
    found = 0

    def count(frame: object, event: str, arg: object) -> None:
        nonlocal found
        found += event in ("call", "c_call")

    sys.setprofile(count)
    try:
        away(obj)
    finally:
        sys.setprofile(None)
    return found


@pytest.mark.interpreted
def test_twice_the_length_costs_twice_as_much(subtests: pytest.Subtests) -> None:
    for shape, make in SHAPES.items():
        with subtests.test(shape=shape):
            away(make(1))  # what is loaded once is loaded now
            one, two = _calls(make(LENGTH)), _calls(make(2 * LENGTH))
            assert two <= MOST * one, f"{one} calls, then {two}"
