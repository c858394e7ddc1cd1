"""Lays the Go operator 1.2 over this project: its rules, and what its engine does otherwise."""

from __future__ import annotations

import contextlib
import json
from collections.abc import Iterator
from typing import Any, Final
from unittest import mock

from dynamo_webhooks.admission import judging
from dynamo_webhooks.admission.judging import ObjectDefaults, VersionView
from dynamo_webhooks.api.kinds import ALPHA, BETA
from dynamo_webhooks.api.line import Line
from dynamo_webhooks.conversion.engine import convert_for_reading
from dynamo_webhooks.policies import catalogue, evaluate, sameness
from dynamo_webhooks.policies.component import failover
from dynamo_webhooks.policies.components import INTRA_POD, read_failover
from dynamo_webhooks.policies.evaluate import is_deletion, sort_key
from dynamo_webhooks.policies.facts import UNKNOWN, Facts
from dynamo_webhooks.policies.finding import Finding
from dynamo_webhooks.policies.graph import annotations as graph_annotations
from dynamo_webhooks.policies.review import DELETE, Fields, Review
from dynamo_webhooks.policies.rule import DCD, DCD_V1ALPHA1, DGD, DGD_V1ALPHA1, Rule
from tests.golden.overlay import component, graph
from tests.golden.overlay.declare import VARIANTS

MODULES: Final = (component, graph)  # which declare the variants
_CACHES: Final = (catalogue.list_rules, catalogue.list_all, evaluate._group_rules)
_AS_WRITTEN: Final = "dynamo_webhooks.policies.v1alpha1."  # rules of what only v1alpha1 can say
# rules that read v1alpha1, whatever the object was written in
_READ_V1ALPHA1: Final = {DGD: DGD_V1ALPHA1, DCD: DCD_V1ALPHA1}

_judge, _compute_defaults = judging.judge, judging.compute_defaults
_list_declared, _says_nothing = catalogue.list_declared, sameness._is_empty


def list_rules_of_1_2() -> tuple[Rule, ...]:
    """Its rules and defaults, sorted by code."""
    there = {rule.name: rule for rule in _list_declared() if rule.difference is None or not rule.difference.lacking} | VARIANTS
    return tuple(sorted(there.values(), key=lambda rule: rule.code))


def _judged(view: VersionView, obj: Fields, *, pods: bool = True) -> Fields:
    """The definitions of line 1.5 can say more of what 1.2 judges: any type, and a checkpoint that is off."""
    wide = view.kind._replace(line=Line.V1_5) if view.kind.name != "DynamoGraphDeploymentRequest" else view.kind
    return convert_for_reading(wide, obj, view.rule_version, pods=pods)


def judge(review: Review, limit: int | None = None, max_named: int | None = None) -> list[Finding]:
    """The findings of a review; some rules read v1alpha1, and are asked of a v1beta1 object, too."""
    findings = _judge(review, limit, max_named)
    if review.kind not in _READ_V1ALPHA1 or review.operation == DELETE or is_deletion(review):
        return findings
    view = VersionView(review.kind.partition("/")[0], BETA, ALPHA, review.line)
    there = review.across(
        _READ_V1ALPHA1[review.kind],
        view.convert_for_rules(review.object),
        None if review.old is None else view.convert_for_rules(review.old),
    )
    more = [finding for finding in evaluate.evaluate(there) if not finding.rule.module.startswith(_AS_WRITTEN)]
    return sorted((*findings, *view.translate_findings(more, there.object, review.object, max_named)), key=sort_key)


def compute_defaults(review: Review) -> ObjectDefaults:
    """The defaults, which don't look at stored objects and leases."""
    lean = review.with_old(None)
    lean.facts = lean.facts._replace(excludedNamespaces=UNKNOWN)
    return _compute_defaults(lean)


def _is_intrapod(component: Fields) -> bool:
    """The mode must be written."""
    return (read_failover(component) or {}).get("mode") == INTRA_POD


def _as_written(name: str, part: Any, node: Any, *, empty_block: bool) -> bool:
    """An empty block is kept."""
    del empty_block
    return _says_nothing(name, part, node, empty_block=False)


_REPLACED: Final[tuple[tuple[object, str, object], ...]] = (
    (catalogue, "list_declared", list_rules_of_1_2),
    (Facts, "line", property(lambda _: Line.V1_2)),
    (evaluate, "_ratchet", lambda _, findings: findings),
    (VersionView, "convert_for_rules", _judged),
    (judging, "judge", judge),
    (judging, "compute_defaults", compute_defaults),
    (failover, "is_intrapod", _is_intrapod),
    (graph_annotations, "is_intrapod", _is_intrapod),
    (sameness, "_is_empty", _as_written),
    (sameness, "_free", json.dumps),
)


@contextlib.contextmanager
def profile_1_2() -> Iterator[None]:
    """Answers as the Go operator 1.2 until the end of the block."""
    with contextlib.ExitStack() as stack:
        for target, name, new in _REPLACED:
            stack.enter_context(mock.patch.object(target, name, new))
        for cache in _CACHES:
            cache.cache_clear()
            stack.callback(cache.cache_clear)
        yield
