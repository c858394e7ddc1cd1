"""Rules read v1beta1: an object written in v1alpha1 is judged as its conversion is, in its author's fields."""

import itertools
from typing import Any, Final

import jsonpatch
import pytest

from dynamo_webhooks.admission.judging import VersionView, compute_defaults, judge
from dynamo_webhooks.admission.registration import WEBHOOKS, Purpose, find_rule_version
from dynamo_webhooks.api.line import Line
from dynamo_webhooks.api.paths import format_path
from dynamo_webhooks.conversion.engine import convert, convert_for_reading
from dynamo_webhooks.conversion.kinds import kind_of
from dynamo_webhooks.conversion.translate import Translation
from dynamo_webhooks.policies.catalogue import list_rules
from dynamo_webhooks.policies.checks import KEPT_VALUE
from dynamo_webhooks.policies.facts import Facts
from dynamo_webhooks.policies.finding import Finding
from dynamo_webhooks.policies.review import CREATE, Review
from tests.laws.conftest import OBJECTS, SEED
from tests.laws.dice import Dice
from tests.laws.strategies import make_object

GRAPH, COMPONENT = "DynamoGraphDeployment", "DynamoComponentDeployment"
OF_A_LINE: Final = OBJECTS // len(Line)


def _facts(line: Line) -> Facts:
    return Facts(operatorLine=line, grove=False, inferencePool=False, dra=False, lws=False, clusterTopologies={}, checkpoint=False)


def _found(obj: dict[str, Any], kind: str, version: str, line: Line) -> list[Finding]:
    findings = judge(Review(f"{kind}/{version}", CREATE, obj, facts=_facts(line)))
    # an API server holds fields to the schema of their version before it asks; annotations are held to it here
    return [finding for finding in findings if ".v1alpha1." not in finding.rule.module and finding.rule is not KEPT_VALUE]


def test_a_finding_names_the_same_field_in_both_versions(subtests: pytest.Subtests) -> None:
    for line, kind in itertools.product(Line, (GRAPH, COMPONENT)):
        with subtests.test(line=line, kind=kind):
            seen = 0
            for number in range(OF_A_LINE):
                obj = make_object(Dice(SEED, "judged", kind, line, number), kind, "v1alpha1", line=line)
                there = convert(kind_of(kind, line), obj, "v1beta1").object
                written, converted = (_found(each, kind, version, line) for each, version in ((obj, "v1alpha1"), (there, "v1beta1")))
                back = Translation(kind_of(kind, line), there, "v1alpha1", obj)
                assert sorted((finding.rule.name, format_path(finding.path)) for finding in written) == sorted(
                    (finding.rule.name, format_path(back.translate(finding.path).path)) for finding in converted
                ), number
                seen += len(written)
            assert seen > OF_A_LINE // 20


@pytest.mark.parametrize("line", Line)
def test_a_patch_of_copied_fields_has_the_effect_of_converting_the_object(line: Line, monkeypatch: pytest.MonkeyPatch) -> None:
    changed = 0
    for number in range(OF_A_LINE):
        obj = make_object(Dice(SEED, "patched", line, number), GRAPH, "v1alpha1", line=line)
        facts = _facts(line)._replace(operatorVersion="1.5.0", grove=True)
        done = compute_defaults(Review(f"{GRAPH}/v1alpha1", CREATE, obj, facts=facts))
        there = convert_for_reading(kind_of(GRAPH, line), obj, "v1beta1")  # with the pod templates that `done` was computed without
        assert done.edits == compute_defaults(Review(f"{GRAPH}/v1beta1", CREATE, there, facts=facts)).edits, number
        copied = done.patch()
        with monkeypatch.context() as whole:
            whole.setattr(VersionView, "_translate_edits", lambda *_: None)
            general = done.patch()
        first, second = (convert(kind_of(GRAPH, line), jsonpatch.apply_patch(obj, each), "v1beta1").object for each in (copied, general))
        assert (first.get("spec"), first.get("status")) == (second.get("spec"), second.get("status")), number
        assert len(copied) <= len(general) + 1, number
        changed += bool(copied)
    assert changed > OF_A_LINE // 2


def test_as_many_findings_are_named_for_their_author_as_are_shown() -> None:
    """The others keep the place that their rule read."""
    obj = {"metadata": {"name": "g"}, "spec": {"services": {name: {"replicas": -1} for name in "abc"}}}
    review = Review(f"{GRAPH}/v1alpha1", CREATE, obj, facts=_facts(Line.V1_2))
    for named, read in ((0, 3), (1, 2), (3, 0), (None, 0)):
        roots = sorted(str(finding.path[1]) for finding in judge(review, max_named=named) if finding.rule.name == "replicas-non-negative")
        assert roots == ["components"] * read + ["services"] * (3 - read)


def test_kinds_are_read_in_the_version_of_their_rules() -> None:
    """Or an object would be converted twice; the rules about what v1alpha1 alone can say read what was written there."""
    for line in Line:
        pairs = {
            (Purpose.MUTATE if rule.is_default else Purpose.VALIDATE, name)
            for rule in list_rules(line)
            for name in rule.kinds
            if ".v1alpha1." not in rule.module
        }
        assert pairs == {(purpose, f"{kind}/{find_rule_version(kind, purpose)}") for kind, purpose in WEBHOOKS}
