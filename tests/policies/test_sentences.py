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
PACKED = "topologyConstraint: {packDomain: %s}"
CONSTRAINED = "{name: %s, topologyConstraint: {}}"
UNSET = "must be set while components have constraints (%s), got nothing"
STAYS = 'must stay with packDomain %s after creation, got "rack"'
TEXTS: list[tuple[str, str, str | None, str, str]] = [
    (MODEL_KIND, "{}", None, "model-base-name-required", "must name the base model, got nothing"),
    (MODEL_KIND, "baseModelName: ' '", None, "model-base-name-required", "must name the base model, got blanks only"),
    (DGD, f"components: [{CONSTRAINED % 'b'}]", None, "topology-spec-required", UNSET % '"b"'),
    (DGD, f"components: [{CONSTRAINED % 'b'}, {CONSTRAINED % 'a'}]", None, "topology-spec-required", UNSET % '"a" and 1 more'),
    (DGD, GROUPED % "true", GROUPED % "false", "force-scaling-group-immutable", "must stay false after creation, got true"),
    (DGD, GROUPED % "false", GROUPED % "true", "force-scaling-group-immutable", "must stay true after creation, got false"),
    (DCD, PACKED % "rack", "{}", "dcd-topology-immutable", STAYS % "unset"),
    (DCD, PACKED % "rack", PACKED % "zone", "dcd-topology-immutable", STAYS % '"zone"'),
]


def test_a_sentence_tells_what_was_seen() -> None:
    assert [(f"{rule}: {new}", texts) for kind, new, old, rule, text in TEXTS if (texts := _said(kind, new, old, rule)) != [text]] == []


def _said(kind: str, new: str, old: str | None, rule: str) -> list[str]:
    obj, before = ({"metadata": {"name": "x"}, "spec": yaml.safe_load(text)} if text is not None else None for text in (new, old))
    assert obj is not None
    return [hit.text for hit in judge(Review(kind, CREATE if old is None else UPDATE, obj, before, facts=FACTS)) if hit.rule.name == rule]


def _serving(name: str, model: str | None, replicas: int) -> dict[str, Any]:
    arguments = {} if model is None else {"args": ["--model", model]}
    pod = {"spec": {"containers": [{"name": "main", **arguments}]}}
    return {"name": name, "type": "worker", "replicas": replicas, "podTemplate": pod}


def test_a_stopped_worker_is_missed_where_no_other_may_serve_its_model() -> None:
    """A worker whose command line names no model may serve any."""
    for stopped, running, missed in (("m", "m", 0), ("m", "n", 1), ("m", None, 0), (None, "m", 0), (None, None, 0)):
        spec = {"components": [_serving("a", stopped, 0), _serving("b", running, 1)]}
        findings = judge(Review(DGD, CREATE, {"metadata": {"name": "g"}, "spec": spec}, facts=FACTS))
        assert [finding.path for finding in findings if finding.rule.name == "scale-to-zero-unroutable"] == [
            ("spec", "components", 0, "replicas")
        ] * missed
