"""What is told of single objects without a cluster: from conversion, annotations, schema and rules."""

from copy import deepcopy
from typing import Any

import pytest

from dynamo_webhooks.api.kinds import ALPHA, BETA
from dynamo_webhooks.api.line import Line
from dynamo_webhooks.cli.commands.migrate.offline import find_lost_fields, find_notes
from dynamo_webhooks.cli.commands.migrate.progress import Progress
from dynamo_webhooks.cli.commands.migrate.report import KindReport, MigrationReport, ObjectNote, ObjectNotes, PassCounts, as_text
from dynamo_webhooks.cli.commands.migrate.rewrite_all import _mark
from dynamo_webhooks.conversion.objects import convert_object, target
from tests.cli.migrate.store import DGD, IMAGE
from tests.conversion.test_bounds import noise
from tests.rows import run_each

Node = dict[str, Any]
SHADOWS: Node = {
    "failover": {"enabled": True, "mode": "interPod", "numShadows": 2},
    "gpuMemoryService": {"enabled": True, "mode": "interPod"},
}


def _graph(services: Any, **metadata: Any) -> Node:
    metadata = {"name": "g", "namespace": "n", **metadata}
    return {"apiVersion": "nvidia.com/v1alpha1", "kind": DGD, "metadata": metadata, "spec": {"services": services}}


@run_each(
    ("obj", "line", "expected"),
    [
        (_graph({"w": {"componentType": "worker", **IMAGE}}), Line.V1_5, []),
        (_graph({"w": {"componentType": "worker"}}), Line.V1_2, []),
        (
            _graph({"w": {"componentType": "worker"}}),
            Line.V1_5,
            ["refused-at-creation: spec.components[0].podTemplate.spec.containers: must have a container"],
        ),
        (
            _graph({"w": {"componentType": "worker", **SHADOWS, **IMAGE}}),
            Line.V1_5,
            ["refused-at-creation: spec.components[0].experimental"],
        ),
        (_graph({}, annotations=["x"]), Line.V1_5, ["refused: metadata.annotations: must be an object"]),
        (_graph({"w": {}}, annotations={"a": "x" * 300_000}), Line.V1_2, ["refused: metadata.annotations must be at most 256 KiB"]),
    ],
)
def test_an_object_is_judged_as_it_would_be_stored(obj: Node, line: Line, expected: list[str]) -> None:
    before = deepcopy(obj)
    notes = [f"{note.matter}: {note.text}" for note in find_notes(obj, BETA, line)]
    assert len(notes) >= len(expected)
    assert all(text.startswith(words) for text, words in zip(notes, expected, strict=False)), notes
    assert bool(notes) is bool(expected)
    assert obj == before


def test_an_object_that_would_lose_its_remainder_is_told() -> None:
    """Where the definitions of line 1.5 store the newest version, an older one is only for reading, and shows what fits."""
    container = {"name": "main", "image": "x/vllm:1.5.0"}
    spec = {"components": [{"name": "w", "podTemplate": {"spec": {"containers": [container], "hostname": noise(300_000)}}}]}
    obj = {"apiVersion": "nvidia.com/v1beta1", "kind": DGD, "metadata": {"name": "g", "namespace": "n"}, "spec": spec}
    converted = convert_object(deepcopy(obj), target("nvidia.com/v1alpha1", Line.V1_5)).object
    matters = {note.matter for note in find_notes(obj, ALPHA, Line.V1_5)}
    assert ("too-long" in matters) is ("labels" in converted["metadata"])


@pytest.mark.parametrize("levels", [200, 900])
def test_an_object_with_many_levels_is_judged(levels: int) -> None:
    deep: Node = {}
    fields: Node = {}
    for _ in range(levels):
        deep, fields = {"a": deep}, {"f:a": fields}
    obj = _graph({"w": {"componentType": "worker", **IMAGE, "providerOverride": {"apiVersion": "x/v1", "value": deep}}})
    texts = {note.text for note in find_notes(obj, BETA, Line.V1_5)}
    assert texts in (set(), {"the object is nested too deeply to be checked"})  # the latter by how much of the stack the caller has used
    assert not texts or levels > 500
    assert find_lost_fields({"managedFields": [{"fieldsV1": fields}]}, Line.V1_2) == set()
    assert _mark({"managedFields": [{"fieldsV1": fields, "time": "t"}]}) != _mark({"managedFields": [{"fieldsV1": fields, "time": "u"}]})


@pytest.mark.parametrize(
    "metadata", [{}, {"managedFields": None}, {"managedFields": [None, {"fieldsV1": 3}, {"fieldsV1": {"f:a": {"f:b": []}}}]}]
)
def test_metadata_without_such_fields_tells_nothing(metadata: Node) -> None:
    assert find_lost_fields(metadata, Line.V1_2) == set()


@pytest.mark.parametrize(("terminal", "many"), [(False, 2), (True, 25)])
def test_a_terminal_shows_a_line_every_few_seconds_and_a_log_a_line_a_minute(
    monkeypatch: pytest.MonkeyPatch, *, terminal: bool, many: int
) -> None:
    now, messages = [0.0], list[str]()
    monkeypatch.setattr("sys.stderr.isatty", lambda: terminal)
    progress = Progress(messages.append, lambda: now[0])
    progress.begin("Kind", 1, 100)
    for done in range(1, 101):
        now[0] += 1.5
        progress.walked(PassCounts(objects=done, moved=done))
    assert len(messages) == many
    assert "Kind, pass 1: 40 of 100, 40 moved, 1 a second, 1 min 30 s left" in messages


def test_long_lists_are_cut_and_names_of_others_are_printable() -> None:
    notes = ObjectNotes()
    for index in range(1500):
        notes.add(ObjectNote(f"n/g-{index:04}", "refused", "because\033[2J"))
    report = KindReport("Kind", "v1alpha1", "v1beta1", ["v1alpha1"], ["v1alpha1"], objects=1500, refused=1500, notes=notes)
    text = as_text(MigrationReport("v1beta1", "", dry_run=False, kinds=[report], failed="the end"))
    assert "1500 refused by the API server:" in text
    assert "and 1490 more; -o json names 1000" in text
    assert "\033" not in text
    assert "ended early: the end" in text
    assert len(report.as_data()["notes"]) == 1000
