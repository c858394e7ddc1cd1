"""The definitions of each line on a real API server, which prices their rules, and judges as the offline walk does that `check` and our
servers use: CEL rules over good and bad values at every place where one stands, and generated objects, valid and damaged.

What `check` makes of it, in which stage and with which words and warnings, test_check_agrees.py compares.
"""

import copy
import itertools
import json
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from typing import Any, Final, NamedTuple, TypeAlias

import pytest

from dynamo_webhooks.api.crd import build
from dynamo_webhooks.api.kinds import ALPHA, BETA, BY_NAME, GAMMA, GROUP, KINDS, list_kind_versions
from dynamo_webhooks.api.line import OLDEST, Line
from dynamo_webhooks.api.models import constraints
from dynamo_webhooks.api.models.constraints import Constraint
from dynamo_webhooks.api.paths import MISSING, Key, Path, format_path
from dynamo_webhooks.api.schema import load_schema, resolve
from dynamo_webhooks.api.walk.metadata import metadata_type_errors
from dynamo_webhooks.api.walk.validate import rule_of
from tests.api.admit import admit
from tests.api.test_cel import CASES, NATIVE
from tests.cluster.cli.test_yaml_scalars import spelt
from tests.cluster.definitions import install
from tests.cluster.generated import Dice
from tests.cluster.harness import ControlPlane, Reply
from tests.cluster.objects import checkpoint, path_of
from tests.cluster.planes import Planes

Node: TypeAlias = dict[str, Any]
MAX_OBJECTS: Final = 300  # objects of a kind and version on the oldest line, half of them damaged
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
_, STATUSES = VALUES.pop(constraints.REQUEST_STATUS.rule)  # no creation writes a status


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
    places = [
        Site(kind, version, path, rule)
        for kind, version in list_kind_versions(line)
        for path, rule in _below(load_schema(kind, version, line), ())
    ]
    return [site for site in places if site.rule in VALUES]


def _below(node: Node, path: Path) -> Iterator[tuple[Path, str]]:
    yield from ((path, entry["rule"]) for entry in resolve(node).get("x-kubernetes-validations", ()))
    for name, member in node.get("properties", {}).items():
        yield from _below(member, (*path, name))
    for key, step in (("items", 0), ("additionalProperties", Key("w"))):
        if isinstance(node.get(key), dict):
            yield from _below(node[key], (*path, step))


def _object(site: Site, value: Any) -> Node:
    spec = copy.deepcopy(BASES.get((site.kind, site.version), {}))
    if site.version == GAMMA and len(site.path) > 1:
        spec = {name: copy.deepcopy(member) for name, member in NATIVE.items() if name != site.path[1] or site.path[-1] == "sla"}
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
    field = format_path(path) or "<nil>"
    causes = [cause["message"] for cause in (reply.body.get("details") or {}).get("causes", []) if cause.get("field") == field]
    return any(constraint.message in message or constraint.rule in message for message in causes)


class Defined(NamedTuple):
    """An API server with the definitions of a line; nothing is registered, and nothing converts."""

    line: Line
    plane: ControlPlane


def disagreements(defined: Defined, site: Site, *, alone: bool) -> Iterator[str]:
    """Tries the rule's values at its place; where nobody else judges (`alone`), all causes are the same."""
    constraint, values = VALUES[site.rule]
    judged = set()
    for value in values:
        obj = _object(site, value)
        reply = defined.plane.request("POST", collection(obj) + "?dryRun=All", obj)
        offline = admit(copy.deepcopy(obj), site.kind, site.version, line=defined.line)
        refused = any(error.rule == constraint.id and error.path == site.path for error in offline.errors)
        if says(reply, site.path, constraint) != refused:
            yield f"{value} is {'refused' if refused else 'accepted'} offline: {reply.body}"
        if alone and {(error.field, error.reason.value) for error in offline.errors} != reply.causes():
            yield f"{value} has other causes than offline: {reply.body}"
        judged.add(refused)
    if judged != {True, False}:
        yield "the rule needs good and bad values"


def added_sites(line: Line) -> list[Site]:
    """The sites that a line adds to those of the line before it."""
    before = {line: last for last, line in itertools.pairwise(Line)}
    known = sites(before[line]) if line in before else []
    return [site for site in sites(line) if site not in known]


@pytest.fixture(scope="module", params=Line)
def defined(request: pytest.FixtureRequest, planes: Planes) -> Iterator[Defined]:
    line: Line = request.param
    with planes.lend() as plane:
        install(plane, *(build(kind.name, line=line) for kind in KINDS if kind.is_of(line)))
        yield Defined(line, plane)


def test_rules_of_a_line_judge_as_the_api_server(defined: Defined) -> None:
    """At each site that the line adds."""
    tried = added_sites(defined.line)
    assert tried or defined.line is Line.V1_5, "of all lines, that one alone adds no site"
    wrong = [f"{site}: {text}" for site in tried for text in disagreements(defined, site, alone=defined.line is OLDEST)]
    assert not wrong, f"{len(wrong)} differ\n" + "\n".join(wrong)


def test_every_rule_has_a_site() -> None:
    tried = {site.rule for line in Line for site in sites(line)}
    of_updates = {constraints.CKPT_IDENTITY_IMMUTABLE.rule, constraints.MIN_AVAILABLE_KEPT.rule}
    of_updates |= {constraints.SPEC_IMMUTABLE.rule, constraints.REQUEST_STATUS.rule}
    of_updates |= {each.rule for each in constraints.ALL if each.id == "cel-type-immutable"}
    assert tried | of_updates == {constraint.rule for constraint in constraints.ALL}


class Transition(NamedTuple):
    """A rule that compares with the stored object, on a line, and the specs before and after writes; None where there is none."""

    line: Line
    constraint: Constraint
    kind: str
    version: str
    path: Path
    writes: tuple[tuple[Node | None, Node | None], ...]


def _checkpoint(**identity: Any) -> Node:
    return {"identity": {"backendFramework": "vllm", **identity}, "job": {"podTemplateSpec": POD}}


def _kept(first: Node | None, other: Node | None) -> tuple[tuple[Node | None, Node | None], ...]:
    return (first, first), (first, other), (other, other)


_MODEL: Final = _checkpoint(model="m")
TRANSITIONS: Final = (
    Transition(
        Line.V1_2,
        constraints.CKPT_IDENTITY_IMMUTABLE,
        "DynamoCheckpoint",
        ALPHA,
        (),
        (
            *_kept(_MODEL, _checkpoint(model="n")),
            (_MODEL, _checkpoint(model="m", dtype="bf16")),
            (_checkpoint(model="m", tensorParallelSize=1), _MODEL),  # a default is left out
            (_MODEL, None),
            (None, _MODEL),
        ),
    ),
    Transition(
        Line.V1_4,  # the last one that stores v1alpha1
        constraints.MIN_AVAILABLE_KEPT,
        "DynamoGraphDeployment",
        ALPHA,
        ("spec", "services", Key("w")),
        _kept(*({"services": {"w": {"minAvailable": least, "replicas": 3}}} for least in (1, 2))),
    ),
    Transition(
        Line.V1_5,
        constraints.MIN_AVAILABLE_KEPT,
        "DynamoGraphDeployment",
        BETA,
        ("spec", "components", 0),
        _kept(*({"components": [{"name": "w", "minAvailable": least, "replicas": 3}]} for least in (1, 2))),
    ),
    *(
        Transition(Line.V1_7, constraints.SPEC_IMMUTABLE, f"DynamoGraphDeployment{kind}", GAMMA, (), _kept({"a": 1}, {"a": 2}))
        for kind in ("Run", "Candidate")
    ),
)


def test_rules_that_compare_judge_as_the_api_server(defined: Defined) -> None:
    tried = [each for each in TRANSITIONS if each.line is defined.line]
    wrong = [f"{each.constraint.id} of {each.kind} {each.version}: {text}" for each in tried for text in _transition_differs(defined, each)]
    assert not wrong, "\n".join(wrong)


def _transition_differs(defined: Defined, of: Transition) -> Iterator[str]:
    judged = set()
    for number, (before, after) in enumerate(of.writes):
        named = {
            "apiVersion": f"{GROUP}/{of.version}",
            "kind": of.kind,
            "metadata": {"name": f"transition-{number}", "namespace": "default"},
        }
        stored = defined.plane.request("POST", collection(named), _with_spec(named, before)).done()
        written = _with_spec(stored, after)
        reply = defined.plane.request("PUT", f"{collection(named)}/transition-{number}?dryRun=All", written)
        errors = admit(copy.deepcopy(written), of.kind, of.version, copy.deepcopy(stored), of.line).errors
        refused = any((error.rule, error.path) == (of.constraint.id, of.path) for error in errors)
        if says(reply, of.path, of.constraint) != refused or (not refused and reply.status != 200):
            yield f"{after} after {before} is {'refused' if refused else 'accepted'} offline: {reply.body}"
        defined.plane.request("DELETE", f"{collection(named)}/transition-{number}").done()
        judged.add(refused)
    if judged != {True, False}:
        yield "the rule needs good and bad writes"


def _with_spec(obj: Node, spec: Node | None) -> Node:
    others = {name: value for name, value in obj.items() if name != "spec"}
    return others if spec is None else {**others, "spec": spec}


@pytest.mark.parametrize("defined", [Line.V1_7], indirect=True)
def test_a_status_is_judged_as_the_api_server(defined: Defined) -> None:
    obj = {"apiVersion": f"{GROUP}/{GAMMA}", "kind": "DynamoGraphDeploymentRequest", "metadata": {"name": "status", "namespace": "default"}}
    stored = defined.plane.request("POST", collection(obj), _with_spec(obj, NATIVE)).done()
    for value in STATUSES:
        reply = defined.plane.request("PUT", f"{collection(obj)}/status/status?dryRun=All", {**stored, "status": value})
        broken = rule_of(constraints.REQUEST_STATUS.rule).broken(value, MISSING, False) is not None
        assert says(reply, ("status",), constraints.REQUEST_STATUS) == broken, (value, reply.body)


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
    faults = frozenset((cause.get("field", ""), cause.get("reason", "")) for cause in causes)
    return Said(True, faults, _text(reply.body) if reply.status == 201 else "")


def _text(obj: Node) -> str:
    """An object in one spelling, without what a server adds of its own."""
    metadata = {name: value for name, value in obj["metadata"].items() if name not in _SERVERS_OWN}
    return spelt({**obj, "metadata": metadata})


def _agree_on_objects(plane: ControlPlane, kind: str, version: str, line: Line, *, stored: bool = True) -> list[Said]:
    """What the server says of so many objects, half of them damaged; of a version that isn't `stored`, all but what would be stored."""
    dice, many = Dice(f"{SEED} {kind} {version}"), MAX_OBJECTS if line is OLDEST else MANY
    objs = [dice.object(kind, version, number, line) for number in range(many // 2)]
    objs += [dice.damaged(obj) for obj in objs]
    with ThreadPoolExecutor(4) as pool:
        replies = list(pool.map(partial(_by_server, plane), objs))
    looked_at = 3 if stored else 2
    walked = [_by_walk(line, obj) for obj in objs]
    wrong = [(obj, walk, reply) for obj, walk, reply in zip(objs, walked, replies, strict=True) if walk[:looked_at] != reply[:looked_at]]
    assert not wrong, f"{len(wrong)} of {many} differ, first {json.dumps(wrong[0][0])}: the walk {wrong[0][1]}, the server {wrong[0][2]}"
    return replies


def test_generated_objects_are_judged_as_by_the_api_server(defined: Defined) -> None:
    plane, line = defined.plane, defined.line
    pairs = [(kind, version.name) for kind in KINDS if kind.is_of(line) for version in kind.of_line(line)]
    replies = [reply for kind, name in pairs for reply in _agree_on_objects(plane, kind.name, name, line, stored=kind.stored(line) == name)]
    assert len(replies) > 450
    assert len(replies) / 10 < sum(not reply.causes for reply in replies if reply.decoded) < len(replies) * 0.9


def test_a_kind_that_is_gone_is_unknown(defined: Defined) -> None:
    """E29."""
    obj = checkpoint("default")
    reply = defined.plane.request("POST", f"{path_of(obj)}?dryRun=All", obj)
    assert reply.status == (404 if defined.line >= Line.V1_5 else 201)
