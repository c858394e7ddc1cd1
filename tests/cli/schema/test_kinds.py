"""Schemas of kinds for editors: valid by their own meta-schema, and of the same mind as the walker that answers as the API server does."""

import copy
from collections import Counter
from functools import cache
from pathlib import Path
from typing import Any

import jsonschema_rs
import pytest

from dynamo_webhooks.api.kinds import api_version, list_kind_versions
from dynamo_webhooks.api.line import Line
from dynamo_webhooks.api.schema import MARKS, OLDER, Node, load_definitions, load_schema
from dynamo_webhooks.api.walk.default import default, drop_nulls
from dynamo_webhooks.api.walk.metadata import embedded_errors, metadata_type_errors
from dynamo_webhooks.api.walk.prune import prune
from dynamo_webhooks.api.walk.structure import structure_errors
from dynamo_webhooks.cli.commands.schema.kinds import DRAFT, SAME, make_mixed_schema, make_schema
from dynamo_webhooks.policies.catalogue import list_declared
from tests.laws.conftest import SEED
from tests.laws.dice import Dice
from tests.laws.strategies import PAIRS, make_object, wild
from tests.policies.example_runs import blocks
from tests.rows import run_each

Object = dict[str, Any]
TRIES = 400


@cache
def validator(kind: str, version: str, line: Line = Line.V1_2) -> jsonschema_rs.Draft7Validator:
    return jsonschema_rs.Draft7Validator(make_schema(kind, version, line), validate_formats=True)


@cache
def any_kind(line: Line = Line.V1_2) -> jsonschema_rs.Draft7Validator:
    return jsonschema_rs.Draft7Validator(make_mixed_schema(line), validate_formats=True)


def refused(obj: Object, kind: str, version: str) -> list[object]:
    """What the walker says of structure: unknown fields, wrong types, what is missing. Not of CEL, list keys or names."""
    schema, obj = load_schema(kind, version, Line.V1_2), copy.deepcopy(obj)
    if wrong := list(metadata_type_errors(obj, schema)):
        return list(wrong)
    default(obj, schema)
    unknown = list(prune(obj, schema))
    drop_nulls(obj, schema)
    embedded = [error for error in embedded_errors(obj, schema) if error.path[-1] in ("apiVersion", "kind")]
    return [*unknown, *structure_errors(obj, schema), *embedded]


# about merging and CEL, which JSON schema knows nothing of
SILENT = ("x-kubernetes-list-type", "x-kubernetes-list-map-keys", "x-kubernetes-map-type", "x-kubernetes-validations")
TRANSLATED = (
    *("type", "format", "enum", "allOf", "anyOf", "required", "properties", "items", "additionalProperties", "nullable", "$ref"),
    *("exclusiveMinimum", "x-kubernetes-int-or-string", "x-kubernetes-preserve-unknown-fields", "x-kubernetes-embedded-resource"),
)
KNOWN = {*SAME, *SILENT, *TRANSLATED, *MARKS, OLDER}


def keywords(node: Node) -> set[str]:
    words = set(node)
    for below in (*node.get("properties", {}).values(), *(node[key] for key in ("items", "additionalProperties") if key in node)):
        words |= keywords(below) if isinstance(below, dict) else set()
    for key in ("anyOf", "allOf"):
        words |= {word for part in node.get(key, ()) for word in keywords(part)}
    return words


def test_every_keyword_in_use_has_a_translation() -> None:
    nodes = [*(load_schema(*pair, Line.V1_2) for pair in list_kind_versions()), *load_definitions().values()]
    assert {word for node in nodes for word in keywords(node)} <= KNOWN


@run_each("pair", [(), *list_kind_versions()])
def test_schemas_are_valid_themselves(pair: tuple[str, str] | tuple[()]) -> None:
    schema = make_schema(*pair) if pair else make_mixed_schema()
    jsonschema_rs.meta.validate(schema)
    assert schema["$schema"] == "http://json-schema.org/draft-07/schema#"
    references = set(_references(schema))
    assert references == {*([] if pair else ["#"]), *(f"#/definitions/{name}" for name in schema["definitions"])}


def _references(node: Any) -> list[str]:
    if isinstance(node, dict):
        own = [node["$ref"]] if isinstance(node.get("$ref"), str) else []
        assert not own or len(node) == 1, "in draft-07 nothing counts beside a reference"
        return [*own, *(reference for below in node.values() for reference in _references(below))]
    return [reference for item in node for reference in _references(item)] if isinstance(node, list) else []


def test_every_good_example_fits(subtests: pytest.Subtests) -> None:
    for rule in list_declared():
        for example in blocks(rule, "good") if rule.is_of(Line.V1_2) else ():
            kind, _, version = example.kind.partition("/")
            with subtests.test(rule.name):
                lines = [line for line in Line if rule.is_of(line) and validator(kind, version, line).is_valid(example.object)]
                assert lines
                assert any_kind(lines[0]).is_valid(example.object)


@run_each("pair", PAIRS)
def test_objects_fit_exactly_when_the_walker_takes_their_structure(pair: tuple[str, str]) -> None:
    dice, seen = Dice(SEED, *pair), Counter[bool]()
    for number in range(TRIES):
        obj = make_object(dice, *pair, odd=number % 3 > 0)
        obj = wild(dice, obj) if number % 3 == 2 else obj
        errors = refused(obj, *pair)
        fits = validator(*pair).is_valid(obj)
        assert fits == (not errors), (SEED, obj, errors, [str(error) for error in validator(*pair).iter_errors(obj)])
        assert any_kind().is_valid(obj) == fits
        seen[fits] += 1
    assert min(seen[True], seen[False]) > TRIES // 20, seen


@run_each(
    ("change", "place"),
    [
        ({"spec": {"componentz": []}}, ["spec"]),
        ({"metadata": {"name": "x", "label": {}}}, ["metadata"]),
        ({"spec": {"backendFramework": "vlm"}}, ["spec", "backendFramework"]),
        ({"apiVersion": "nvidia.com/v1"}, ["apiVersion"]),
        ({"kind": "DynamoGraph"}, ["kind"]),
        ({"spec": {"components": [{"name": "a", "podTemplate": {"spec": {"container": []}}}]}}, ["spec", "components"]),
        ({"spec": {"components": [None]}}, ["spec", "components", 0]),
    ],
)
def test_a_mistake_is_found_where_it_is(change: Object, place: list[str | int]) -> None:
    obj = {"apiVersion": "nvidia.com/v1beta1", "kind": "DynamoGraphDeployment", "metadata": {"name": "x"}, "spec": {}}
    check = validator("DynamoGraphDeployment", "v1beta1")
    assert check.is_valid(obj)
    assert [list(error.instance_path)[: len(place)] for error in check.iter_errors({**obj, **change})] == [place]


def test_a_mixed_file_is_judged_object_by_object() -> None:
    ours: Object = {"apiVersion": "nvidia.com/v1alpha1", "kind": "DynamoModel", "metadata": {"name": "m"}, "spec": {}}
    wrong = {**ours, "spec": {"modelNme": 1}}
    foreign: Object = {"apiVersion": "v1", "kind": "Pod", "anything": True}
    neighbour: Object = {"apiVersion": "nvidia.com/v1", "kind": "ClusterPolicy", "spec": {"x": 1}}  # the group is not ours alone
    check = any_kind()
    assert [check.is_valid(obj) for obj in (foreign, neighbour, wrong)] == [True, True, False]
    good = {**ours, "spec": {"modelName": "a", "baseModelName": "b"}}
    assert check.is_valid(good)
    assert not check.is_valid({**good, "apiVersion": api_version("v1beta1")})  # a version that the kind is not in
    assert check.is_valid({"apiVersion": "v1", "kind": "List", "items": [good, foreign]})
    assert not check.is_valid({"apiVersion": "v1", "kind": "List", "items": [good, wrong]})


def test_editors_are_told_descriptions_and_defaults() -> None:
    spec = make_schema("DynamoGraphDeploymentRequest", "v1beta1")["properties"]["spec"]
    assert spec["properties"]["backend"] == {
        "description": "Inference engine; auto lets the profiler choose.",
        "default": "auto",
        "type": ["string", "null"],
        "enum": ["auto", "sglang", "trtllm", "vllm", None],
    }
    assert spec["description"]


def test_the_page_about_editors_names_the_draft_that_the_schemas_are_written_in() -> None:
    page = (Path(__file__).parents[3] / "docs" / "editors.md").read_text()
    assert DRAFT == "http://json-schema.org/draft-07/schema#"
    assert "version 7 (draft-07)" in page.partition("## JetBrains")[2]


@run_each("kind", ["DynamoGraphDeploymentRequest", "DynamoGraphDeploymentRun"])
def test_a_version_of_a_later_line_is_none_of_an_earlier_one(kind: str) -> None:
    obj = {"apiVersion": "nvidia.com/v1beta2", "kind": kind, "metadata": {"name": "r"}, "spec": {"v1beta1": {}}}
    judged = [jsonschema_rs.validator_for(make_mixed_schema(line)).is_valid(obj) for line in (Line.V1_6, Line.V1_7)]
    assert judged == [False, True]
