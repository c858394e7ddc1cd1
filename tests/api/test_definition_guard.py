"""The policy on the definitions by itself: whom it concerns, and how deep it looks. What it refuses: tests/cluster."""

from typing import Any

from dynamo_webhooks.api.crd import build
from dynamo_webhooks.api.definition_guard import LEVELS, PROVISIONER, policy
from dynamo_webhooks.api.kinds import KINDS


def _depth(schema: dict[str, Any]) -> int:
    inner = schema.get("items") or schema.get("additionalProperties")
    if isinstance(inner, dict):
        return _depth(inner)
    return max((1 + _depth(each) for each in (schema.get("properties") or {}).values()), default=0)


def test_every_field_of_ours_lies_within_the_levels_that_are_compared() -> None:
    found = {
        (kind.name, version["name"]): _depth(version["schema"]["openAPIV3Schema"])
        for kind in KINDS
        for version in build(kind.name)["spec"]["versions"]
    }
    assert max(found.values()) <= LEVELS, found
    assert max(found.values()) >= 12, "the depth is measured"


def test_it_concerns_updates_of_our_definitions_and_nothing_else() -> None:
    [rule] = policy()["spec"]["matchConstraints"]["resourceRules"]
    assert (rule["apiGroups"], rule["resources"], rule["operations"]) == (
        ["apiextensions.k8s.io"],
        ["customresourcedefinitions"],
        ["UPDATE"],
    )
    assert set(rule["resourceNames"]) == {kind.crd_name for kind in KINDS}
    assert "namespaceSelector" not in policy()["spec"]["matchConstraints"]


def test_only_the_provisioner_is_exempt_without_a_word() -> None:
    conditions = {each["name"]: each["expression"] for each in policy()["spec"]["matchConditions"]}
    assert conditions.keys() == {"not-the-provisioner", "not-acknowledged"}
    assert conditions["not-the-provisioner"] == f"request.userInfo.username != '{PROVISIONER}'"
