"""What an object weighs in its kind's other version: which field, how many bytes, and whether that still fits."""

from typing import Any

import pytest

from dynamo_webhooks.api.paths import MISSING, format_path, lookup
from dynamo_webhooks.conversion.bounds import MOST, TOO_LONG, annotation_size
from dynamo_webhooks.conversion.kind import LEFT, RIGHT
from dynamo_webhooks.conversion.kinds import KINDS
from dynamo_webhooks.conversion.weight import WARNED, Weight, weigh
from tests.conversion.objects import GRAPH, Object, away, made
from tests.conversion.test_bounds import noise

NAMED = {"name": "main"}


def _weighed(obj: Object, version: str) -> Weight | None:
    found = weigh(KINDS[GRAPH], obj, version)
    assert found is None or lookup(obj, found.path) is not MISSING
    return found


def _graph(spec: dict[str, Any], **annotations: str) -> Object:
    graph = made(GRAPH, LEFT, spec)
    graph["metadata"]["annotations"] = annotations
    return graph


def _left(length: int) -> dict[str, Any]:
    return {"services": {"small": {"labels": {"a": "b"}}, "w": {"annotations": {"note": noise(length), "b": "c"}}}}


def _template(length: int) -> dict[str, Any]:
    return {"metadata": {"finalizers": [noise(length)]}, "spec": {"containers": [NAMED]}}


@pytest.mark.parametrize("length", [1000, WARNED - 2000])
def test_a_light_object_is_not_mentioned(length: int) -> None:
    assert _weighed(_graph(_left(length)), LEFT) is None


def test_text_that_packs_well_is_in_no_danger() -> None:
    assert _weighed(_graph({"services": {"w": {"annotations": {"note": "x" * 1_000_000}}}}), LEFT) is None


def test_annotations_of_the_author_alone_are_as_long_there_as_here() -> None:
    assert _weighed(_graph({}, note=noise(MOST - 100)), LEFT) is None


def test_what_comes_near_is_said_with_field_size_and_version() -> None:
    found = _weighed(_graph(_left(WARNED)), LEFT)
    assert found is not None
    assert (format_path(found.path), found.refused) == ("spec.services[w].annotations[note]", False)
    assert found.text == "takes 129 of 256 KiB of annotations in v1beta1; past that it is refused"


def test_what_does_not_fit_is_shown_in_part_and_only_then() -> None:
    """The sentence, and what conversion does, change at the same length."""
    shown = 0
    for length in range(MOST - 12_000, MOST + 4_000, 500):
        graph = _graph(_left(length))
        found, labels = _weighed(graph, LEFT), away(graph)["metadata"].get("labels", {})
        assert found is not None
        assert found.text.startswith("must be smaller") is found.refused is (TOO_LONG in labels) is (found.bytes > MOST)
        shown += TOO_LONG not in labels
    assert 0 < shown < 32


def test_an_update_of_what_is_too_long_already_is_forgiven() -> None:
    """But never in the version that isn't stored: such an object can't be, and the API server would refuse it."""
    kind, long = KINDS[GRAPH], _graph(_left(MOST))
    for old, forgiven in ((_graph(_left(MOST + 1)), True), (_graph(_left(MOST - 12_000)), False), (_graph({}), False), (None, False)):
        found = weigh(kind, long, LEFT, old)
        assert found is not None
        assert (found.forgiven, found.refused) == (forgiven, not forgiven)
        share = "257 of 256 KiB of annotations"
        assert found.text == f"must be smaller: {f'{share} in v1beta1; read-only there' if forgiven else f'in v1beta1 it needs {share}'}"
    owned = {**long, "metadata": {**long["metadata"], "ownerReferences": [None, {"kind": GRAPH, "name": "g"}]}}
    found = weigh(kind, owned, LEFT)
    assert found is not None
    assert found.forgiven
    beta = made(GRAPH, RIGHT, {"components": [{"name": "z", "podTemplate": _template(300_000)}]})
    found = weigh(kind, beta, RIGHT, beta)
    assert found is not None
    assert found.refused


def test_a_write_in_the_version_that_is_not_stored_is_refused_by_the_api_server() -> None:
    graph = made(GRAPH, RIGHT, {"components": [{"name": "y"}, {"name": "z", "podTemplate": _template(300_000)}]})
    found = _weighed(graph, RIGHT)
    assert found is not None
    assert found.refused
    assert annotation_size(away(graph)["metadata"]["annotations"]) == found.bytes > MOST
    assert format_path(found.path) == "spec.components[1].podTemplate.metadata.finalizers[0]"
    assert found.text == f"must be smaller: in v1alpha1 it needs {-(-found.bytes // 1024)} of 256 KiB of annotations"


def test_the_same_near_the_bound_is_stored() -> None:
    found = _weighed(made(GRAPH, RIGHT, {"components": [{"name": "z", "podTemplate": _template(200_000)}]}), RIGHT)
    assert found is not None
    assert not found.refused
    assert found.text == "takes 196 of 256 KiB of annotations in v1alpha1; past that it is refused"


TEXT = noise(180_000)
SPREAD: dict[str, tuple[str, Any]] = {
    "spec.services": (LEFT, {"services": {f"s{number}": {"annotations": {"a": noise(1000 + number)}} for number in range(200)}}),
    "spec.services[w].labels": (LEFT, {"services": {"w": {"labels": {TEXT[at : at + 60]: "" for at in range(0, 180_000, 60)}}}}),
    "spec.pvcs": (LEFT, {"pvcs": [{"name": noise(1000 + number)} for number in range(200)]}),
    "spec.pvcs[1].name": (LEFT, {"pvcs": [{"name": "a"}, {"name": noise(200_000)}]}),
    "spec.components": (RIGHT, {"components": [{"name": noise(1000 + number)} for number in range(200, 0, -1)]}),
}


@pytest.mark.parametrize("path", SPREAD)
def test_the_field_is_the_smallest_that_holds_half(path: str) -> None:
    version, spec = SPREAD[path]
    found = _weighed(made(GRAPH, version, spec), version)
    assert found is not None
    assert format_path(found.path) == path


def test_an_annotation_of_the_author_may_weigh_most() -> None:
    found = _weighed(_graph({"services": {"w": {"labels": {"a": "b"}}}}, note=noise(MOST - 60)), LEFT)
    assert found is not None
    assert (format_path(found.path), found.bytes > MOST) == ("metadata.annotations[note]", True)
