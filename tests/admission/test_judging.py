"""Rules read v1beta1: an object written in v1alpha1 is judged as its conversion is, in its author's fields."""

from typing import Any

import jsonpatch
import pytest

from dynamo_webhooks.admission.judging import VersionView, compute_defaults, judge
from dynamo_webhooks.admission.registration import WEBHOOKS, Purpose, read_as
from dynamo_webhooks.api.line import Line
from dynamo_webhooks.api.paths import format_path
from dynamo_webhooks.conversion.engine import convert, convert_for_reading
from dynamo_webhooks.conversion.kinds import kind_of
from dynamo_webhooks.conversion.translate import Translation
from dynamo_webhooks.policies.catalogue import list_rules
from dynamo_webhooks.policies.facts import Facts
from dynamo_webhooks.policies.finding import Finding
from dynamo_webhooks.policies.review import CREATE, Review
from tests.laws.conftest import OBJECTS, SEED
from tests.laws.dice import Dice
from tests.laws.strategies import make_object

GRAPH, COMPONENT = "DynamoGraphDeployment", "DynamoComponentDeployment"


def _facts(line: Line) -> Facts:
    return Facts(operatorLine=line, grove=False, inferencePool=False, dra=False, lws=False, clusterTopologies={}, checkpoint=False)


def _found(obj: dict[str, Any], kind: str, version: str, line: Line) -> list[Finding]:
    found = judge(Review(f"{kind}/{version}", CREATE, obj, facts=_facts(line)))
    return [finding for finding in found if ".v1alpha1." not in finding.rule.module]


@pytest.mark.parametrize("line", Line)
@pytest.mark.parametrize("kind", [GRAPH, COMPONENT])
def test_a_finding_names_the_same_field_in_both_versions(kind: str, line: Line) -> None:
    seen = 0
    for number in range(OBJECTS):
        obj = make_object(Dice(SEED, "judged", kind, line, number), kind, "v1alpha1", line=line)
        there = convert(kind_of(kind, line), obj, "v1beta1").object
        written, converted = (_found(each, kind, version, line) for each, version in ((obj, "v1alpha1"), (there, "v1beta1")))
        back = Translation(kind_of(kind, line), there, "v1alpha1", obj)
        assert sorted((one.rule.name, format_path(one.path)) for one in written) == sorted(
            (one.rule.name, format_path(back.of(one.path).path)) for one in converted
        ), number
        seen += len(written)
    assert seen > OBJECTS // 4


@pytest.mark.parametrize("line", Line)
def test_a_patch_of_copied_fields_has_the_effect_of_converting_the_object(line: Line, monkeypatch: pytest.MonkeyPatch) -> None:
    changed = 0
    for number in range(OBJECTS // 5):
        obj = make_object(Dice(SEED, "patched", line, number), GRAPH, "v1alpha1", line=line)
        facts = _facts(line)._replace(operatorVersion="1.5.0", grove=True)
        done = compute_defaults(Review(f"{GRAPH}/v1alpha1", CREATE, obj, facts=facts))
        there = convert_for_reading(kind_of(GRAPH, line), obj, "v1beta1")  # with the pod templates that `done` was computed without
        assert done.edits == compute_defaults(Review(f"{GRAPH}/v1beta1", CREATE, there, facts=facts)).edits, number
        copied = done.patch()
        with monkeypatch.context() as whole:
            whole.setattr(VersionView, "_edits", lambda *_: None)
            general = done.patch()
        one, two = (convert(kind_of(GRAPH, line), jsonpatch.apply_patch(obj, each), "v1beta1").object for each in (copied, general))
        assert (one.get("spec"), one.get("status")) == (two.get("spec"), two.get("status")), number
        assert len(copied) <= len(general) + 1, number
        changed += bool(copied)
    assert changed > OBJECTS // 10


def test_a_missing_main_container_is_named_where_v1alpha1_has_it() -> None:
    obj = {"metadata": {"name": "g"}, "spec": {"services": {"w": {}}}}
    [finding] = [one for one in _found(obj, GRAPH, "v1alpha1", Line.V1_5) if one.rule.name == "image-required"]
    assert format_path(finding.path) == "spec.services[w].extraPodSpec.mainContainer.image"


def test_kinds_are_read_in_the_version_of_their_rules() -> None:
    """Or an object would be converted twice; the rules about what v1alpha1 alone can say read what was written there."""
    for line in Line:
        found = {
            (Purpose.MUTATE if rule.is_default else Purpose.VALIDATE, name)
            for rule in list_rules(line)
            for name in rule.kinds
            if ".v1alpha1." not in rule.module
        }
        assert found == {(purpose, f"{kind}/{read_as(kind, purpose)}") for kind, purpose in WEBHOOKS}
