"""The worked examples (tests/policies/worked): each verdict is that of the Go operator 1.2, by the rule that the example names."""

from pathlib import Path
from typing import Any

import pytest
import yaml

from dynamo_webhooks.admission import judging
from dynamo_webhooks.policies.answer import is_refused
from dynamo_webhooks.policies.facts import Facts, facts_from
from dynamo_webhooks.policies.review import Review
from dynamo_webhooks.policies.rule import Level
from tests.golden.overlay.engine import profile_1_2

CASES: list[dict[str, Any]] = [
    case for file in sorted((Path(__file__).parent / "worked").glob("*.yaml")) for case in yaml.load(file.read_text(), yaml.CSafeLoader)
]


def _configuration(name: str) -> Facts:
    restricted = name == "C1"
    return facts_from(
        {
            "operatorScope": "namespace" if restricted else "cluster",
            "operatorVersion": "1.2.0",
            "operatorPrincipal": "" if restricted else "system:serviceaccount:dynamo-system:operator",
            "grove": not restricted,
            "inferencePool": False,
            "clusterTopologies": {"p": ["region", "zone", "rack", "host"]} if name == "C0+T" else {},
            "gpuDiscovery": not restricted,
            "allowGmsSnapshot": name == "C2",
            "excludedNamespaces": [],
        }
    )


def _object(fragment: dict[str, Any]) -> dict[str, Any]:
    return {**fragment, "metadata": {"name": "g", "namespace": "ns", **fragment.get("metadata", {})}}


def test_every_worked_example_is_here() -> None:
    assert sorted(case["id"] for case in CASES) == list(range(1, 164))


@pytest.mark.interpreted
def test_a_worked_example_holds(subtests: pytest.Subtests) -> None:
    for case in CASES:
        with subtests.test(str(case["id"])):
            old = _object(case["old"]) if "old" in case else None
            review = Review(
                case["kind"],
                case["op"],
                _object(case["object"]),
                old,
                user=case.get("user", "jane"),
                facts=_configuration(case["config"]),
            )
            with profile_1_2():
                found = judging.judge(review)
            assert is_refused(found) is (case["verdict"] == "deny"), found
            if case["verdict"] == "deny":
                assert case["rule"] in {finding.rule.name for finding in found}
            assert len([finding for finding in found if finding.level is Level.WARNING]) == case.get("warnings", 0)
