"""`check` says of generated objects, valid and damaged, what a real API server says: decoded, pruned, defaulted, schema, CEL rules."""

from __future__ import annotations

import contextlib
import copy
import http.client
import json
import re
import ssl
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING, Any, Final, NamedTuple, TypeAlias

import pytest

from dynamo_webhooks.api.cel import twin_of
from dynamo_webhooks.api.kinds import BY_NAME, pairs
from dynamo_webhooks.api.models.constraints import ALL
from dynamo_webhooks.api.paths import render
from dynamo_webhooks.api.schema import load_schema
from dynamo_webhooks.api.walk import admit
from dynamo_webhooks.api.walk.errors import NOWHERE
from dynamo_webhooks.api.walk.object_meta import metadata_type_errors
from dynamo_webhooks.api.walk.validate import HINT
from dynamo_webhooks.cli.check.objects import objects
from dynamo_webhooks.cli.check.pipeline import Settings, check_object
from dynamo_webhooks.cli.check.record import CEL, ERROR, SCHEMA, UNKNOWN_FIELD
from dynamo_webhooks.cli.main import main
from dynamo_webhooks.cli.yaml.load import load
from dynamo_webhooks.policies.facts import Facts
from dynamo_webhooks.policies.review import CREATE
from tests.cluster.agreeing import dotted
from tests.cluster.generated import Dice
from tests.cluster.harness import ADMIN, TOKENS

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from tests.cluster.harness import ControlPlane

Node: TypeAlias = dict[str, Any]
MANY: Final = 300  # objects of a kind and version, half of them damaged
SEED: Final = "2026-11-21"
_SERVERS_OWN: Final = ("managedFields", "uid", "creationTimestamp", "generation", "namespace")
_UNKNOWN: Final = re.compile(r'unknown field "(.*)"')
# What the dice may miss: one rule is for updates alone, the others are rare in graphs. `test_cel.py` asks about each rule by itself.
_RARE: Final = {"DynamoCheckpoint": {"cel-ckpt-identity-immutable"}, "DynamoGraphDeployment": {"cel-ckpt-source", "cel-one-epp"}}
_RULES: Final = tuple(constraint.message for constraint in ALL)


class Said(NamedTuple):
    """What somebody says of an object, stage by stage; of one that isn't even decoded, nothing more."""

    decoded: bool
    dropped: frozenset[str] = frozenset()
    causes: frozenset[tuple[str, str]] = frozenset()
    rules: frozenset[str] = frozenset()  # fields of broken CEL rules
    stored: str = ""


INSTALLED_LINE: Final = Facts(operatorVersion="1.2.0")  # that of the definitions in the control planes


def _by_check(obj: Node, kind: str, version: str) -> Said:
    """What the command says of the object's text, and what is left of it after the same walk."""
    (found,) = objects(load(json.dumps(obj, ensure_ascii=False)))
    findings = check_object(found, CREATE, None, Settings(INSTALLED_LINE, defaults=False)).findings
    undecodable = {dotted(error.field) for error in metadata_type_errors(obj, load_schema(kind, version))}
    if undecodable:
        assert undecodable <= {dotted(finding.path) for finding in findings if finding.level == ERROR}
        return Said(decoded=False)
    answer = admit(copy.deepcopy(obj), kind, version)
    errors = [error for error in answer.errors if HINT not in error.message]
    placed = {error.path: error.field for error in errors if error.field != NOWHERE}  # what sums others up is told with them
    shown = {placed.get(error.path) or render(error.path) if error.field == NOWHERE else error.field for error in errors}
    shown = {dotted(field) for field in shown}
    assert {dotted(finding.path) for finding in findings if finding.stage in (SCHEMA, CEL)} == shown
    return Said(
        True,
        frozenset(dotted(finding.path) for finding in findings if finding.rule == UNKNOWN_FIELD.name),
        frozenset((error.field, error.reason.value) for error in answer.errors),
        frozenset(dotted(finding.path) for finding in findings if finding.stage == CEL),
        "" if answer.errors else _text(answer.object),
    )


def _by_server(status: int, body: Node, warnings: list[str]) -> Said:
    """What the API server says: 201 with the object, 422 with causes, or 400 for what it could not decode."""
    assert status in (201, 400, 422), body
    if status == 400:
        return Said(decoded=False)
    causes = (body.get("details") or {}).get("causes", []) if status == 422 else []
    return Said(
        True,
        frozenset(dotted(field) for warning in warnings for field in _UNKNOWN.findall(warning)),
        frozenset((cause.get("field", ""), cause.get("reason", "")) for cause in causes),
        frozenset(dotted(cause["field"]) for cause in causes if any(rule in cause["message"] for rule in _RULES)),
        _text(body) if status == 201 else "",
    )


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


def _asked(plane: ControlPlane, objs: list[Node]) -> Iterator[Said]:
    """Asks for a dry-run create of each object over one connection."""
    context = ssl.create_default_context(cafile=str(plane.ca))
    connection = http.client.HTTPSConnection("127.0.0.1", plane.port, context=context, timeout=60)
    headers = {"Authorization": f"Bearer {TOKENS[ADMIN][0]}", "Content-Type": "application/json"}
    with contextlib.closing(connection):
        for obj in objs:
            path = f"/apis/{obj['apiVersion']}/namespaces/default/{BY_NAME[obj['kind']].plural}"
            connection.request("POST", f"{path}?dryRun=All&fieldValidation=Warn", json.dumps(obj), headers)
            answer = connection.getresponse()
            texts = [json.loads(text.split(" ", 2)[2]) for text in answer.headers.get_all("Warning", [])]
            yield _by_server(answer.status, json.loads(answer.read()), texts)


@pytest.mark.parametrize(("kind", "version"), pairs())
def test_check_and_the_api_server_agree(kind: str, version: str, request: pytest.FixtureRequest) -> None:
    planes: list[ControlPlane] = [request.getfixturevalue(name) for name in ("alpha", "beta")]
    plane = next(plane for plane in planes if (kind, f"nvidia.com/{version}") in plane.versions())
    dice = Dice(f"{SEED} {kind} {version}")
    objs = [dice.object(kind, version, number) for number in range(MANY // 2)]
    objs += [dice.damaged(obj) for obj in objs]

    offline = [_by_check(obj, kind, version) for obj in objs]
    with ThreadPoolExecutor(4) as pool:
        parts = [pool.submit(lambda part: list(_asked(plane, part)), objs[start::4]) for start in range(4)]
        replies: list[Any] = [None] * len(objs)
        for start, part in enumerate(parts):
            replies[start::4] = part.result()

    wrong = [(obj, ours, theirs) for obj, ours, theirs in zip(objs, offline, replies, strict=True) if ours != theirs]
    assert not wrong, f"{len(wrong)} of {len(objs)} differ, first {json.dumps(wrong[0][0])}:\n" + "\n".join(_difference(*wrong[0][1:]))
    broken = {error.rule for obj in objs for error in admit(copy.deepcopy(obj), kind, version).errors}
    assert _rules(load_schema(kind, version)) - broken <= _RARE.get(kind, set()), "the dice break too few rules to tell anything"
    accepted = sum(bool(said.stored) for said in replies)
    assert len(objs) / 10 < accepted < len(objs)
    assert sum(bool(said.causes) for said in replies) > len(objs) / 20
    assert sum(bool(said.dropped) for said in replies) > 10


def _rules(node: Node) -> set[str]:
    """The ids of the CEL rules that a schema carries anywhere."""
    children = [*node.get("properties", {}).values(), node.get("items"), node.get("additionalProperties")]
    own = {twin_of(entry["rule"]).id for entry in node.get("x-kubernetes-validations", ())}
    return own.union(*(_rules(child) for child in children if isinstance(child, dict)))


def _difference(ours: Said, theirs: Said) -> list[str]:
    return [f"{name}: check {mine}, server {yours}" for name, mine, yours in zip(Said._fields, ours, theirs, strict=True) if mine != yours]


@pytest.mark.parametrize(
    ("text", "status"),
    [
        ('{"replicas": 1, "replicas": 2, "dgdRef": {"name": "g", "serviceName": "s"}}', 400),
        ('{"replicas": 1, "dgdRef": {"name": "g", "serviceName": "s", "name": "h"}}', 400),
        ('{"replicas": 1, "dgdRef": {"name": "g", "serviceName": "s"}', 400),
        ('{"replicas": 1, "dgdRef": {"name": "g", "serviceName": "s"}, "more": 1}', 400),
        ('{"replicas": 1, "dgdRef": {"name": "g", "serviceName": "s"}}', 201),
    ],
)
def test_texts_are_refused_alike(alpha: ControlPlane, tmp_path: Path, text: str, status: int) -> None:
    """A strict server refuses to decode what `check --strict` refuses to read: doubled and unknown fields, and what is cut off."""
    kind = "DynamoGraphDeploymentScalingAdapter"
    whole = f'{{"apiVersion": "nvidia.com/v1alpha1", "kind": "{kind}", "metadata": {{"name": "t"}}, "spec": {text}}}'
    context = ssl.create_default_context(cafile=str(alpha.ca))
    connection = http.client.HTTPSConnection("127.0.0.1", alpha.port, context=context, timeout=60)
    headers = {"Authorization": f"Bearer {TOKENS[ADMIN][0]}", "Content-Type": "application/json"}
    with contextlib.closing(connection):
        path = f"/apis/nvidia.com/v1alpha1/namespaces/default/{BY_NAME[kind].plural}?dryRun=All&fieldValidation=Strict"
        connection.request("POST", path, whole, headers)
        answer = connection.getresponse()
        assert answer.status == status, answer.read()
    (tmp_path / "t.json").write_text(whole)
    assert (main(["check", "--strict", "-q", str(tmp_path / "t.json")]) == 0) is (status == 201)
