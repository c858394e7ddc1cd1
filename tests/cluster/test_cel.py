"""The CEL rules judge offline as a real API server does, over good and bad values at every place where a rule stands."""

import copy
import itertools
from collections.abc import Iterator
from typing import Any, Final, NamedTuple, TypeAlias

import pytest

from dynamo_webhooks.api.kinds import ALPHA, BETA, BY_NAME, GROUP, list_kind_versions
from dynamo_webhooks.api.line import Line
from dynamo_webhooks.api.models import constraints, type_constraints
from dynamo_webhooks.api.models.constraints import Constraint
from dynamo_webhooks.api.paths import Key, Path, format_path
from dynamo_webhooks.api.schema import load_schema, resolve
from dynamo_webhooks.api.walk.admit import admit
from dynamo_webhooks.api.walk.default import default
from dynamo_webhooks.api.walk.rules import rule_of
from tests.api.test_cel import CASES
from tests.cluster.harness import ControlPlane, Reply

Node: TypeAlias = dict[str, Any]
POD: Final[Node] = {"spec": {"containers": [{"name": "main"}]}}
# The smallest object of a kind and version that no rule refuses; a value is put into a copy.
BASES: Final[dict[tuple[str, str], Node]] = {
    ("DynamoGraphDeployment", ALPHA): {"services": {"w": {}}},
    ("DynamoGraphDeployment", BETA): {"components": [{"name": "w", "type": "epp", "podTemplate": POD}]},
    ("DynamoComponentDeployment", ALPHA): {},
    ("DynamoComponentDeployment", BETA): {"name": "w", "type": "epp", "podTemplate": POD},
    ("DynamoCheckpoint", ALPHA): {"identity": {"model": "m", "backendFramework": "vllm"}, "job": {"podTemplateSpec": POD}},
}
VALUES: Final = {constraint.rule: (constraint, [*good, *bad]) for constraint, good, bad in CASES}
# Transitions have tests of their own; the creation of a graph is one.
_RESTART: Final = constraints.RESTART_ON_CREATE
VALUES[_RESTART.rule] = (_RESTART, [{}, {"restart": {"id": "x"}}])


class Site(NamedTuple):
    """A rule where it stands."""

    kind: str
    version: str
    path: Path
    rule: str

    def __str__(self) -> str:
        return f"{BY_NAME[self.kind].alias}-{self.version}-{format_path(self.path)}-{rule_of(self.rule).id}"


def sites(line: Line) -> list[Site]:
    """Every place of a rule, but for those that compare with the stored object."""
    found = [
        Site(kind, version, path, rule)
        for kind, version in list_kind_versions()
        for path, rule in _below(load_schema(kind, version, line), ())
    ]
    return [site for site in found if site.rule in VALUES]


def _below(node: Node, path: Path) -> Iterator[tuple[Path, str]]:
    yield from ((path, entry["rule"]) for entry in resolve(node).get("x-kubernetes-validations", ()))
    for name, member in node.get("properties", {}).items():
        yield from _below(member, (*path, name))
    for key, step in (("items", 0), ("additionalProperties", Key("w"))):
        if isinstance(node.get(key), dict):
            yield from _below(node[key], (*path, step))


def _object(site: Site, value: Any) -> Node:
    spec = copy.deepcopy(BASES[site.kind, site.version])
    if site.path[-1] == "labelKey":
        spec["experimental"] = {"kvTransferPolicy": {"domain": "z"}}
    part = spec["components"][0] if "components" in spec else spec.get("services", {}).get("w", spec)
    if site.path[-1] == "localPartitions":
        part["lpx"] = {"buildId": "b"}
    if "roles" in site.path:
        part["roles"] = [{"name": "leader", "podTemplate": copy.deepcopy(POD)}]
    obj: Node = {
        "apiVersion": f"{GROUP}/{site.version}",
        "kind": site.kind,
        "metadata": {"name": "t", "namespace": "default"},
        "spec": spec,
    }
    place: Any = obj
    for step, following in itertools.pairwise(site.path):
        if isinstance(step, str) and step not in place:
            place[step] = [None] if isinstance(following, int) else {}
        place = place[step]
    last: Any = site.path[-1]
    old = place[last] if isinstance(place, list) else place.get(last)
    place[last] = {**old, **copy.deepcopy(value)} if isinstance(old, dict) else copy.deepcopy(value)
    return obj


def collection(obj: Node) -> str:
    return f"/apis/{obj['apiVersion']}/namespaces/default/{BY_NAME[obj['kind']].plural}"


def says(reply: Reply, path: Path, constraint: Constraint) -> bool:
    """Whether the server found the rule broken there; a rule that it could not evaluate is quoted instead of its message."""
    causes = [cause["message"] for cause in (reply.body.get("details") or {}).get("causes", []) if cause.get("field") == format_path(path)]
    return any(constraint.message in message or constraint.rule in message for message in causes)


def agree(plane: ControlPlane, site: Site, line: Line, *, alone: bool) -> None:
    """Tries the rule's values at its place; where nobody else judges (`alone`), all causes are the same."""
    constraint, values = VALUES[site.rule]
    judged = set()
    for value in values:
        obj = _object(site, value)
        reply = plane.request("POST", collection(obj) + "?dryRun=All", obj)
        offline = admit(copy.deepcopy(obj), site.kind, site.version, line=line)
        refused = any(error.rule == constraint.id and error.path == site.path for error in offline.errors)
        assert says(reply, site.path, constraint) == refused, (value, reply.body)
        assert not alone or {(error.field, error.reason.value) for error in offline.errors} == reply.causes(), (value, reply.body)
        judged.add(refused)
    assert judged == {True, False}, "the rule needs good and bad values"


@pytest.mark.parametrize("site", sites(Line.V1_2), ids=str)
def test_rules_agree_with_the_api_server(site: Site, request: pytest.FixtureRequest) -> None:
    agree(request.getfixturevalue("beta" if site.version == BETA else "alpha"), site, Line.V1_2, alone=True)


def test_every_rule_has_a_site() -> None:
    tried = {site.rule for line in Line for site in sites(line)}
    of_updates = {constraints.CKPT_IDENTITY_IMMUTABLE.rule, constraints.MIN_AVAILABLE_KEPT.rule}
    of_updates |= {each.rule for each in type_constraints.ALL if each.id == "cel-type-immutable"}
    assert tried | of_updates == {constraint.rule for constraint in type_constraints.ALL}


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
    holds = rule_of(constraint.rule).broken(new, stored.body, False) is None
    assert reply.status == (200 if holds else 422), reply.body
    messages = [cause["message"] for cause in (reply.body.get("details") or {}).get("causes", [])]
    assert any(constraint.message in message for message in messages) != holds


def _checkpoint(namespace: str, identity: Node | None) -> Node:
    obj: Node = {"apiVersion": f"{GROUP}/v1alpha1", "kind": "DynamoCheckpoint", "metadata": {"name": "t", "namespace": namespace}}
    if identity is not None:
        obj["spec"] = {"identity": {"backendFramework": "vllm", **identity}, "job": {"podTemplateSpec": POD}}
    return obj
