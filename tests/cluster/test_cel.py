"""The Python twins of the CEL rules judge as a real API server does, over good and bad values at every place where a rule stands."""

from __future__ import annotations

import copy
import itertools
from typing import TYPE_CHECKING, Any, TypeAlias

import pytest

from dynamo_webhooks.api.cel import EvaluationError, twin_of
from dynamo_webhooks.api.kinds import BETA, BY_NAME, GROUP
from dynamo_webhooks.api.models import constraints
from dynamo_webhooks.api.paths import lookup, render
from dynamo_webhooks.api.schema import load_schema
from dynamo_webhooks.api.walk import admit, default
from tests.cluster.cel_sites import BASES, POD, SITES, SITES_1_5, Site

if TYPE_CHECKING:
    from dynamo_webhooks.api.models.constraints import Constraint
    from dynamo_webhooks.api.paths import Path
    from tests.cluster.harness import ControlPlane, Reply

Node: TypeAlias = dict[str, Any]


def _object(site: Site, value: Any) -> Node:
    obj: Node = {
        "apiVersion": f"{GROUP}/{site.version}",
        "kind": site.kind,
        "metadata": {"name": "t", "namespace": "default"},
        "spec": copy.deepcopy(BASES[site.kind, site.version]),
    }
    if site.path[-1] == "labelKey":
        obj["spec"]["experimental"] = {"kvTransferPolicy": {"domain": "z"}}
    _put(obj, site.path, copy.deepcopy(value))
    return obj


def _put(place: Any, path: Path, value: Any) -> None:
    for step, following in itertools.pairwise(path):
        if isinstance(step, str) and step not in place:
            place[step] = [None] if isinstance(following, int) else {}
        place = place[step]
    place[path[-1]] = value


def collection(obj: Node) -> str:
    return f"/apis/{obj['apiVersion']}/namespaces/default/{BY_NAME[obj['kind']].plural}"


def says(reply: Reply, path: Path, constraint: Constraint) -> bool:
    """Whether the server found the rule broken there; a rule that it could not evaluate is quoted instead of its message."""
    causes = [cause["message"] for cause in (reply.body.get("details") or {}).get("causes", []) if cause.get("field") == render(path)]
    return any(constraint.message in message or constraint.rule in message for message in causes)


def _twin_refuses(obj: Node, site: Site, constraint: Constraint) -> bool:
    defaulted = copy.deepcopy(obj)
    default(defaulted, load_schema(site.kind, site.version))
    try:
        return not twin_of(constraint.rule).holds(lookup(defaulted, site.path), None)
    except EvaluationError:
        return True


@pytest.mark.parametrize("site", SITES, ids=lambda site: f"{BY_NAME[site.kind].alias}-{site.version}-{render(site.path)}")
def test_twins_agree_with_the_api_server(site: Site, request: pytest.FixtureRequest) -> None:
    plane: ControlPlane = request.getfixturevalue("beta" if site.version == BETA else "alpha")
    judged: dict[str, set[bool]] = {constraint.rule: set() for constraint in site.rules}
    for value in site.values:
        obj = _object(site, value)
        reply = plane.request("POST", collection(obj) + "?dryRun=All", obj)
        for constraint in site.rules:
            refused = _twin_refuses(obj, site, constraint)
            assert says(reply, site.path, constraint) == refused, (constraint.id, value, reply.body)
            judged[constraint.rule].add(refused)
        offline = admit(copy.deepcopy(obj), site.kind, site.version)
        assert {(error.field, error.reason.value) for error in offline.errors} == reply.causes(), (value, reply.body)
    assert all(seen == {True, False} for seen in judged.values()), f"each rule needs good and bad values: {judged}"


def test_every_rule_has_a_site() -> None:
    tried = {constraint.rule for site in (*SITES, *SITES_1_5) for constraint in site.rules}
    of_updates = {constraints.CKPT_IDENTITY_IMMUTABLE.rule, constraints.MIN_AVAILABLE_KEPT.rule}
    assert tried | of_updates == {constraint.rule for constraint in constraints.ALL}


@pytest.mark.parametrize(
    ("before", "after"),
    [
        pytest.param({"model": "m"}, {"model": "m"}, id="same"),
        pytest.param({"model": "m"}, {"model": "n"}, id="changed"),
        pytest.param({"model": "m"}, {"model": "m", "dtype": "bf16"}, id="grown"),
        pytest.param({"model": "m", "tensorParallelSize": 1}, {"model": "m"}, id="default-left-out"),
        pytest.param({"model": "m"}, None, id="spec-removed"),
        pytest.param(None, {"model": "m"}, id="spec-added"),
    ],
)
def test_the_transition_rule_agrees_with_the_api_server(alpha: ControlPlane, before: Node | None, after: Node | None) -> None:
    namespace = alpha.namespace()
    collection = f"/apis/{GROUP}/v1alpha1/namespaces/{namespace}/dynamocheckpoints"
    old, new = (_checkpoint(namespace, identity) for identity in (before, after))
    stored = alpha.request("POST", collection, old)
    assert stored.status == 201, stored.body

    updated = copy.deepcopy(stored.body)
    updated.pop("spec", None)
    updated |= {"spec": new["spec"]} if "spec" in new else {}
    reply = alpha.request("PUT", f"{collection}/t?dryRun=All", updated)

    default(new, load_schema("DynamoCheckpoint", "v1alpha1"))
    constraint = constraints.CKPT_IDENTITY_IMMUTABLE
    holds = twin_of(constraint.rule).holds(new, stored.body)
    assert reply.status == (200 if holds else 422), reply.body
    messages = [cause["message"] for cause in (reply.body.get("details") or {}).get("causes", [])]
    assert any(constraint.message in message for message in messages) != holds


def _checkpoint(namespace: str, identity: Node | None) -> Node:
    obj: Node = {"apiVersion": f"{GROUP}/v1alpha1", "kind": "DynamoCheckpoint", "metadata": {"name": "t", "namespace": namespace}}
    if identity is not None:
        obj["spec"] = {"identity": {"backendFramework": "vllm", **identity}, "job": {"podTemplateSpec": POD}}
    return obj
