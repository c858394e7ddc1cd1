"""The recorded answers of the Go operator 1.2: the overlay agrees with all, this project differs only where a difference is named.

Each request was recorded in three contexts. It is asked in the first, and in another whose answer is another; `make nightly` asks all.
"""

from functools import cache
from typing import Any

import pytest

from dynamo_webhooks.admission import judging
from dynamo_webhooks.policies.answer import is_refused
from dynamo_webhooks.policies.evaluate import is_deletion
from dynamo_webhooks.policies.finding import Finding
from dynamo_webhooks.policies.review import Review
from dynamo_webhooks.policies.rule import Level
from tests.golden.corpus import admissions, compare, facts_of
from tests.golden.overlay.engine import profile_1_2

pytestmark = pytest.mark.interpreted

KINDS = {
    "dynamographdeployment": "DynamoGraphDeployment",
    "dynamocomponentdeployment": "DynamoComponentDeployment",
    "dynamographdeploymentrequest": "DynamoGraphDeploymentRequest",
    "dynamocheckpoint": "DynamoCheckpoint",
    "dynamomodel": "DynamoModel",
}


def _review(case: dict[str, Any]) -> Review:
    version, kind = case["path"].split("-")[-2:]
    request = case["request"]
    return Review(
        f"{KINDS[kind]}/{version}",
        request["operation"],
        request.get("object") or {},
        request.get("oldObject"),
        user=(request.get("userInfo") or {}).get("username", ""),
        facts=facts_of(case["context"]),
    )


@cache
def _decodable(*, mutating: bool) -> list[tuple[str, dict[str, Any], Review]]:
    """Name, expected answer and review of each case that the operator could decode."""
    return [
        (f"{case['context']} {case['id']} {case['path']}", case["expect"], _review(case))
        for case in admissions()
        if case["expect"].get("code") != 400 and not case["expect"].get("failed") and ("/mutate" in case["path"]) is mutating
    ]


@cache
def _judged_by_1_2() -> dict[str, list[Finding]]:
    with profile_1_2():
        return {
            name: [] if review.operation == "DELETE" else judging.judge(_again(review)) for name, _, review in _decodable(mutating=False)
        }


def _warnings(findings: list[Finding]) -> int:
    return len([finding for finding in findings if finding.level is Level.WARNING])


def _names(findings: list[Finding]) -> list[str]:
    return sorted({finding.rule.name for finding in findings})


def test_profile_1_2_gives_the_recorded_verdicts() -> None:
    wrong: list[str] = []
    for name, expect, _ in _decodable(mutating=False):
        findings = _judged_by_1_2()[name]
        faults = [finding.rule.name for finding in findings if finding.level is Level.FAULT]
        if faults:
            wrong.append(f"{name}: raised in {faults}")
        elif is_refused(findings) is expect["allowed"]:
            wrong.append(f"{name}: expected {expect['allowed']}, found {_names(findings)}")
        elif expect["allowed"] and _warnings(findings) != expect["warnings"]:
            wrong.append(f"{name}: expected {expect['warnings']} warnings, found {_names(findings)}")
    assert not wrong, f"{len(wrong)} differ:\n" + "\n".join(wrong[:40])


@pytest.mark.usefixtures("as_1_2")
def test_profile_1_2_gives_the_recorded_defaults() -> None:
    wrong: list[str] = []
    for name, expect, review in _decodable(mutating=True):
        if review.operation == "DELETE":
            continue
        got = judging.compute_defaults(_again(review)).object
        wanted = expect.get("patched", review.object)
        theirs = compare()
        if differences := list(theirs.diff(theirs.normalise(got), theirs.normalise(wanted))):
            wrong.append(f"{name}: {differences[:3]}")
    assert not wrong, f"{len(wrong)} differ:\n" + "\n".join(wrong[:40])


def test_this_project_differs_only_where_a_difference_is_named() -> None:
    """Where a verdict or the number of warnings is another, the rules that make it so each name their difference, or it is the ratchet."""
    unnamed: list[str] = []
    for name, expect, now in _decodable(mutating=False):
        if now.operation == "DELETE" or is_deletion(now):
            continue
        then, findings = _judged_by_1_2()[name], judging.judge(now)
        same = is_refused(findings) is not expect["allowed"] and (not expect["allowed"] or _warnings(findings) == expect["warnings"])
        if same:
            continue
        unratcheted = {(f.rule.code, f.path) for f in judging.judge(now.with_old(None))} if now.old is not None else set()
        gone = [f for f in then if (f.rule.code, f.path) not in {(g.rule.code, g.path) for g in findings}]
        come = [f for f in findings if (f.rule.code, f.path) not in {(g.rule.code, g.path) for g in then}]
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
