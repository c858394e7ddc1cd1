"""The facts file: unknown is unknown, null is unknown but for topologies, and mistakes name their key."""

from typing import Any

import pytest

from dynamo_webhooks.admission.judging import judge as evaluate
from dynamo_webhooks.api.line import Line
from dynamo_webhooks.policies.facts import UNKNOWN, Facts, FactsError, UnknownFactError, facts_from
from dynamo_webhooks.policies.review import CREATE, UPDATE, Review


def test_what_is_not_in_the_file_is_unknown() -> None:
    """Null topologies mean that the API is absent."""
    facts = facts_from({"grove": True, "inferencePool": None})
    assert (facts.grove, facts.inferencePool, facts.clusterTopologies) == (True, UNKNOWN, UNKNOWN)
    with pytest.raises(UnknownFactError, match="inferencePool"):
        facts.need("inferencePool")
    assert facts_from({"clusterTopologies": None}).need("clusterTopologies") is None
    assert facts_from(None) == Facts()


def test_a_mistake_names_its_key(subtests: pytest.Subtests) -> None:
    rows: list[tuple[Any, str]] = [
        ([], "the facts"),
        ({"groove": True}, "groove"),
        ({"grove": "yes"}, "grove"),
        ({"operatorScope": "galaxy"}, "operatorScope"),
        ({"operatorVersion": 1.2}, "operatorVersion"),
        ({"operatorVersion": ""}, "operatorVersion: must be a semantic version such as 1.2.0, got ''"),
        ({"operatorVersion": "main"}, "operatorVersion: must be a semantic version"),
        ({"operatorLine": "1.1"}, f"operatorLine: must be one of {', '.join(Line)}, got '1.1'"),
        ({"operatorLine": ["1.5"]}, "operatorLine: must be one of"),
        ({"excludedNamespaces": "a"}, "excludedNamespaces"),
        ({"excludedNamespaces": [1]}, "excludedNamespaces"),
        ({"switchedOff": "grove"}, "switchedOff"),
        ({"clusterTopologies": ["a"]}, "clusterTopologies"),
        ({"clusterTopologies": {"p": "zone"}}, "clusterTopologies.p"),
    ]
    for data, key in rows:
        with subtests.test(key=key), pytest.raises(FactsError, match=f"^{key}"):
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


OFF = {"grove": False, "lws": False, "switchedOff": [], "operatorVersion": "1.5.0"}
PROVIDER, OPT_OUT = "nvidia.com/workload-provider", "nvidia.com/enable-grove"


def test_a_refused_multinode_graph_names_what_the_cluster_lacks_and_the_way_out(subtests: pytest.Subtests) -> None:
    rows: list[tuple[dict[str, str], dict[str, Any], str, str, str]] = [
        (
            {},
            OFF,
            CREATE,
            "Grove is not served by the cluster; LeaderWorkerSet",
            "install Grove, the usual way, or install LeaderWorkerSet",
        ),
        (
            {PROVIDER: "component"},  # as the mutating webhook writes it before
            OFF,
            CREATE,
            "Grove is not served by the cluster; LeaderWorkerSet",
            "install Grove, the usual way, or install LeaderWorkerSet",
        ),
        (
            {PROVIDER: "component"},
            {**OFF, "switchedOff": ["grove", "lws"]},
            CREATE,
            "Grove is switched off in the operator; LeaderWorkerSet with Volcano is switched off",
            "switch Grove on in the operator, the usual way, or switch LeaderWorkerSet with Volcano on in the operator",
        ),
        (
            {PROVIDER: "component", OPT_OUT: "false"},
            {**OFF, "grove": True},
            CREATE,
            f'the annotation {OPT_OUT} is "false"; LeaderWorkerSet',
            f"remove the annotation {OPT_OUT}, the usual way",
        ),
        (
            {PROVIDER: "component", OPT_OUT: "false"},
            OFF,
            CREATE,
            "Grove is not served by the cluster; LeaderWorkerSet",
            f"install Grove and remove the annotation {OPT_OUT}, the usual way",
        ),
        (
            {PROVIDER: "component"},
            OFF,
            UPDATE,
            f'the graph was created without Grove (annotation {PROVIDER}: "component"); LeaderWorkerSet',
            "install Grove and create the graph again, the usual way",
        ),
        (
            {PROVIDER: "component"},
            {**OFF, "grove": True},
            UPDATE,
            f'the graph was created without Grove (annotation {PROVIDER}: "component"); LeaderWorkerSet',
            "create the graph again, the usual way",
        ),
    ]
    for annotations, facts, operation, seen, fix in rows:
        with subtests.test(fix):
            worker = {"componentType": "worker", "resources": {"limits": {"gpu": "1"}}}
            before = {"metadata": {"name": "g", "annotations": annotations}, "spec": {"services": {"w": worker}}}
            wide = {**worker, "multinode": {"nodeCount": 2}, "gpuMemoryService": {"enabled": True, "mode": "interPod"}}
            obj = {**before, "spec": {"services": {"w": wide}, "priorityClassName": "high"}}
            old = before if operation == UPDATE else None
            found = {
                one.rule.name: one
                for one in evaluate(Review("DynamoGraphDeployment/v1alpha1", operation, obj, old, facts=facts_from({**facts, "dra": True})))
            }
            refused = found["multinode-requires-orchestrator"]
            assert refused.text.startswith(f"must not span 2 nodes: {seen}")
            assert refused.fix.startswith(fix)
            for other in ("priority-class-requires-grove", "gms-interpod-requires-grove"):
                assert seen.partition(";")[0] in found[other].text


ADAPTED = {"componentType": "worker", "scalingAdapter": {"enabled": True}}
RECONCILER = "system:serviceaccount:dynamo-system:dynamo-webhooks-reconciler"


def test_a_refused_change_of_replicas_says_when_no_operator_is_known(subtests: pytest.Subtests) -> None:
    rows: list[tuple[str, str, str]] = [
        ("", RECONCILER, f"the server knows no operator account: if it is {RECONCILER}, name it in operator.serviceAccount"),
        ("", "jane", "scale through the adapter"),
        ("system:serviceaccount:a:b", RECONCILER, "scale through the adapter"),
        (RECONCILER, RECONCILER, ""),
        ("kubernetes-admin", "kubernetes-admin", ""),  # an operator beside the cluster
        ("", "", "scale through the adapter"),
    ]
    for principal, user, said in rows:
        with subtests.test(said):
            old, obj = ({"metadata": {"name": "g"}, "spec": {"services": {"w": {**ADAPTED, "replicas": count}}}} for count in (1, 2))
            facts = facts_from({**OFF, "operatorPrincipal": principal})
            found = evaluate(Review("DynamoGraphDeployment/v1alpha1", UPDATE, obj, old, user=user, facts=facts))
            texts = [one.text for one in found if one.rule.name == "scaling-adapter-owns-replicas"]
            assert [text.endswith(said) for text in texts] == [True] * bool(said)
