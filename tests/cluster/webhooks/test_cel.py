"""The definitions of each line on a real API server, which prices their rules, and judges as the offline walk does that `check` and our
servers use: CEL rules over good and bad values at every place where one stands, and generated objects, valid and damaged.

What `check` makes of it, in which stage and with which words and warnings, test_check_agrees.py compares.
"""

import contextlib
import copy
import itertools
import json
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from functools import cache, partial
from pathlib import Path as File
from typing import Any, Final, NamedTuple, TypeAlias

import pytest

from dynamo_webhooks.api.crd import build
from dynamo_webhooks.api.kinds import ALPHA, BETA, BY_NAME, GROUP, KINDS, list_kind_versions
from dynamo_webhooks.api.line import OLDEST, Line
from dynamo_webhooks.api.models import constraints
from dynamo_webhooks.api.models.constraints import Constraint
from dynamo_webhooks.api.paths import Key, Path, format_path
from dynamo_webhooks.api.schema import load_schema, resolve
from dynamo_webhooks.api.walk.default import default
from dynamo_webhooks.api.walk.metadata import metadata_type_errors
from dynamo_webhooks.api.walk.validate import rule_of
from tests.api.admit import admit
from tests.api.test_cel import CASES
from tests.cluster.generated import Dice
from tests.cluster.harness import ControlPlane, Reply, control_plane
from tests.cluster.objects import checkpoint, make, path_of

Node: TypeAlias = dict[str, Any]
Planes: TypeAlias = Callable[[Line], ControlPlane]
MOST: Final = 300  # objects of a kind and version on the oldest line, half of them damaged
MANY: Final = 46  # on any other, which makes 500 a line
SEED: Final = "2026-11-21"
_SERVERS_OWN: Final = ("managedFields", "uid", "creationTimestamp", "generation", "namespace")
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


# each line with the sites that it adds
SITES: Final = [
    *((OLDEST, site) for site in sites(OLDEST)),
    *((line, site) for before, line in itertools.pairwise(Line) for site in sites(line) if site not in sites(before)),
]


@pytest.fixture(scope="module")
def planes(assets: File, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Planes]:
    """An API server with the definitions of a line, each started once; nothing is registered, and nothing converts."""
    with contextlib.ExitStack() as stack:

        @cache
        def start(line: Line) -> ControlPlane:
            found = stack.enter_context(control_plane(assets, tmp_path_factory.mktemp("line")))
            found.install(*(build(kind.name, line=line) for kind in KINDS if kind.is_of(line)))
            return found

        yield start


@pytest.mark.parametrize(("line", "site"), SITES, ids=str)
def test_rules_of_a_line_judge_as_the_api_server(planes: Planes, line: Line, site: Site) -> None:
    agree(planes(line), site, line, alone=line is OLDEST)


def test_every_rule_has_a_site() -> None:
    tried = {site.rule for line in Line for site in sites(line)}
    of_updates = {constraints.CKPT_IDENTITY_IMMUTABLE.rule, constraints.MIN_AVAILABLE_KEPT.rule}
    of_updates |= {each.rule for each in constraints.ALL if each.id == "cel-type-immutable"}
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
def test_the_transition_rule_agrees_with_the_api_server(planes: Planes, before: Node | None, after: Node | None) -> None:
    alpha = planes(OLDEST)
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
    spec = identity and {"identity": {"backendFramework": "vllm", **identity}, "job": {"podTemplateSpec": POD}}
    return make("CKPT", ALPHA, namespace, spec)


class Said(NamedTuple):
    """What somebody says of an object; of one that isn't even decoded, nothing more."""

    decoded: bool
    causes: frozenset[tuple[str, str]] = frozenset()
    stored: str = ""


def _by_walk(line: Line, obj: Node) -> Said:
    kind, version = obj["kind"], obj["apiVersion"].rpartition("/")[2]
    if [*metadata_type_errors(obj, load_schema(kind, version, line))]:
        return Said(decoded=False)
    answer = admit(copy.deepcopy(obj), kind, version, line=line)
    causes = frozenset((error.field, error.reason.value) for error in answer.errors)
    return Said(True, causes, "" if causes else _text(answer.object))


def _by_server(plane: ControlPlane, obj: Node) -> Said:
    """What the API server says: 201 with the object, 422 with causes, or 400 for what it could not decode."""
    path = f"/apis/{obj['apiVersion']}/namespaces/default/{BY_NAME[obj['kind']].plural}"
    reply = plane.request("POST", f"{path}?dryRun=All&fieldValidation=Warn", obj)
    assert reply.status in (201, 400, 422), reply.body
    if reply.status == 400:
        return Said(decoded=False)
    causes = (reply.body.get("details") or {}).get("causes", []) if reply.status == 422 else []
    said = frozenset((cause.get("field", ""), cause.get("reason", "")) for cause in causes)
    return Said(True, said, _text(reply.body) if reply.status == 201 else "")


def _text(obj: Node) -> str:
    """An object in one spelling, without what a server adds of its own."""
    metadata = {name: value for name, value in obj["metadata"].items() if name not in _SERVERS_OWN}
    return json.dumps(_whole({**obj, "metadata": metadata}), sort_keys=True)


def _whole(value: Any) -> Any:
    """A value with whole numbers as integers, and what is no 64-bit integer rounded, as readers and writers of JSON in Go have them."""
    if isinstance(value, dict):
        return {name: _whole(item) for name, item in value.items()}
    if isinstance(value, list):
        return [_whole(item) for item in value]
    if isinstance(value, int) and abs(value) >= 2**63:
        return float(value)
    return int(value) if isinstance(value, float) and value.is_integer() and abs(value) < 2**63 else value


def _agree_on_objects(plane: ControlPlane, kind: str, version: str, line: Line, *, stored: bool = True) -> list[Said]:
    """What the server says of so many objects, half of them damaged; of a version that isn't `stored`, all but what would be stored."""
    dice, many = Dice(f"{SEED} {kind} {version}"), MOST if line is OLDEST else MANY
    objs = [dice.object(kind, version, number, line) for number in range(many // 2)]
    objs += [dice.damaged(obj) for obj in objs]
    with ThreadPoolExecutor(4) as pool:
        replies = list(pool.map(partial(_by_server, plane), objs))
    looked_at = 3 if stored else 2
    walked = [_by_walk(line, obj) for obj in objs]
    wrong = [(obj, walk, said) for obj, walk, said in zip(objs, walked, replies, strict=True) if walk[:looked_at] != said[:looked_at]]
    assert not wrong, f"{len(wrong)} of {many} differ, first {json.dumps(wrong[0][0])}: the walk {wrong[0][1]}, the server {wrong[0][2]}"
    return replies


@pytest.mark.parametrize("line", Line)
def test_generated_objects_are_judged_as_by_the_api_server(planes: Planes, line: Line) -> None:
    plane = planes(line)
    pairs = [(kind, version.name) for kind in KINDS if kind.is_of(line) for version in kind.versions]
    replies = [said for kind, name in pairs for said in _agree_on_objects(plane, kind.name, name, line, stored=kind.stored(line) == name)]
    assert len(replies) > 450
    assert len(replies) / 10 < sum(not said.causes for said in replies if said.decoded) < len(replies) * 0.9


@pytest.mark.parametrize("line", Line)
def test_a_kind_that_is_gone_is_unknown(planes: Planes, line: Line) -> None:
    """E29."""
    obj = checkpoint("default")
    assert planes(line).request("POST", f"{path_of(obj)}?dryRun=All", obj).status == (404 if line >= Line.V1_5 else 201)
