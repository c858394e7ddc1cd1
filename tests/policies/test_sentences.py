"""Sentences that depend on what was seen: each of their forms, which one example of a rule can't show."""

from typing import Any

import yaml

from dynamo_webhooks.admission.judging import judge
from dynamo_webhooks.api.line import Line
from dynamo_webhooks.policies.facts import Facts
from dynamo_webhooks.policies.review import CREATE, UPDATE, Review
from dynamo_webhooks.policies.rule import DCD, DGD, MODEL_KIND

FACTS = Facts(operatorLine=Line.V1_6, grove=True, lws=True, dra=True, clusterTopologies={"t": ("zone", "rack")})
GROUPED = "components: [{name: w, experimental: {grove: {forceScalingGroup: %s}}}]"
TEXTS: list[tuple[str, str, str | None, str, list[str]]] = [
    (MODEL_KIND, "{}", None, "model-base-name-required", ["must name the base model, got nothing"]),
    (MODEL_KIND, "baseModelName: ' '", None, "model-base-name-required", ["must name the base model, got blanks only"]),
    (
        DGD,
        "components: [{name: b, topologyConstraint: {}}]",
        None,
        "topology-spec-required",
        ['must be set while components have constraints ("b"), got nothing'],
    ),
    (
        DGD,
        "components: [{name: b, topologyConstraint: {}}, {name: a, topologyConstraint: {}}]",
        None,
        "topology-spec-required",
        ['must be set while components have constraints ("a" and 1 more), got nothing'],
    ),
    (DGD, GROUPED % "true", GROUPED % "false", "force-scaling-group-immutable", ["must stay false after creation, got true"]),
    (DGD, GROUPED % "false", GROUPED % "true", "force-scaling-group-immutable", ["must stay true after creation, got false"]),
    (
        DCD,
        "topologyConstraint: {packDomain: rack}",
        "{}",
        "dcd-topology-immutable",
        ['must stay with packDomain unset after creation, got "rack"'],
    ),
    (
        DCD,
        "topologyConstraint: {packDomain: rack}",
        "topologyConstraint: {packDomain: zone}",
        "dcd-topology-immutable",
        ['must stay with packDomain "zone" after creation, got "rack"'],
    ),
]


def test_a_sentence_tells_what_was_seen() -> None:
    assert [(f"{rule}: {new}", found) for kind, new, old, rule, texts in TEXTS if (found := _said(kind, new, old, rule)) != texts] == []


def _said(kind: str, new: str, old: str | None, rule: str) -> list[str]:
    obj, before = ({"metadata": {"name": "x"}, "spec": yaml.safe_load(text)} if text is not None else None for text in (new, old))
    assert obj is not None
    return [one.text for one in judge(Review(kind, CREATE if old is None else UPDATE, obj, before, facts=FACTS)) if one.rule.name == rule]


def _serving(name: str, model: str | None, replicas: int) -> dict[str, Any]:
    arguments = {} if model is None else {"args": ["--model", model]}
    pod = {"spec": {"containers": [{"name": "main", **arguments}]}}
    return {"name": name, "type": "worker", "replicas": replicas, "podTemplate": pod}


def test_a_stopped_worker_is_missed_where_no_other_may_serve_its_model() -> None:
    """A worker whose command line names no model may serve any."""
    for stopped, running, missed in (("m", "m", 0), ("m", "n", 1), ("m", None, 0), (None, "m", 0), (None, None, 0)):
        spec = {"components": [_serving("a", stopped, 0), _serving("b", running, 1)]}
        found = judge(Review(DGD, CREATE, {"metadata": {"name": "g"}, "spec": spec}, facts=FACTS))
        assert [one.path for one in found if one.rule.name == "scale-to-zero-unroutable"] == [
            ("spec", "components", 0, "replicas")
        ] * missed
