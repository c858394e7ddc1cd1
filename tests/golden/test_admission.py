"""The recorded answers of the Go operator 1.2: the overlay agrees with all, this project differs only where a difference is named."""

from functools import cache
from typing import Any

import pytest
import yaml

from dynamo_webhooks.admission import judging
from dynamo_webhooks.policies.answer import is_refused
from dynamo_webhooks.policies.evaluate import is_deletion
from dynamo_webhooks.policies.facts import Facts, facts_from
from dynamo_webhooks.policies.finding import Finding, Level
from dynamo_webhooks.policies.review import Review
from tests.golden.corpus import cases, compare, corpus_file
from tests.golden.overlay.engine import profile_1_2

pytestmark = [pytest.mark.golden, pytest.mark.interpreted]

KINDS = {
    "dynamographdeployment": "DynamoGraphDeployment",
    "dynamocomponentdeployment": "DynamoComponentDeployment",
    "dynamographdeploymentrequest": "DynamoGraphDeploymentRequest",
    "dynamocheckpoint": "DynamoCheckpoint",
    "dynamomodel": "DynamoModel",
}


@cache
def _facts(context: str) -> Facts:
    return facts_from(yaml.safe_load(corpus_file(f"context-{context}.yaml").read_text()))


def _review(case: dict[str, Any]) -> Review:
    version, kind = case["path"].split("-")[-2:]
    request = case["request"]
    return Review(
        f"{KINDS[kind]}/{version}",
        request["operation"],
        request.get("object") or {},
        request.get("oldObject"),
        user=(request.get("userInfo") or {}).get("username", ""),
        facts=_facts(case["context"]),
    )


def _decodable(context: str, mutating: bool) -> list[dict[str, Any]]:
    return [
        case
        for case in cases("golden.ndjson.gz", "admit")
        if case["context"] == context
        and case["expect"].get("code") != 400
        and not case["expect"].get("failed")
        and ("/mutate" in case["path"]) is mutating
    ]


def _warnings(found: list[Finding]) -> int:
    return len([finding for finding in found if finding.level is Level.WARNING])


def _names(found: list[Finding]) -> list[str]:
    return sorted({finding.rule.name for finding in found})


@pytest.mark.parametrize("context", ["A", "B", "C"])
@pytest.mark.usefixtures("as_1_2")
def test_profile_1_2_gives_the_recorded_verdicts(context: str) -> None:
    wrong: list[str] = []
    for case in _decodable(context, mutating=False):
        review = _review(case)
        found = [] if review.operation == "DELETE" else judging.judge(review)
        expect = case["expect"]
        faults = [finding.rule.name for finding in found if finding.level is Level.FAULT]
        if faults:
            wrong.append(f"{case['id']}: raised in {faults}")
        elif is_refused(found) is expect["allowed"]:
            wrong.append(f"{case['id']} {case['path'].split('-')[-1]}: expected {expect['allowed']}, found {_names(found)}")
        elif expect["allowed"] and _warnings(found) != expect["warnings"]:
            wrong.append(f"{case['id']}: expected {expect['warnings']} warnings, found {_names(found)}")
    assert not wrong, f"{len(wrong)} differ:\n" + "\n".join(wrong[:40])


@pytest.mark.parametrize("context", ["A", "B", "C"])
@pytest.mark.usefixtures("as_1_2")
def test_profile_1_2_gives_the_recorded_defaults(context: str) -> None:
    wrong: list[str] = []
    for case in _decodable(context, mutating=True):
        review = _review(case)
        if review.operation == "DELETE":
            continue
        got = judging.compute_defaults(review).object
        wanted = case["expect"].get("patched", case["request"]["object"])
        theirs = compare()
        if differences := list(theirs.diff(theirs.normalise(got), theirs.normalise(wanted))):
            wrong.append(f"{case['id']}: {differences[:3]}")
    assert not wrong, f"{len(wrong)} differ:\n" + "\n".join(wrong[:40])


@pytest.mark.parametrize("context", ["A", "B", "C"])
def test_this_project_differs_only_where_a_difference_is_named(context: str) -> None:
    """Where a verdict or the number of warnings is another, the rules that make it so each name their difference, or it is the ratchet."""
    reviews = {case["id"]: (case["expect"], _review(case)) for case in _decodable(context, mutating=False)}
    reviews = {name: each for name, each in reviews.items() if each[1].operation != "DELETE" and not is_deletion(each[1])}
    with profile_1_2():
        then_all = {name: judging.judge(_again(review)) for name, (_, review) in reviews.items()}
    unnamed: list[str] = []
    for name, (expect, now) in reviews.items():
        then, found = then_all[name], judging.judge(now)
        same = is_refused(found) is not expect["allowed"] and (not expect["allowed"] or _warnings(found) == expect["warnings"])
        if same:
            continue
        unratcheted = {(f.rule.code, f.path) for f in judging.judge(now.with_old(None))} if now.old is not None else set()
        gone = [f for f in then if (f.rule.code, f.path) not in {(g.rule.code, g.path) for g in found}]
        come = [f for f in found if (f.rule.code, f.path) not in {(g.rule.code, g.path) for g in then}]
        unnamed += [f"{name}: {finding.rule.name} is new at {finding.path}" for finding in come if finding.rule.difference is None]
        unnamed += [
            f"{name}: {finding.rule.name} is gone at {finding.path}"
            for finding in gone
            if finding.rule.difference is None and (finding.rule.code, finding.path) not in unratcheted
        ]
    assert not unnamed, f"{len(unnamed)} unnamed:\n" + "\n".join(unnamed[:40])


def _again(review: Review) -> Review:
    """The same review, which has not remembered a line yet."""
    return Review(review.kind, review.operation, review.object, review.old, user=review.user, facts=review.facts)
