"""What one definition would take away from another: fields, served versions, the stored version; and nothing from equals."""

from typing import Any

import pytest

from dynamo_webhooks.api.crd import build, find_lost_fields
from dynamo_webhooks.api.kinds import KINDS
from dynamo_webhooks.api.line import Line


@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.alias)
def test_line_1_5_takes_nothing_away_and_is_lowered_by_line_1_2(kind: Any) -> None:
    before, since = (build(kind.name, line=line) for line in (Line.V1_2, Line.V1_5))
    assert find_lost_fields(before, since) == find_lost_fields(since, since) == []
    lost = find_lost_fields(since, before)
    assert bool(lost) == (kind.alias != "DWM")
    if kind.alias == "DGD":
        assert {"v1beta1 spec.components[].minAvailable", "v1alpha1 spec.services{}.minAvailable"} <= set(lost)
        assert "version v1beta1, in which objects are stored" in lost
        assert len(lost) == 31


def test_versions_that_are_served_are_told() -> None:
    both, one = build("DynamoGraphDeployment"), build("DynamoGraphDeployment", versions={"v1beta1"})
    assert find_lost_fields(both, one) == ["version v1alpha1, which is served"]
    assert find_lost_fields(one, both) == ["version v1beta1, in which objects are stored"]


@pytest.mark.parametrize(
    "live", [None, [], {"spec": {"versions": {}}}, {"spec": {"versions": [1, {"name": 2}, {"name": "v1beta1", "served": 1}]}}]
)
def test_a_definition_without_fields_loses_none(live: Any) -> None:
    assert find_lost_fields(live, build("DynamoModel")) == []


def test_what_is_preserved_is_not_lost_and_depth_is_bounded() -> None:
    deep: dict[str, Any] = {"type": "object"}
    for _ in range(300):
        deep = {"properties": {"a": deep}}
    crd = {"spec": {"versions": [{"name": "v1", "served": True, "schema": {"openAPIV3Schema": deep}}]}}
    free = {
        "spec": {
            "versions": [{"name": "v1", "served": True, "schema": {"openAPIV3Schema": {"x-kubernetes-preserve-unknown-fields": True}}}]
        }
    }
    assert find_lost_fields(crd, crd) == find_lost_fields(crd, free) == []
    assert find_lost_fields(crd, {"spec": {"versions": [{"name": "v1", "served": True}]}}) == ["v1 a"]
