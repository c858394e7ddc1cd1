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


OFF = {"grove": False, "lws": False, "switchedOff": [], "operatorVersion": "1.5.0"}
SERVED = {**OFF, "grove": True}
UNTOLD = {name: value for name, value in OFF.items() if name != "switchedOff"}
PROVIDER, OPT_OUT = "nvidia.com/workload-provider", "nvidia.com/enable-grove"
FILLED = {PROVIDER: "component"}  # as the mutating webhook writes it before
OUT = {**FILLED, OPT_OUT: "false"}
SAID_OUT = f'the annotation {OPT_OUT} is "false"'
STORED = f'the graph was created without Grove (annotation {PROVIDER}: "component")'
ABSENT, SWITCHED, ON = "is not served by the cluster", "is switched off in the operator", "on in the operator"
EITHER = "is not served, or is switched off in the operator"
LWS = "LeaderWorkerSet with Volcano"
INSTALL = "install Grove, the usual way, or install LeaderWorkerSet"


def _off(*names: str) -> dict[str, Any]:
    return {**OFF, "switchedOff": [*names]}


def test_a_refused_multinode_graph_names_what_the_cluster_lacks_and_the_way_out(subtests: pytest.Subtests) -> None:
    rows: list[tuple[dict[str, str], dict[str, Any], str, str, str, str]] = [
        ({}, OFF, CREATE, f"Grove {ABSENT}", ABSENT, INSTALL),
        (FILLED, OFF, CREATE, f"Grove {ABSENT}", ABSENT, INSTALL),
        (FILLED, UNTOLD, CREATE, f"Grove {EITHER}", EITHER, INSTALL),
        (FILLED, _off("grove"), CREATE, f"Grove {SWITCHED}", ABSENT, f"switch Grove {ON}, the usual way, or install LeaderWorkerSet"),
        (FILLED, _off("lws"), CREATE, f"Grove {ABSENT}", SWITCHED, f"install Grove, the usual way, or switch {LWS} {ON}"),
        (FILLED, _off("grove", "lws"), CREATE, f"Grove {SWITCHED}", SWITCHED, f"switch Grove {ON}, the usual way, or switch {LWS} {ON}"),
        (OUT, SERVED, CREATE, SAID_OUT, ABSENT, f"remove the annotation {OPT_OUT}, the usual way"),
        (OUT, OFF, CREATE, f"Grove {ABSENT}", ABSENT, f"install Grove and remove the annotation {OPT_OUT}, the usual way"),
        (FILLED, OFF, UPDATE, STORED, ABSENT, "install Grove and create the graph again, the usual way"),
        (FILLED, SERVED, UPDATE, STORED, ABSENT, "create the graph again, the usual way"),
    ]
    for annotations, facts, operation, grove, other, fix in rows:
        with subtests.test(fix):
            worker = {"componentType": "worker", "resources": {"limits": {"gpu": "1"}}}
            before = {"metadata": {"name": "g", "annotations": annotations}, "spec": {"services": {"w": worker}}}
            wide = {**worker, "multinode": {"nodeCount": 2}, "gpuMemoryService": {"enabled": True, "mode": "interPod"}}
            obj = {**before, "spec": {"services": {"w": wide}, "priorityClassName": "high"}}
            old = before if operation == UPDATE else None
            by_rule = {
                hit.rule.name: hit
                for hit in evaluate(Review("DynamoGraphDeployment/v1alpha1", operation, obj, old, facts=facts_from({**facts, "dra": True})))
            }
            refused = by_rule["multinode-requires-orchestrator"]
            assert refused.text == f"must not span 2 nodes: {grove}; {LWS} {other}"
            assert refused.fix.startswith(fix)
            assert by_rule["priority-class-requires-grove"].text.endswith(f": {grove}")
            assert by_rule["gms-interpod-requires-grove"].text.endswith(f", but {grove}")


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
    for principal, user, ending in rows:
        with subtests.test(ending):
            old, obj = ({"metadata": {"name": "g"}, "spec": {"services": {"w": {**ADAPTED, "replicas": count}}}} for count in (1, 2))
            facts = facts_from({**OFF, "operatorPrincipal": principal})
            findings = evaluate(Review("DynamoGraphDeployment/v1alpha1", UPDATE, obj, old, user=user, facts=facts))
            texts = [finding.text for finding in findings if finding.rule.name == "scaling-adapter-owns-replicas"]
            assert [text.endswith(ending) for text in texts] == [True] * bool(ending)
