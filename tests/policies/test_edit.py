"""Edits become the smallest JSON patch, and applying them changes nothing but their own paths."""

import copy
from typing import Any

import jsonpatch
import pytest

from dynamo_webhooks.admission.judging import compute_defaults
from dynamo_webhooks.api.paths import Key, Path
from dynamo_webhooks.policies.catalogue import find_rule
from dynamo_webhooks.policies.edit import apply, to_json_patch
from dynamo_webhooks.policies.facts import Facts
from dynamo_webhooks.policies.finding import Edit
from dynamo_webhooks.policies.review import CREATE, UPDATE, Review
from dynamo_webhooks.policies.rule import DGD_V1ALPHA1, DGDR, Rule


def _rule() -> Rule:
    rule = find_rule("mut-dgd-replicas")
    assert rule
    return rule


def _edits(*pairs: tuple[Path, Any]) -> list[Edit]:
    return [Edit(_rule(), path, value) for path, value in pairs]


CASES: list[tuple[str, dict[str, Any], list[tuple[Path, Any]], list[dict[str, Any]]]] = [
    ("nothing", {"spec": {}}, [], []),
    ("a field of an object", {"spec": {}}, [(("spec", "a"), 1)], [{"op": "add", "path": "/spec/a", "value": 1}]),
    ("a null is replaced", {"spec": {"a": None}}, [(("spec", "a"), 1)], [{"op": "add", "path": "/spec/a", "value": 1}]),
    ("a missing parent", {}, [(("spec", "a"), 1)], [{"op": "add", "path": "/spec", "value": {"a": 1}}]),
    ("a null parent", {"spec": None}, [(("spec", "a"), 1)], [{"op": "add", "path": "/spec", "value": {"a": 1}}]),
    (
        "one missing parent of two fields",
        {"spec": {}},
        [(("spec", "a", "b"), 1), (("spec", "a", "c", "d"), 2)],
        [{"op": "add", "path": "/spec/a", "value": {"b": 1, "c": {"d": 2}}}],
    ),
    (
        "keys with slashes and tildes",
        {"metadata": {"annotations": {}}},
        [(("metadata", "annotations", Key("a.b/c~d")), "x")],
        [{"op": "add", "path": "/metadata/annotations/a.b~1c~0d", "value": "x"}],
    ),
    ("an entry of a list", {"l": [{}, {}]}, [(("l", 1, "a"), 1)], [{"op": "add", "path": "/l/1/a", "value": 1}]),
]


def test_a_patch_has_one_add_for_each_field_or_missing_parent_and_does_what_applying_does(subtests: pytest.Subtests) -> None:
    for what, obj, wanted, operations in CASES:
        with subtests.test(what):
            before = copy.deepcopy(obj)
            applied = apply(obj, _edits(*wanted))
            assert obj == before
            assert to_json_patch(obj, _edits(*wanted)) == operations
            assert jsonpatch.JsonPatch(operations).apply(before) == applied


def _after(kind: str, operation: str, obj: dict[str, Any], old: dict[str, Any] | None = None, version: str = "1.2.0") -> dict[str, Any]:
    review = Review(kind, operation, obj, old, facts=Facts(operatorVersion=version))
    return compute_defaults(review).object


ORIGIN = "nvidia.com/dynamo-operator-origin-version"


def test_an_explicit_zero_and_a_null_service_are_left_alone() -> None:
    obj = {"spec": {"services": {"a": {"replicas": 0}, "b": None, "c": {"replicas": None}}}}
    assert _after(DGD_V1ALPHA1, CREATE, obj)["spec"]["services"] == {"a": {"replicas": 0}, "b": None, "c": {"replicas": 1}}


@pytest.mark.parametrize(("new", "old"), [(True, True), (True, False), (False, True)])
def test_an_update_keeps_what_an_adapter_wrote(new: bool, old: bool) -> None:
    obj = {"spec": {"services": {"a": {"scalingAdapter": {"enabled": new}}}}}
    before = {"spec": {"services": {"a": {"replicas": 4, "scalingAdapter": {"enabled": old}}}}}
    assert _after(DGD_V1ALPHA1, UPDATE, obj, before)["spec"]["services"]["a"]["replicas"] == 4


@pytest.mark.parametrize(
    "before", [{"spec": {"services": {"a": {"replicas": 4}}}}, {"spec": {"services": {"a": None}}}, {"spec": None}, {}]
)
def test_without_an_adapter_an_update_defaults_as_a_creation_does(before: dict[str, Any]) -> None:
    assert _after(DGD_V1ALPHA1, UPDATE, {"spec": {"services": {"a": {}}}}, before)["spec"]["services"]["a"]["replicas"] == 1


def test_a_present_origin_stays_even_when_it_is_empty() -> None:
    obj = {"metadata": {"annotations": {ORIGIN: ""}}}
    assert _after(DGD_V1ALPHA1, CREATE, obj) == obj


def test_an_update_restores_the_origin_but_never_invents_one() -> None:
    stamped = {"metadata": {"annotations": {ORIGIN: "0.9.0"}}}
    assert _after(DGD_V1ALPHA1, UPDATE, {"metadata": {}}, stamped) == stamped
    assert _after(DGD_V1ALPHA1, UPDATE, {"metadata": {}}, {"metadata": {}}) == {"metadata": {}}


def test_a_version_that_nobody_knows_edits_nothing() -> None:
    obj: dict[str, Any] = {"spec": {"model": "m"}}
    assert compute_defaults(Review(DGDR, CREATE, obj, facts=Facts())).edits == []
    assert compute_defaults(Review(DGD_V1ALPHA1, CREATE, {"metadata": {}}, facts=Facts())).edits == []


@pytest.mark.parametrize(("version", "tag"), [("v1.2.0", "v1.2.0"), ("1.2.0-rc.1+b", "1.2.0-rc.1"), ("unknown", None), ("", None)])
def test_the_image_is_the_one_of_the_operators_version(version: str, tag: str | None) -> None:
    image = _after(DGDR, CREATE, {"spec": {"model": "m", "image": ""}}, version=version)["spec"]["image"]
    assert image == (f"nvcr.io/nvidia/ai-dynamo/dynamo-planner:{tag}" if tag else "")


def test_edits_of_one_parent_share_one_copy_and_the_input_stays() -> None:
    obj: dict[str, Any] = {"spec": {"services": {"a": {"x": 1}, "b": None}, "list": [{}, {}]}}
    before = copy.deepcopy(obj)
    kept = {"k": 1}
    paths = (
        ("spec", "services", "a", "r"),
        ("spec", "services", "b", "r"),
        ("spec", "list", 1, "r"),
        ("spec", "kept"),
        ("spec", "kept", "r"),
    )
    edited = apply(obj, _edits(*((path, kept if path[-1] == "kept" else 1) for path in paths)))
    assert edited == {"spec": {"services": {"a": {"x": 1, "r": 1}, "b": {"r": 1}}, "list": [{}, {"r": 1}], "kept": {"k": 1, "r": 1}}}
    assert (obj, kept) == (before, {"k": 1})
    assert edited["spec"]["list"][0] is obj["spec"]["list"][0]
