"""The bounds of a schema below `spec`, which are the API server's: what is measured is what the structural walk refuses."""

from typing import Any

import pytest

from dynamo_webhooks.api.bounds import bounds
from dynamo_webhooks.api.kinds import list_kind_versions
from dynamo_webhooks.api.schema import Node, load_schema, resolve
from dynamo_webhooks.api.walk.errors import Reason
from dynamo_webhooks.api.walk.structure import structure_errors

SIZED = {Reason.TOO_LONG, Reason.TOO_MANY}


def _excesses(node: Node) -> list[Any]:
    """For each bound at and below a node, the smallest value that is over it."""
    node = resolve(node)
    found: list[Any] = []
    if "maxLength" in node:
        found.append("x" * (node["maxLength"] + 1))
    if "maxItems" in node:
        found.append([{}] * (node["maxItems"] + 1))
    if "maxProperties" in node:
        found.append({f"k{index}": {} for index in range(node["maxProperties"] + 1)})
    for name, child in (node.get("properties") or {}).items():
        found += [{name: value} for value in _excesses(child)]
    if "items" in node:
        found += [[value] for value in _excesses(node["items"])]
    if isinstance(node.get("additionalProperties"), dict):
        found += [{"k": value} for value in _excesses(node["additionalProperties"])]
    return found


@pytest.mark.parametrize(("kind", "version"), list_kind_versions())
def test_every_bound_of_the_spec_is_seen_as_the_api_server_sees_it(kind: str, version: str) -> None:
    schema = load_schema(kind, version)
    values = _excesses(schema["properties"].get("spec", {}))
    for value in values:
        found = bounds(kind, version)({"spec": value})
        assert found is not None, value
        theirs = [(error.path, error.reason) for error in structure_errors({"spec": value}, schema) if error.reason in SIZED]
        assert (found.path, found.reason) in theirs
    if (kind, version) == ("DynamoGraphDeployment", "v1beta1"):
        assert len(values) > 5


@pytest.mark.parametrize(
    "obj", [None, [], "x", {}, {"spec": None}, {"spec": []}, {"spec": {"components": {}}}, {"spec": {"components": ["x"]}}]
)
def test_what_has_another_type_is_no_excess(obj: Any) -> None:
    assert bounds("DynamoGraphDeployment", "v1beta1")(obj) is None


def test_what_is_as_large_as_it_may_be_is_none() -> None:
    components = [{"name": "n" * 63}] * 25
    assert bounds("DynamoGraphDeployment", "v1beta1")({"spec": {"components": components}}) is None
