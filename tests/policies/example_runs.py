"""What the rules say of their examples, computed once a process for all tests that look at it."""

import copy
from collections.abc import Iterator
from functools import cache
from typing import Final, NamedTuple

from dynamo_webhooks.admission.judging import judge
from dynamo_webhooks.admission.pipeline import Admission, Settings
from dynamo_webhooks.api.kinds import ALPHA, BETA
from dynamo_webhooks.conversion.engine import convert
from dynamo_webhooks.conversion.kinds import KINDS
from dynamo_webhooks.policies.catalogue import list_declared
from dynamo_webhooks.policies.finding import Finding
from dynamo_webhooks.policies.rule import Rule
from tests.policies.examples import Example, parse

RULES: Final = [rule for rule in list_declared() if not rule.is_default]
DEFAULTS: Final = [rule for rule in list_declared() if rule.is_default]


class Shown(NamedTuple):
    """A block that the page of a rule shows, what all rules say of it, and whether they left its objects as they were."""

    name: str
    rule: Rule
    example: Example
    findings: list[Finding]
    unchanged: bool


class Told(NamedTuple):
    """A finding of a rule about its own example in one version, and whether that version has the field."""

    version: str
    finding: Finding
    known: bool


@cache
def blocks(rule: Rule, which: str) -> tuple[Example, ...]:
    """The Bad or Good blocks of a rule (of a default Before and After), as they are written."""
    return tuple(parse(block, rule.kinds[0], rule.name) for block in getattr(rule, which))


@cache
def shown(rule: Rule, which: str) -> tuple[Shown, ...]:
    """The blocks of a rule in the version that they are written in."""
    return tuple(_run(f"{rule.name}-{i}", rule, block) for i, block in enumerate(blocks(rule, which)))


def _run(name: str, rule: Rule, example: Example) -> Shown:
    review = example.review()
    before = copy.deepcopy((review.object, review.old))
    findings = judge(review)
    return Shown(name, rule, example, findings, (review.object, review.old) == before)


def list_shown(which: str) -> Iterator[Shown]:
    """The blocks of all rules."""
    return (each for rule in RULES for each in shown(rule, which))


@cache
def tell(rule: Rule) -> tuple[Told, ...]:
    """What a rule says of its Bad blocks, in each version."""
    return tuple(_tell(rule))


def _tell(rule: Rule) -> Iterator[Told]:
    for _, _, example, findings, _ in shown(rule, "bad"):
        kind, _, written = example.kind.partition("/")
        for version in (ALPHA, BETA) if kind in KINDS else (written,):
            judged = findings if version == written else _judge_in(example, version)
            for finding in judged:
                if finding.rule.name == rule.name:
                    yield Told(version, finding, version == written or f" of {written} " not in finding.text)


def _judge_in(example: Example, version: str) -> list[Finding]:
    review, kind = example.review(), example.kind.partition("/")[0]
    obj = convert(KINDS[kind], review.object, version).object
    old = None if review.old is None else convert(KINDS[kind], review.old, version).object
    return Admission(kind, version, review.operation, obj, old, user=review.user, settings=Settings(review.facts)).judge()
