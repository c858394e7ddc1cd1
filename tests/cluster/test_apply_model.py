"""The model of server-side apply in tests/laws/managers answers as a real API server does: the same objects, owners and conflicts.

APPLY_SEQUENCES generated sequences (300), from LAWS_SEED; what was tried is said at the end as for the laws of conversion.
"""

from __future__ import annotations

import json
import os
from typing import TYPE_CHECKING, Any, Final, TypeAlias

import pytest

from api.kinds import ALPHA, BETA, BY_NAME
from conversion.engine import convert
from conversion.kinds import KINDS
from tests.cluster.conversion import converting_plane, without_server_fields
from tests.cluster.objects import path_of
from tests.laws.conftest import SEED
from tests.laws.dice import Dice
from tests.laws.managers.apply import ConflictError
from tests.laws.managers.fields import Fields, read
from tests.laws.managers.sequences import Intent, Sequence, Step, draw_sequence
from tests.laws.managers.server import Server
from tests.laws.managers.typed import InvalidError

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from tests.cluster.harness import ControlPlane, Reply

Node: TypeAlias = dict[str, Any]
SEQUENCES: Final = int(os.environ.get("APPLY_SEQUENCES") or 300)
SHARES: Final = 10
APPLY: Final = "application/apply-patch+yaml"
MERGE: Final = "application/merge-patch+json"
OK, CONFLICT, FAILED = "accepted", "conflict", "failed"


@pytest.fixture(scope="module")
def plane(assets: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[ControlPlane]:
    """Both versions of all kinds, converted by our server; no admission."""
    with converting_plane(assets, tmp_path_factory.mktemp("apply")) as (found, _):
        yield found


@pytest.mark.parametrize("share", range(SHARES))
def test_the_model_agrees(plane: ControlPlane, share: int) -> None:
    """Step by step; a complaint shows the sequence up to the step."""
    for number in range(share, SEQUENCES, SHARES):
        if found := disagreement(plane, draw_sequence(Dice(SEED, "apply", number))):
            pytest.fail(f"LAWS_SEED={SEED}, sequence {number}: {found}")


def disagreement(plane: ControlPlane, sequence: Sequence) -> str:
    """How the model and the API server differ on a sequence; nothing when they don't."""
    namespace = plane.namespace()
    model = Server(sequence.kind, lambda obj, version: convert(KINDS[obj["kind"]], obj, version).object)
    before: Node = {}
    for number, step in enumerate(sequence.steps):
        reply = send(plane, namespace, sequence.kind, step)
        expected, changed, generation = _modelled(model, step)
        got = {200: OK, 201: OK, 409: CONFLICT}.get(reply.status, FAILED)
        now = _read(plane, namespace, sequence.kind, BETA).body
        problems = [f"{got}, expected {expected}: {reply.body}"] if got != expected else []
        problems += _differences(plane, namespace, model)
        if before and not changed and now["metadata"]["resourceVersion"] != before["metadata"]["resourceVersion"]:
            problems.append("a new resourceVersion")
        if before and (now["metadata"]["generation"] > before["metadata"]["generation"]) != generation:
            problems.append(f"generation {now['metadata']['generation']}, expected {'a' if generation else 'no'} new one")
        if problems:
            steps = "\n".join(
                f"{step.intent.value} {step.version} {step.manager} {json.dumps(step.body)}" for step in sequence.steps[: number + 1]
            )
            return "\n".join([*problems, steps])
        before = now
    return ""


def _modelled(model: Server, step: Step) -> tuple[str, bool, bool]:
    """The outcome, whether it is certain that something was written, and whether the generation is new."""
    try:
        if step.applies:
            done = model.apply(step.body, step.manager, force=step.force)
        else:
            done = model.patch(step.version, step.body, step.manager, status=step.intent is Intent.STATUS)
    except ConflictError:
        return CONFLICT, False, False
    except InvalidError:
        return FAILED, False, False
    return OK, done.changed, done.generation


def send(plane: ControlPlane, namespace: str, kind: str, step: Step) -> Reply:
    """The step as a request."""
    path = _path(namespace, kind, step.version) + ("/status" if step.intent is Intent.STATUS else "")
    query = f"?fieldManager={step.manager}" + ("&force=true" if step.force else "")
    body = {**step.body, "metadata": {**step.body["metadata"], "namespace": namespace}} if step.applies else step.body
    return plane.request("PATCH", path + query, body, kind=APPLY if step.applies else MERGE)


def _path(namespace: str, kind: str, version: str) -> str:
    return path_of({"apiVersion": f"nvidia.com/{version}", "kind": kind, "metadata": {"namespace": namespace, "name": "t"}}, named=True)


def _read(plane: ControlPlane, namespace: str, kind: str, version: str) -> Reply:
    return plane.request("GET", _path(namespace, kind, version))


def _differences(plane: ControlPlane, namespace: str, model: Server) -> Iterator[str]:
    for version in (ALPHA, BETA):
        found = _read(plane, namespace, model.kind, version).body
        have, want = without_server_fields(found), without_server_fields(model.read(version))
        have["metadata"]["namespace"] = want["metadata"]["namespace"]
        if have != want:
            yield f"{version}: {json.dumps(have)}\nexpected: {json.dumps(want)}"
    owners = {
        (entry["manager"], entry["operation"], entry["apiVersion"], entry.get("subresource", "")): _normal(read(entry["fieldsV1"]))
        for entry in found["metadata"].get("managedFields", [])
    }
    expected = {
        (who.name, "Apply" if who.applies else "Update", f"nvidia.com/{owned.version}", who.subresource): _normal(owned.fields)
        for who, owned in model.managers.items()
    }
    if owners != expected:
        yield f"owners: {owners}\nexpected: {expected}"


def _normal(fields: Fields) -> set[str]:
    return {json.dumps([_element(element) for element in path]) for path in fields.paths()}


def _element(element: str) -> Any:
    kind, text = element[0], element[2:]
    return [kind, text if kind == "f" else json.dumps(json.loads(text), sort_keys=True)]


def test_every_kind_is_tried() -> None:
    """Not only graphs."""
    kinds = {draw_sequence(Dice(SEED, "apply", number)).kind for number in range(SEQUENCES)}
    assert kinds <= set(BY_NAME)
    assert len(kinds) == 4
