"""Which versions an override of a request's graph may say: those of our group, and a version must follow the group."""

import pytest

from dynamo_webhooks.admission.judging import judge as evaluate
from dynamo_webhooks.policies.facts import Facts
from dynamo_webhooks.policies.review import CREATE, Review

FACTS = Facts(operatorScope="cluster")


@pytest.mark.parametrize(
    ("version", "fine"),
    [
        ("nvidia.com/v1beta1", True),
        ("nvidia.com/v1alpha1", True),
        ("nvidia.com/", False),
        ("nvidia.com", False),
        ("/v1beta1", False),
        ("v1", False),
    ],
)
def test_an_override_names_a_version_of_our_group(version: str, fine: bool) -> None:
    graph = {"apiVersion": version, "kind": "DynamoGraphDeployment"}
    found = evaluate(
        Review("DynamoGraphDeploymentRequest/v1beta1", CREATE, {"spec": {"model": "m", "overrides": {"dgd": graph}}}, facts=FACTS)
    )
    assert [(finding.rule.name, finding.path[-1]) for finding in found] == ([] if fine else [("dgdr-override-kind", "apiVersion")])
