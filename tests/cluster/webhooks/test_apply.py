"""Server-side apply on a real API server: the model in tests/laws/managers answers as it does, with the same objects, owners and conflicts;
and manifests of both versions that were written by hand come to the same, by one manager and by two.

APPLY_SEQUENCES generated sequences (300), from LAWS_SEED; what was tried is said at the end as for the laws of conversion.
"""

import copy
import json
import os
from collections.abc import Iterator
from functools import partial
from typing import Any, Final, NamedTuple, TypeAlias

import pytest

from dynamo_webhooks.api.kinds import ALPHA, BETA
from dynamo_webhooks.api.line import Line
from tests.cluster.conversion import without_server_fields
from tests.cluster.harness import ControlPlane, Reply
from tests.cluster.objects import path_of
from tests.cluster.playing import MERGE
from tests.laws.conftest import SEED
from tests.laws.dice import Dice
from tests.laws.managers.apply import ConflictError, Managers, Owned, Who
from tests.laws.managers.fields import Fields, read
from tests.laws.managers.law import breaches, write
from tests.laws.managers.sequences import OWNER, SUCCESSOR, Intent, Sequence, Step, draw_any
from tests.laws.managers.server import Server, Written
from tests.laws.managers.subjects import ADAPTER, COMPONENT, FACETS, GRAPH, NAME, Subject
from tests.laws.managers.test_managers import TRIED, converted
from tests.laws.managers.twins import ALPHA_ONLY, EXCLUSIVE, TRAITS, Part
from tests.laws.managers.typed import InvalidError

Node: TypeAlias = dict[str, Any]
SEQUENCES: Final = int(os.environ.get("APPLY_SEQUENCES") or 300)
SHARES: Final = 10
APPLY: Final = "application/apply-patch+yaml"
MOVES: Final = [(first, second, mover) for first, second in ((ALPHA, BETA), (BETA, ALPHA)) for mover in (OWNER, SUCCESSOR)]


class Held:
    """The object `t` of a kind in a namespace of its own."""

    def __init__(self, plane: ControlPlane, kind: str) -> None:
        """Creates the namespace; the object is created by its first apply."""
        self.kind, self.line = kind, Line.V1_2
        self._plane = plane
        self._namespace = plane.namespace()
        self._last: Node = {}
        self._content: Node = {}
        self._seen: dict[str, Node] = {}  # by version, since the last write: nobody else writes here

    @property
    def managers(self) -> Managers:
        """Who owns what, as the object says it."""
        return {
            Who(
                entry["manager"],
                entry["operation"] == "Apply",
                "" if entry["operation"] == "Apply" else _version(entry["apiVersion"]),
                entry.get("subresource", ""),
            ): Owned(_version(entry["apiVersion"]), read(entry["fieldsV1"]))
            for entry in self._get("v1beta1")["metadata"].get("managedFields", [])
        }

    def read(self, version: str) -> Node:
        """The object in a version, as if in the namespace `default`; who owns what says `managers`."""
        obj = self._get(version)
        metadata = {name: value for name, value in obj["metadata"].items() if name != "managedFields"}
        return {**obj, "metadata": {**metadata, "namespace": "default"}}

    def _get(self, version: str) -> Node:
        if version not in self._seen:
            reply = self._plane.request("GET", self._path(version)).done()
            self._seen[version] = reply
        return copy.deepcopy(self._seen[version])

    def send(self, version: str, body: Node, query: str, *, kind: str, status: bool = False) -> Reply:
        """A PATCH of the object or its status."""
        self._seen.clear()
        return self._plane.request("PATCH", self._path(version) + ("/status" if status else "") + query, body, kind=kind)

    def apply(self, applied: Node, manager: str, *, force: bool = False) -> Written:
        """A server-side apply."""
        body = {**applied, "metadata": {**applied["metadata"], "namespace": self._namespace}}
        query = f"?fieldManager={manager}" + ("&force=true" if force else "")
        return self._written(self.send(_version(applied["apiVersion"]), body, query, kind=APPLY))

    def patch(self, version: str, patch: Node, manager: str, *, status: bool = False) -> Written:
        """A JSON merge patch."""
        return self._written(self.send(version, patch, f"?fieldManager={manager}", kind=MERGE, status=status))

    def _path(self, version: str) -> str:
        metadata = {"namespace": self._namespace, "name": "t"}
        return path_of({"apiVersion": f"nvidia.com/{version}", "kind": self.kind, "metadata": metadata}, named=True)

    def _written(self, reply: Reply) -> Written:
        if reply.status == 409:
            raise ConflictError({}, reply.body["message"])
        if reply.status not in (200, 201):
            raise InvalidError(str(reply.body))
        before, now = self._last or {"resourceVersion": "", "generation": 1}, reply.body["metadata"]
        self._last = now
        changed = now["resourceVersion"] != before["resourceVersion"]
        if changed:
            content, self._content = self._content, self._whole()
            changed = content != self._content
        return Written(reply.body, changed, now["generation"] != before["generation"])

    def _whole(self) -> Node:
        """All that the object says, but for times: an apply that changes nothing renews its manager's, and with it the managers' order."""
        obj = self._get("v1beta1")
        entries = [{**entry, "time": ""} for entry in obj["metadata"].pop("managedFields", [])]
        del obj["metadata"]["resourceVersion"]
        return {**obj, "managers": sorted(entries, key=str)}


def _version(api_version: str) -> str:
    return api_version.rpartition("/")[2]


@pytest.mark.parametrize("share", range(SHARES))
def test_the_model_agrees(plane: ControlPlane, share: int) -> None:
    """Step by step; a complaint shows the sequence up to the step."""
    for number in range(share, SEQUENCES, SHARES):
        if complaint := disagreement(plane, draw_any(Dice(SEED, "apply", number), TRIED[number % len(TRIED)])):
            pytest.fail(f"LAWS_SEED={SEED}, sequence {number}: {complaint}")


def disagreement(plane: ControlPlane, sequence: Sequence) -> str:
    """How the model and the API server differ on a sequence; nothing when they don't."""
    real, model = Held(plane, sequence.kind), Server(sequence.kind, converted)
    before: Node = {}
    for number, step in enumerate(sequence.steps):
        got, expected = _done(real, step), _done(model, step)
        problems = [f"{got}, expected {expected}"] if got[0] != expected[0] else []
        problems += _differences(real, model)
        now = real.read(BETA)["metadata"]
        if before and not (expected.changed or expected.renewed) and now["resourceVersion"] != before["resourceVersion"]:
            problems.append("a new resourceVersion")
        if before and (now["generation"] > before["generation"]) != expected.generation:
            problems.append(f"generation {now['generation']}, expected {'a' if expected.generation else 'no'} new one")
        if problems:
            return "\n".join([*problems, *(str(step) for step in sequence.steps[: number + 1])])
        before = now
    return ""


class Done(NamedTuple):
    """How a write ended, and what it changed."""

    outcome: str
    changed: bool = False
    generation: bool = False
    renewed: bool = False


def _done(holder: Held | Server, step: Step) -> Done:
    try:
        written = write(holder, step)
    except (ConflictError, InvalidError) as error:
        return Done(type(error).__name__)
    return Done("accepted", written.changed, written.generation, written.renewed)


def _differences(real: Held, model: Server) -> Iterator[str]:
    for version in (ALPHA, BETA):
        have, want = (without_server_fields(holder.read(version)) for holder in (real, model))
        if have != want:
            yield f"{version}: {json.dumps(have)}\nexpected: {json.dumps(want)}"
    owners, expected = ({who: (owned.version, _normal(owned.fields)) for who, owned in holder.managers.items()} for holder in (real, model))
    if owners != expected:
        yield f"owners: {owners}\nexpected: {expected}"


def _normal(fields: Fields) -> set[str]:
    return {json.dumps([_element(element) for element in path]) for path in fields.paths()}


def _element(element: str) -> Any:
    kind, text = element[0], element[2:]
    return [kind, text if kind == "f" else json.dumps(json.loads(text), sort_keys=True)]


def _everything() -> list[Subject]:
    """Every trait in a component of its own, all that go together in one, and every facet of every kind."""
    alone = [Part(name.replace(" ", "-"), "worker", tuple(dict.fromkeys(("image", name)))) for name in TRAITS]
    together = tuple(name for name in TRAITS if not any(name in group and name != min(group & set(TRAITS)) for group in EXCLUSIVE))
    whole = Part("all", "decode", together, tuple(ALPHA_ONLY))
    return [
        Subject(GRAPH, tuple(alone[::2]), tuple(FACETS[GRAPH])),
        Subject(GRAPH, (*alone[1::2], whole)),
        Subject(COMPONENT, (Part(NAME, "worker", together, tuple(ALPHA_ONLY)),), tuple(FACETS[COMPONENT])),
        Subject(ADAPTER),
    ]


@pytest.mark.parametrize(("first", "second", "mover"), MOVES)
@pytest.mark.parametrize("subject", _everything(), ids=lambda subject: f"{subject.kind}-{len(subject.parts)}")
def test_a_manifest_moved_by_hand_is_its_twin(plane: ControlPlane, subject: Subject, first: str, second: str, mover: str) -> None:
    """Applied in one version, then its handwritten twin by the same manager or another; labels and a status are written in between."""
    label = {"metadata": {"labels": {"a": "b"}}}
    status = {"status": subject.status(first, Dice(0))}
    steps = (
        Step(Intent.FIRST, first, OWNER, subject.manifest(first)),
        Step(Intent.LABEL, second, "kubectl", label),
        Step(Intent.MOVE, second, mover, subject.manifest(second), force=True),
        Step(Intent.STATUS, first, "controller", status),
        Step(Intent.AGAIN, second, mover, subject.manifest(second)),
    )
    assert not breaches(Sequence(subject.kind, steps), partial(Held, plane))
