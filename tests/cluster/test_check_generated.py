"""The walk that `check` and our servers use comes with generated objects, valid and damaged, to what a real API server says of them.

What `check` makes of it, in which stage and with which words and warnings, test_check_agrees.py compares.
"""

import copy
import json
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path
from typing import Any, Final, NamedTuple, TypeAlias

import pytest

from dynamo_webhooks.api.kinds import BY_NAME, list_kind_versions
from dynamo_webhooks.api.line import OLDEST, Line
from dynamo_webhooks.api.schema import load_schema
from dynamo_webhooks.api.walk.admit import admit
from dynamo_webhooks.api.walk.metadata import metadata_type_errors
from dynamo_webhooks.cli.main import main
from tests.cluster.generated import Dice
from tests.cluster.harness import ControlPlane

Node: TypeAlias = dict[str, Any]
MANY: Final = 300  # objects of a kind and version, half of them damaged
SEED: Final = "2026-11-21"
_SERVERS_OWN: Final = ("managedFields", "uid", "creationTimestamp", "generation", "namespace")


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


@pytest.mark.parametrize(("kind", "version"), list_kind_versions())
def test_the_walk_and_the_api_server_agree(kind: str, version: str, request: pytest.FixtureRequest) -> None:
    planes: list[ControlPlane] = [request.getfixturevalue(name) for name in ("alpha", "beta")]
    plane = next(plane for plane in planes if (kind, f"nvidia.com/{version}") in plane.versions())
    replies = agree(plane, kind, version, MANY)
    assert MANY / 10 < sum(bool(said.stored) for said in replies) < MANY
    assert sum(bool(said.causes) for said in replies) > MANY / 20


def agree(plane: ControlPlane, kind: str, version: str, many: int, line: Line = OLDEST, *, stored: bool = True) -> list[Said]:
    """What the server says of so many objects, half of them damaged; of a version that isn't `stored`, all but what would be stored."""
    dice = Dice(f"{SEED} {kind} {version}")
    objs = [dice.object(kind, version, number, line) for number in range(many // 2)]
    objs += [dice.damaged(obj) for obj in objs]
    with ThreadPoolExecutor(4) as pool:
        replies = list(pool.map(partial(_by_server, plane), objs))
    looked_at = 3 if stored else 2
    walked = [_by_walk(line, obj) for obj in objs]
    wrong = [(obj, walk, said) for obj, walk, said in zip(objs, walked, replies, strict=True) if walk[:looked_at] != said[:looked_at]]
    assert not wrong, f"{len(wrong)} of {many} differ, first {json.dumps(wrong[0][0])}: the walk {wrong[0][1]}, the server {wrong[0][2]}"
    return replies


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
    """A strict server refuses to decode what `check` refuses to read: doubled and unknown fields, and what is cut off."""
    kind = "DynamoGraphDeploymentScalingAdapter"
    whole = f'{{"apiVersion": "nvidia.com/v1alpha1", "kind": "{kind}", "metadata": {{"name": "t"}}, "spec": {text}}}'
    path = f"/apis/nvidia.com/v1alpha1/namespaces/default/{BY_NAME[kind].plural}?dryRun=All&fieldValidation=Strict"
    assert alpha.request("POST", path, whole).status == status
    (tmp_path / "t.json").write_text(whole)
    assert (main(["check", "-q", str(tmp_path / "t.json")]) == 0) is (status == 201)
