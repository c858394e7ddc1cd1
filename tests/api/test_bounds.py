"""The bounds of a schema below `spec`, which are the API server's: what is measured is what the structural walk refuses."""

from typing import Any

import pytest

from dynamo_webhooks.api.bounds import _compiled, bounds
from dynamo_webhooks.api.kinds import list_kind_versions
from dynamo_webhooks.api.line import Line
from dynamo_webhooks.api.schema import Node, load_schema, resolve
from dynamo_webhooks.api.walk.errors import Reason
from dynamo_webhooks.api.walk.structure import structure_errors

SIZED = {Reason.TOO_LONG, Reason.TOO_MANY}


def _excesses(node: Node) -> list[Any]:
    """For each bound at and below a node, the smallest value that is over it."""
    node = resolve(node)
    excesses: list[Any] = []
    if "maxLength" in node:
        excesses.append("x" * (node["maxLength"] + 1))
    if "maxItems" in node:
        excesses.append([{}] * (node["maxItems"] + 1))
    if "maxProperties" in node:
        excesses.append({f"k{index}": {} for index in range(node["maxProperties"] + 1)})
    for name, child in (node.get("properties") or {}).items():
        excesses += [{name: value} for value in _excesses(child)]
    if "items" in node:
        excesses += [[value] for value in _excesses(node["items"])]
    if isinstance(node.get("additionalProperties"), dict):
        excesses += [{"k": value} for value in _excesses(node["additionalProperties"])]
    return excesses


def test_every_bound_of_the_spec_is_seen_as_the_api_server_sees_it(subtests: pytest.Subtests) -> None:
    for kind, version in list_kind_versions():
        with subtests.test(kind=kind, version=version):
            schema = load_schema(kind, version, Line.V1_2)
            values = _excesses(schema["properties"].get("spec", {}))
            for value in values:
                excess = bounds(kind, version)({"spec": value})
                assert excess is not None, value
                theirs = [(error.path, error.reason) for error in structure_errors({"spec": value}, schema) if error.reason in SIZED]
                assert (excess.path, excess.reason) in theirs
            if (kind, version) == ("DynamoGraphDeployment", "v1beta1"):
                assert len(values) > 5


def test_what_has_another_type_is_no_excess() -> None:
    rows: list[Any] = [None, [], "x", {}, {"spec": None}, {"spec": []}, {"spec": {"components": {}}}, {"spec": {"components": ["x"]}}]
    assert [(obj, excess) for obj in rows if (excess := bounds("DynamoGraphDeployment", "v1beta1")(obj)) is not None] == []


def test_a_type_that_holds_itself_is_compiled_once() -> None:
    """Each `properties` is entered, so a schema without the memory of what is begun would have no end."""
    node: Node = {"type": "object", "properties": {"text": {"type": "string", "maxLength": 1}}}
    node["properties"]["self"] = node
    measure = _compiled(node, {})
    assert measure is not None
    assert measure({"text": "a", "self": {"text": "a"}}) is None
    assert measure({"text": "ab"}) is not None


def test_what_is_as_large_as_it_may_be_is_none() -> None:
    components = [{"name": "n" * 63}] * 25
    assert bounds("DynamoGraphDeployment", "v1beta1")({"spec": {"components": components}}) is None
