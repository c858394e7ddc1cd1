"""What v1alpha1 lets a list repeat is refused where v1beta1's schema refuses it, whatever list it is."""

import copy
from collections.abc import Iterator
from typing import Any

import pytest

from dynamo_webhooks.admission.judging import judge
from dynamo_webhooks.api.line import Line
from dynamo_webhooks.api.paths import format_path
from dynamo_webhooks.api.schema import load_schema
from dynamo_webhooks.api.walk.correlate import list_errors
from dynamo_webhooks.api.walk.validate import validate
from dynamo_webhooks.conversion.engine import convert_for_reading
from dynamo_webhooks.conversion.kinds import kind_of
from dynamo_webhooks.policies.facts import Facts
from dynamo_webhooks.policies.review import CREATE, Review
from tests.laws.conftest import OBJECTS, SEED
from tests.laws.dice import Dice
from tests.laws.strategies import make_object


def _refused(obj: dict[str, Any], line: Line) -> set[str]:
    facts = Facts(operatorLine=line, grove=False, inferencePool=False, dra=False, lws=False, clusterTopologies={}, checkpoint=False)
    findings = judge(Review(f"{obj['kind']}/v1alpha1", CREATE, obj, facts=facts))
    # mounts without a directory repeat the empty one, and have a rule of their own
    return {finding.rule.name for finding in findings} & {"repeated-entry", "volume-mount-point-required"}


def _lists(value: Any) -> Iterator[list[Any]]:
    if isinstance(value, list) and value:
        yield value
    for below in value.values() if isinstance(value, dict) else value if isinstance(value, list) else ():
        yield from _lists(below)


def _repeats(obj: dict[str, Any], line: Line) -> list[str]:
    errors = list_errors(obj, load_schema(obj["kind"], "v1beta1", line))
    return [format_path(error.path) for error in errors if error.path[0] == "spec"]


@pytest.mark.parametrize("line", [Line.V1_2, Line.V1_5, Line.V1_6])
@pytest.mark.parametrize("name", ["DynamoGraphDeployment", "DynamoComponentDeployment"])
def test_every_repetition_that_v1beta1_refuses_is_refused_in_v1alpha1(name: str, line: Line) -> None:
    seen = 0
    for number in range(OBJECTS):
        if seen * 5 > OBJECTS:
            break
        dice = Dice(SEED, "repeated", name, line, number)
        obj = make_object(dice, name, "v1alpha1", line=line)
        for listed in list(_lists(obj.get("spec"))):
            listed.append(copy.deepcopy(listed[dice(len(listed))]))
            if not any(error.path[:1] == ("spec",) for error in validate(obj, load_schema(name, "v1alpha1", line))):  # else refused by that
                repeated = _repeats(convert_for_reading(kind_of(name, line), obj, "v1beta1"), line)
                assert not repeated or _refused(obj, line), (number, repeated)
                seen += bool(repeated)
            listed.pop()
    assert seen


@pytest.mark.parametrize(
    ("service", "path"),
    [
        ({"envs": [{"name": "A", "value": "1"}, {"name": "B"}, {"name": "A", "value": "1"}]}, "envs[2].name"),
        ({"volumeMounts": [{"name": "a", "mountPoint": "/m"}, {"name": "b", "mountPoint": "/m"}]}, "volumeMounts[1].mountPoint"),
        ({"frontendSidecar": {"image": "i", "envs": [{"name": "A"}, {"name": "A"}]}}, "frontendSidecar.envs[1].name"),
        ({"resources": {"claims": [{"name": "g"}, {"name": "g"}]}}, "resources.claims[1].name"),
        ({"volumeMounts": [{"name": "a", "mountPoint": "/m"}, {"name": "b", "mountPoint": "/m", "useAsCompilationCache": True}]}, ""),
        ({"envs": [{"name": "A"}], "extraPodSpec": {"mainContainer": {"env": [{"name": "A"}]}}}, ""),
    ],
)
def test_the_second_entry_is_named(service: dict[str, Any], path: str) -> None:
    obj = {"kind": "DynamoGraphDeployment", "metadata": {"name": "g"}, "spec": {"services": {"w": {"componentType": "worker", **service}}}}
    findings = [
        hit for hit in judge(Review("DynamoGraphDeployment/v1alpha1", CREATE, obj, facts=Facts())) if hit.rule.name == "repeated-entry"
    ]
    assert [format_path(finding.path) for finding in findings] == ([f"spec.services[w].{path}"] if path else [])
