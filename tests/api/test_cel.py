"""Every CEL rule of the schemas has a twin, and each twin tells good from bad as the rule says."""

from __future__ import annotations

from typing import Any

import pytest

from dynamo_webhooks.api.cel import EvaluationError, UnportedRuleError, twin_of
from dynamo_webhooks.api.cel.rules import TWINS
from dynamo_webhooks.api.kinds import pairs
from dynamo_webhooks.api.line import Line
from dynamo_webhooks.api.models.constraints import ALL, GMS_ALPHA, GMS_BETA, SHM_SIZE, Constraint
from dynamo_webhooks.api.paths import MISSING
from dynamo_webhooks.api.schema import load_schema, resolve
from tests.api.nodes import nodes

BY_ID = {constraint.id: constraint for constraint in ALL}
ALPHA_SOURCE, BETA_SOURCE = (constraint for constraint in ALL if constraint.id == "cel-ckpt-source")
_EXECUTOR = "nvidia.com/vllm-distributed-executor-backend"
POD = {"name": "a", "podTemplate": {}}


def _rules(kind: str, version: str, line: Line) -> set[str]:
    found = (entry for node in nodes(load_schema(kind, version, line)) for entry in resolve(node).get("x-kubernetes-validations") or ())
    return {entry["rule"] for entry in found}


def test_the_schemas_and_the_twins_know_the_same_rules() -> None:
    """A rule without a twin would pass unseen; a twin without a rule would be dead."""
    assert set().union(*(_rules(*pair, line) for pair in pairs() for line in Line)) == {twin.rule for twin in TWINS}
    assert len({twin.rule for twin in TWINS}) == len(TWINS) == 27


def test_an_unported_rule_is_an_error() -> None:
    with pytest.raises(UnportedRuleError, match=r"self\.size\(\) < 3"):
        twin_of("self.size() < 3")


def test_only_rules_that_compare_are_transitions() -> None:
    assert [twin.id for twin in TWINS if twin.transition] == [
        "cel-ckpt-identity-immutable",
        "cel-restart-on-create",
        "cel-min-available-immutable",
    ]


CASES: list[tuple[Constraint, list[Any], list[Any]]] = [
    (
        BY_ID["cel-pvc-create"],
        [{}, {"create": False}, {"create": True, "size": "", "storageClass": "", "volumeAccessMode": ""}],
        [{"create": True}, {"create": True, "size": "1Gi", "storageClass": "a"}],
    ),
    (
        SHM_SIZE,
        [{"disabled": True}, {"size": "1"}, {"size": "1e-15"}, {"disabled": True, "size": 5}],
        [{}, {"size": "0"}, {"size": "-1Gi"}],
    ),
    (
        ALPHA_SOURCE,
        [
            {"enabled": False},
            {"enabled": True, "checkpointRef": "a"},
            {"enabled": True, "identity": {"model": "", "backendFramework": "vllm"}},
        ],
        [{"enabled": True}, {"enabled": True, "checkpointRef": ""}, {"enabled": True, "identity": {"model": "m"}}, {}],
    ),
    (BETA_SOURCE, [{"checkpointRef": "a"}, {"identity": {}}], [{}, {"checkpointRef": ""}]),
    (
        BY_ID["cel-ckpt-job-ref"],
        [{}, {"job": {}}, {"checkpointRef": "a"}, {"job": {}, "checkpointRef": ""}],
        [{"job": {}, "checkpointRef": "a"}],
    ),
    (BY_ID["cel-ckpt-job-auto"], [{"mode": "Manual"}, {"job": {}, "mode": "Auto"}, {"job": {}}], [{"job": {}, "mode": "Manual"}]),
    (
        GMS_ALPHA[0],
        [{}, {"extraClientContainers": ["a"], "mode": "intraPod"}, {"extraClientContainers": [], "mode": "interPod"}],
        [{"extraClientContainers": ["a"], "mode": "interPod"}],
    ),
    (GMS_BETA[0], [{"extraClientContainers": ["a"], "mode": "IntraPod"}], [{"extraClientContainers": ["a"], "mode": "InterPod"}]),
    (GMS_ALPHA[1], [{}, {"extraClientPods": [POD], "mode": "interPod"}], [{"extraClientPods": [POD], "mode": "intraPod"}]),
    (GMS_BETA[1], [{"extraClientPods": [POD], "mode": "InterPod"}], [{"extraClientPods": [POD]}]),
    (GMS_ALPHA[2], [{}, {"extraClientPods": []}], [{"extraClientPods": [POD], "mode": "interPod"}]),
    (BY_ID["cel-kvt-label-required"], [{"labelKey": "a"}], [{}]),
    (
        BY_ID["cel-kvt-weight-required"],
        [{"enforcement": "required"}, {"enforcement": "preferred", "preferredWeight": 0}],
        [{"enforcement": "preferred"}],
    ),
    (
        BY_ID["cel-kvt-weight-only-preferred"],
        [{"enforcement": "required"}, {"enforcement": "preferred", "preferredWeight": 0.5}],
        [{"enforcement": "required", "preferredWeight": 0.5}],
    ),
    (BY_ID["cel-kvt-prefix-length"], ["a", "a/b", "a" * 253 + "/b", "a" * 300], ["a" * 254 + "/b"]),
    (BY_ID["cel-one-epp"], [[], [{"type": "epp"}, {"type": "worker"}, {}]], [[{"type": "epp"}, {"type": "epp"}]]),
    (BY_ID["cel-unique-names"], [[], [{"name": "a"}, {"name": "b"}], [{"name": "É"}, {"name": "é"}]], [[{"name": "w"}, {"name": "W"}]]),
    (BY_ID["cel-epp-type"], [{}, {"eppConfig": {}, "type": "epp"}], [{"eppConfig": {}}, {"eppConfig": {}, "type": "worker"}]),
    (BY_ID["cel-kvt-one-source"], [{"labelKey": "a"}, {"clusterTopologyName": "t"}], [{}, {"labelKey": "a", "clusterTopologyName": "t"}]),
    (
        BY_ID["cel-min-available-replicas"],
        [{}, {"minAvailable": 1}, {"minAvailable": 2, "replicas": 2}, {"minAvailable": 2, "replicas": 0}],
        [{"minAvailable": 2}, {"minAvailable": 3, "replicas": 2}],
    ),
    (BY_ID["cel-sidecar-image"], [{"name": "main"}, {"name": "a", "image": "i"}], [{"name": "a"}, {"name": "a", "image": ""}]),
    (BY_ID["cel-init-image"], [{"image": "i"}], [{}, {"image": ""}]),
    (BY_ID["cel-pod-vllm-executor"], [{}, {_EXECUTOR: "mp"}, {_EXECUTOR: "RAY"}], [{_EXECUTOR: ""}, {_EXECUTOR: "rays"}]),
    (BY_ID["cel-epp-one-source"], [{"config": {}}, {"configMapRef": {}}], [{}, {"config": {}, "configMapRef": {}}]),
]


@pytest.mark.parametrize(("constraint", "good", "bad"), CASES, ids=[case[0].id for case in CASES])
def test_a_twin_tells_good_from_bad(constraint: Constraint, good: list[Any], bad: list[Any]) -> None:
    twin = twin_of(constraint.rule)
    assert twin.id == constraint.id
    assert [value for value in good if not twin.holds(value, None)] == []
    assert [value for value in bad if twin.holds(value, None)] == []


def test_an_identity_stays_once_it_is_set() -> None:
    twin = twin_of(BY_ID["cel-ckpt-identity-immutable"].rule)
    one, other = {"spec": {"identity": {"model": "m"}}}, {"spec": {"identity": {"model": "n"}}}
    empty: dict[str, Any] = {"spec": {}}
    assert [twin.holds(new, old) for new, old in ((one, one), (one, {}), (one, empty), ({}, {}))] == [True] * 4
    assert [twin.holds(new, old) for new, old in ((other, one), ({}, one), (empty, one))] == [False] * 3


def test_a_restart_is_asked_for_only_where_there_was_a_spec() -> None:
    holds = twin_of(BY_ID["cel-restart-on-create"].rule).holds
    assert [holds(new, old) for new, old in (({}, MISSING), ({"restart": {}}, {}))] == [True] * 2
    assert not holds({"restart": {"id": "a"}}, MISSING)


def test_min_available_stays_once_it_is_set() -> None:
    holds = twin_of(BY_ID["cel-min-available-immutable"].rule).holds
    one, other = {"minAvailable": 1}, {"minAvailable": 2}
    assert [holds(new, old) for new, old in ((one, one), (one, {}), ({}, {}))] == [True] * 3
    assert [holds(new, old) for new, old in ((other, one), ({}, one))] == [False] * 2


def test_every_twin_has_a_case() -> None:
    apart = {BY_ID[name].rule for name in ("cel-ckpt-identity-immutable", "cel-restart-on-create", "cel-min-available-immutable")}
    assert {case[0].rule for case in CASES} | apart == {twin.rule for twin in TWINS}


@pytest.mark.parametrize("size", [5, "many", "1e1.5"])
def test_a_size_that_is_no_text_or_no_quantity_cannot_be_evaluated(size: object) -> None:
    """Q-46: the API server refuses a bare number although the schema admits it."""
    with pytest.raises(EvaluationError):
        twin_of(SHM_SIZE.rule).holds({"size": size}, None)
