"""One review as an API server sends a whole list: two thousand objects of 20 MiB, and as many fragments of server-side apply."""

import copy
from typing import Any

import pytest

from tests.webhooks.requests import graph
from tests.webhooks.test_convert import ALPHA, BETA, converted, of_kind, review

OBJECTS = 2_000
LEAST = 20 * 2**20  # bytes
PADDING = "x" * 10_000  # of an annotation, whose text conversion has to carry
GRAPH = "DynamoGraphDeployment"
# what server-side apply sends of an object: the fields of one manager
FRAGMENTS: tuple[dict[str, Any], ...] = (
    {},
    {"spec": {}},
    {"spec": {"services": {"w": {"replicas": 2}}}},
    {"spec": {"backendFramework": "vllm", "ofTomorrow": {"kept": [1, None, "x"]}}},
)

# one field of each kind in both versions: what another manager may own of an object
ONE_FIELD: tuple[tuple[str, dict[str, Any], dict[str, Any]], ...] = (
    (GRAPH, {"services": {"w": {"replicas": 2}}}, {"components": [{"name": "w", "replicas": 2}]}),
    ("DynamoComponentDeployment", {"replicas": 2}, {"replicas": 2}),
    ("DynamoGraphDeploymentRequest", {"profilingConfig": {"profilerImage": "i"}}, {"image": "i"}),
    ("DynamoGraphDeploymentScalingAdapter", {"replicas": 2}, {"replicas": 2}),
)


def numbered(obj: dict[str, Any], number: int) -> dict[str, Any]:
    metadata = obj.get("metadata", {})
    marks = {"annotations": {"padding": PADDING, "number": str(number)}, "labels": {"of": "a-list"}}
    return {**obj, "metadata": {**metadata, "name": f"g-{number}", "uid": f"u-{number}", "generation": 3, **marks}}


def test_two_thousand_objects_of_twenty_mebibytes_keep_order_number_and_metadata() -> None:
    objects = [numbered(copy.deepcopy(graph()), number) for number in range(OBJECTS)]
    assert len(review(objects)) >= LEAST
    there = converted(objects)
    assert len(there) == OBJECTS
    for before, after in zip(objects, there, strict=True):
        kept = {name: after["metadata"][name] for name in ("name", "namespace", "uid", "generation", "labels")}
        assert kept == {name: before["metadata"][name] for name in kept}
        assert after["metadata"]["annotations"].items() >= before["metadata"]["annotations"].items()
    assert converted(there[:50], ALPHA) == objects[:50]


def test_two_thousand_fragments_get_nothing_that_they_did_not_have() -> None:
    objects = [numbered(of_kind(GRAPH, **copy.deepcopy(FRAGMENTS[number % len(FRAGMENTS)])), number) for number in range(OBJECTS)]
    there = converted(objects)
    for before, after in zip(objects, there, strict=True):
        assert ("spec" in after) == ("spec" in before), "a fragment without a spec got one"
        if before.get("spec") == {}:
            assert after["spec"] == {}
        assert "status" not in after
        assert after["metadata"]["uid"] == before["metadata"]["uid"]
    assert converted(there, ALPHA) == objects


@pytest.mark.parametrize(("kind", "alpha", "beta"), ONE_FIELD, ids=[kind for kind, *_ in ONE_FIELD])
@pytest.mark.parametrize("version", ["v1alpha1", "v1beta1"])
def test_fragments_of_every_kind_and_version_get_nothing(kind: str, alpha: dict[str, Any], beta: dict[str, Any], version: str) -> None:
    """Metadata alone, an empty part, one field, a field that nobody knows; a component deployment of v1beta1 says its name in its spec."""
    here, there, desired = (alpha, beta, BETA) if version == "v1alpha1" else (beta, alpha, ALPHA)
    named = kind == "DynamoComponentDeployment" and desired == BETA
    fragments: tuple[tuple[dict[str, Any], dict[str, Any]], ...] = (
        ({}, {}),
        ({"spec": {}}, {"spec": {}}),
        ({"status": {}}, {"status": {}}),
        ({"spec": here}, {"spec": there}),
        ({"spec": {"ofTomorrow": {"kept": [1, None]}}}, {"spec": {}}),
        ({"ofTomorrow": [1]}, {"ofTomorrow": [1]}),
    )
    objects = [numbered(of_kind(kind, version, **copy.deepcopy(before)), number) for number, (before, _) in enumerate(fragments)]
    found = converted(objects, desired)
    for obj, (_, wanted) in zip(found, fragments, strict=True):
        name = {"name": obj["metadata"]["name"]} if named else {}
        assert {part: obj[part] for part in obj.keys() - {"apiVersion", "kind", "metadata"}} == {
            part: {**name, **value} if part == "spec" else value for part, value in wanted.items()
        }
    assert converted(found, f"nvidia.com/{version}") == objects
