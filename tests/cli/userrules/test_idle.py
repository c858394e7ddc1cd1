"""Policies that enforce nothing, and documents beside them that aren't read, are named; the summary says which took part."""

from typing import Any

import pytest
import yaml

from dynamo_webhooks.cli.userrules.idle import list_idle
from dynamo_webhooks.cli.yaml.load import Document, Source, read_text
from tests.cli.conftest import Command, Files
from tests.cli.userrules.samples import GRAPH, PROJECT, binding, policy


def _told(text: str) -> list[str]:
    return list_idle(document for document in read_text(Source("p.yaml", text)) if isinstance(document, Document))


def _about(**changes: Any) -> str:
    data = yaml.safe_load(policy())
    data["spec"]["matchConstraints"]["resourceRules"][0] |= changes
    return yaml.safe_dump(data, sort_keys=False)


RULE = "spec.matchConstraints.resourceRules[0]"


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (
            _about(resources=["dynamographdeployment"]),
            f'{RULE}.resources[0]: no Dynamo kind has the resource "dynamographdeployment"; did you',
        ),
        (_about(resources=["DynamoGraphDeployment"]), "did you mean dynamographdeployments?"),
        (_about(resources=["dynamographdeployments", "dynamomodles"]), "did you mean dynamomodels?"),
        (_about(resources=["things"]), f'{RULE}.resources[0]: no Dynamo kind has the resource "things"'),
        (_about(apiGroups=["nvidea.com"]), f'{RULE}.apiGroups[0]: "nvidea.com" has no Dynamo kind; did you mean nvidia.com?'),
        (_about(apiVersions=["v1beta2"]), 'has the version "v1beta2"; did you mean v1beta1?'),
        (_about(apiVersions=["v1beta1"], resources=["dynamomodels"]), "it must be v1alpha1"),
        (_about(apiVersions=["2"]), "it must be v1alpha1 or v1beta1"),
        (
            policy().replace("kind: Validating", "kind: Valdating"),
            "p.yaml:2:7: kind: ValdatingAdmissionPolicy is not read, and enforces",
        ),
        (policy().replace("admissionregistration.k8s.io", "admission.k8s.io"), "apiVersion: ValidatingAdmissionPolicy is read only with"),
        (policy(kind="Check").replace("dynamo-webhooks/v1", "dynamo-webhooks/v2"), "Check is read only with dynamo-webhooks/v1, got"),
        ("apiVersion: kyverno.io/v1\nkind: ClusterPolicy\n", "kind: ClusterPolicy of kyverno.io is not read, and enforces nothing here"),
        ("apiVersion: constraints.gatekeeper.sh/v1\nkind: K8sX\n", "K8sX of constraints.gatekeeper.sh is not read"),
        (
            "apiVersion: admissionregistration.k8s.io/v1\nkind: MutatingAdmissionPolicy\n",
            "MutatingAdmissionPolicy of admissionregistration.k8s.io",
        ),
    ],
)
def test_what_enforces_nothing_is_named(text: str, message: str) -> None:
    [sentence] = _told(text)
    assert message in sentence


@pytest.mark.parametrize(
    "text",
    [
        policy(),
        _about(apiGroups=["*"], apiVersions=["*"], resources=["*"]),
        _about(apiGroups=["*"], apiVersions=["*"], resources=["pods"]),
        _about(apiGroups=["apps"], apiVersions=["v1"], resources=["deployments"]),
        _about(apiGroups=["", "nvidia.com"], apiVersions=["*"], resources=["pods", "dynamographdeployments"]),
        _about(resources=["dynamographdeployments/status"]),
        _about(apiVersions=["v1alpha1", "v1beta1"], resources=["*"]),
        binding(),
        "apiVersion: v1\nkind: ConfigMap\n",
        "apiVersion: rules.example.com/v1\nkind: ReplicaLimit\n",
        "apiVersion: nvidia.com/v1beta1\nkind: DynamoGraphDeployment\n",
        "text",
    ],
)
def test_what_is_about_something_or_read_by_policies_is_not(text: str) -> None:
    assert _told(text) == []


def test_the_summary_says_how_many_rules_took_part(command: Command, files: Files) -> None:
    folder = files(
        graph=GRAPH,
        policies__a=policy("true"),
        policies__b=_about(resources=["dynamomodels"], apiVersions=["v1alpha1"]).replace("few", "b"),
    )
    (folder / PROJECT).write_text("rules-from: [policies]\n")
    ran = command("check", "graph.yaml", "--set-fact", "grove=true")
    assert "by 1 of 2 rules of your own" in ran.err
    files(policies__c=_about(resources=["dynamomodles"]).replace("few", "c"))
    ran = command("check", "graph.yaml")
    assert "by 1 of 3 rules of your own" in ran.err
    assert "policies/c.yaml:" in ran.err
