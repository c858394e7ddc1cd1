"""The facts file: unknown is unknown, null is unknown but for topologies, and mistakes name their key."""

from __future__ import annotations

from typing import Any

import pytest

from dynamo_webhooks.policies.evaluate import evaluate
from dynamo_webhooks.policies.facts import UNKNOWN, Facts, FactsError, UnknownFactError, facts_from
from dynamo_webhooks.policies.review import CREATE, Review


def test_what_is_not_in_the_file_is_unknown() -> None:
    facts = facts_from({"grove": True, "inferencePool": None})
    assert facts.grove is True
    assert facts.inferencePool is UNKNOWN
    with pytest.raises(UnknownFactError, match="inferencePool"):
        facts.need("inferencePool")


def test_null_topologies_mean_that_the_api_is_absent() -> None:
    assert facts_from({"clusterTopologies": None}).need("clusterTopologies") is None
    assert facts_from({}).clusterTopologies is UNKNOWN


def test_an_empty_file_knows_nothing() -> None:
    assert facts_from(None) == Facts()


@pytest.mark.parametrize(
    ("data", "key"),
    [
        ([], "the facts"),
        ({"groove": True}, "groove"),
        ({"grove": "yes"}, "grove"),
        ({"operatorScope": "galaxy"}, "operatorScope"),
        ({"operatorVersion": 1.2}, "operatorVersion"),
        ({"operatorVersion": ""}, "operatorVersion: must be a semantic version such as 1.2.0, got ''"),
        ({"operatorVersion": "main"}, "operatorVersion: must be a semantic version"),
        ({"operatorLine": "1.3"}, "operatorLine: must be one of 1.2, 1.5, got '1.3'"),
        ({"operatorLine": ["1.5"]}, "operatorLine: must be one of"),
        ({"excludedNamespaces": "a"}, "excludedNamespaces"),
        ({"excludedNamespaces": [1]}, "excludedNamespaces"),
        ({"switchedOff": "grove"}, "switchedOff"),
        ({"clusterTopologies": ["a"]}, "clusterTopologies"),
        ({"clusterTopologies": {"p": "zone"}}, "clusterTopologies.p"),
    ],
)
def test_a_mistake_names_its_key(data: Any, key: str) -> None:
    with pytest.raises(FactsError, match=f"^{key}"):
        facts_from(data)


@pytest.mark.parametrize(
    ("off", "grove", "other"),
    [
        ({"switchedOff": ["grove"]}, "Grove is switched off in the operator", "LeaderWorkerSet with Volcano is not served by the cluster"),
        ({"switchedOff": ["lws"]}, "Grove is not served by the cluster", "LeaderWorkerSet with Volcano is switched off in the operator"),
        ({}, "Grove is not served, or is switched off in the operator", "Volcano is not served, or is switched off in the operator"),
    ],
)
def test_what_is_switched_off_is_told_apart_from_what_is_not_served(off: dict[str, Any], grove: str, other: str) -> None:
    facts = facts_from({"grove": False, "lws": False, "dra": False, **off})
    obj = {
        "metadata": {"name": "g"},
        "spec": {"priorityClassName": "high", "services": {"w": {"componentType": "worker", "multinode": {"nodeCount": 2}}}},
    }
    found = evaluate(Review("DynamoGraphDeployment/v1alpha1", CREATE, obj, facts=facts))
    said = {one.rule.name: one.text for one in found}
    assert said["priority-class-requires-grove"].endswith(f": {grove}")
    assert said["multinode-requires-orchestrator"].endswith(other)
    assert grove in said["multinode-requires-orchestrator"]
