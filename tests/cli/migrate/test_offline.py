"""What is told of single objects without a cluster: from conversion, annotations, schema and rules; and the command with a file."""

from __future__ import annotations

import io
import json
from copy import deepcopy
from typing import Any

import pytest

from dynamo_webhooks.api.kinds import ALPHA, BETA
from dynamo_webhooks.api.line import Line
from dynamo_webhooks.cli.migrate.offline import lost_fields, noted
from dynamo_webhooks.cli.migrate.progress import Progress
from dynamo_webhooks.cli.migrate.refresh import NotTheSameError, Refresh, refreshed
from dynamo_webhooks.cli.migrate.report import KindReport, Note, Notes, Report, as_text
from dynamo_webhooks.cli.migrate.walk import Counts, _mark
from dynamo_webhooks.conversion.objects import convert_object, target
from dynamo_webhooks.kube.errors import ConflictError, InvalidError
from dynamo_webhooks.kube.resources import of_kind
from tests.cli.conftest import Command, Files
from tests.cli.migrate.store import DGD, Store, hands
from tests.conversion.test_bounds import noise

Node = dict[str, Any]
IMAGE: Node = {"extraPodSpec": {"mainContainer": {"image": "x/vllm:1.5.0"}}}
SHADOWS: Node = {
    "failover": {"enabled": True, "mode": "interPod", "numShadows": 2},
    "gpuMemoryService": {"enabled": True, "mode": "interPod"},
}


def _graph(services: Any, **metadata: Any) -> Node:
    metadata = {"name": "g", "namespace": "n", **metadata}
    return {"apiVersion": "nvidia.com/v1alpha1", "kind": DGD, "metadata": metadata, "spec": {"services": services}}


@pytest.mark.parametrize(
    ("obj", "line", "expected"),
    [
        (_graph({"w": {"componentType": "worker", **IMAGE}}), Line.V1_5, []),
        (_graph({"w": {"componentType": "worker"}}), Line.V1_2, []),
        (
            _graph({"w": {"componentType": "worker"}}),
            Line.V1_5,
            ["refused-at-creation: spec.components[0].podTemplate.spec.containers[main]"],
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
    found = [f"{note.matter}: {note.text}" for note in noted(obj, BETA, line)]
    assert len(found) >= len(expected)
    assert all(text.startswith(words) for text, words in zip(found, expected, strict=False)), found
    assert bool(found) is bool(expected)
    assert obj == before


def test_an_object_that_would_lose_its_remainder_is_told() -> None:
    """Where the definitions of line 1.5 store the newest version, an older one is only for reading, and shows what fits."""
    container = {"name": "main", "image": "x/vllm:1.5.0"}
    spec = {"components": [{"name": "w", "podTemplate": {"spec": {"containers": [container], "hostname": noise(300_000)}}}]}
    obj = {"apiVersion": "nvidia.com/v1beta1", "kind": DGD, "metadata": {"name": "g", "namespace": "n"}, "spec": spec}
    converted = convert_object(deepcopy(obj), target("nvidia.com/v1alpha1", Line.V1_5)).object
    matters = {note.matter for note in noted(obj, ALPHA, Line.V1_5)}
    assert ("too-long" in matters) is ("labels" in converted["metadata"])


@pytest.mark.parametrize("levels", [200, 900])
def test_an_object_with_many_levels_is_judged(levels: int) -> None:
    deep: Node = {}
    fields: Node = {}
    for _ in range(levels):
        deep, fields = {"a": deep}, {"f:a": fields}
    obj = _graph({"w": {"componentType": "worker", **IMAGE, "providerOverride": {"apiVersion": "x/v1", "value": deep}}})
    told = {note.text for note in noted(obj, BETA, Line.V1_5)}
    assert told in (set(), {"the object is nested too deeply to be judged"})  # the latter by how much of the stack the caller has used
    assert not told or levels > 500
    assert lost_fields({"managedFields": [{"fieldsV1": fields}]}) == set()
    assert _mark({"managedFields": [{"fieldsV1": fields, "time": "t"}]}) != _mark({"managedFields": [{"fieldsV1": fields, "time": "u"}]})


@pytest.mark.parametrize(
    "metadata", [{}, {"managedFields": None}, {"managedFields": [None, {"fieldsV1": 3}, {"fieldsV1": {"f:a": {"f:b": []}}}]}]
)
def test_metadata_without_such_fields_tells_nothing(metadata: Node) -> None:
    assert lost_fields(metadata) == set()


def _older() -> Node:
    """A request as an older operator stored it in v1alpha1: what v1beta1 says besides is in annotations of its own."""
    legacy = {"nvidia.com/dgdr-config-map-ref": json.dumps({"name": "c", "key": "k"}), "nvidia.com/dgdr-output-pvc": "out"}
    metadata = {"name": "r", "namespace": "n", "annotations": {"team": "a", **legacy}}
    return {
        "apiVersion": "nvidia.com/v1beta1",
        "kind": "DynamoGraphDeploymentRequest",
        "metadata": metadata,
        "spec": {"model": "m", "backend": "vllm", "autoApply": True, "searchStrategy": "rapid"},
    }


def test_older_annotations_are_written_in_todays_form_once() -> None:
    obj = _older()
    made = refreshed(obj, Line.V1_5)
    assert made is not None
    assert made["spec"] == obj["spec"]
    assert made["metadata"]["annotations"]["team"] == "a"
    assert "nvidia.com/dgdr-spec" in made["metadata"]["annotations"]
    assert refreshed(made, Line.V1_5) is None
    assert refreshed(_graph({"w": IMAGE}), Line.V1_5) is None
    there = target("nvidia.com/v1alpha1", Line.V1_5)
    assert convert_object(made, there).object["spec"] == convert_object(obj, there).object["spec"]


def test_an_object_that_would_say_less_is_left_as_it_is() -> None:
    obj = _older()
    obj["metadata"]["uid"] = "1"
    del obj["spec"]["autoApply"]  # which an API server fills in: a converter takes the object for a part of one
    with pytest.raises(NotTheSameError, match=r"spec\.profilingConfig"):
        refreshed(obj, Line.V1_5)


async def _refresh(store: Store, **options: Any) -> Report:
    return await Refresh(hands(store, to="", **options), Progress(lambda _: None)).run()


async def test_objects_are_rewritten_after_a_dry_run_of_each() -> None:
    store, obj = Store("v1beta1"), _older()
    kind = obj["kind"]
    await store.put(kind, "r", obj["spec"], BETA, annotations=obj["metadata"]["annotations"])
    await store.put(kind, "plain", obj["spec"], BETA)
    store.writes.clear()
    told = await _refresh(store, dry_run=True)
    assert store.writes == []
    [one] = [each for each in told.kinds if each.objects]
    assert (one.objects, one.moved, one.already_there) == (2, 1, 1)
    assert [note.object for note in one.notes.of("rewritten")] == ["n/r"]
    done = await _refresh(store)
    assert [each.moved for each in done.kinds if each.objects] == [1]
    assert [write[0] for write in store.writes] == ["replace", "replace"]
    live = await store.get(of_kind(kind, BETA), "r", "n")
    assert live is not None
    assert "nvidia.com/dgdr-spec" in live["metadata"]["annotations"]
    assert [each.moved for each in (await _refresh(store)).kinds if each.objects] == [0]
    assert "1 rewritten, 1 as today's converter writes them" in as_text(done)


async def test_rewriting_meets_others_and_refusals() -> None:
    store, obj = Store("v1beta1"), _older()
    await store.put(obj["kind"], "r", obj["spec"], BETA, annotations=obj["metadata"]["annotations"])
    faults: list[Exception] = [ConflictError(409, "Conflict", "somebody was faster"), InvalidError(422, "Invalid", "not so")]
    store.fail(lambda verb, *_: faults.pop(0) if verb == "replace" and faults else None)
    [one] = [each for each in (await _refresh(store)).kinds if each.objects]
    assert [(note.object, note.text) for note in one.notes.of("refused")] == [("n/r", "not so")]


def test_a_listing_in_a_file_is_judged(command: Command, files: Files) -> None:
    items = [_graph({"w": {"componentType": "worker"}}, name="bare"), _graph({"w": IMAGE}, name="whole")]
    folder = files(listing=json.dumps({"apiVersion": "v1", "kind": "List", "items": items}))
    words = ("migrate", "--to", BETA, "--from-file", folder / "listing.yaml", "--line", "1.5")
    ran = command(*words, "-o", "json")
    [one] = ran.json["kinds"]
    assert (ran.code, one["objects"], [note["object"] for note in one["notes"]]) == (0, 2, ["n/bare"])
    text = command(*words).out
    assert "n/bare: spec.components[0]" in text
    assert text.endswith("\nnothing was changed\n"), "without a cluster there is nothing to be run"
    assert "holds none" not in text
    assert (
        "must list objects of namespace m that are DynamoGraphDeployment, and holds none" in command(*words, "-n", "m", "--kind", "dgd").out
    )
    assert command("migrate", "--to", BETA, "--from-file", "nowhere.yaml").code == 2


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ((), "--to: must be given"),
        (("--to", "v1beta1", "--rewrite"), "--rewrite: is alone"),
        (("--to", "v1beta1", "--retire", "v1beta1"), "--retire v1beta1: must be another version"),
        (("--to", "v1beta1", "--verify", "--dry-run"), "--verify: writes objects"),
        (("--to", "v1beta1", "--from-file", "x", "--verify"), "--verify: needs a cluster"),
        (("--to", "v1beta1", "--from-file", "x", "--retire", "v1alpha1"), "--retire: needs a cluster"),
        (("--to", "v1beta1", "--line", "1.2"), "--line: is for --from-file alone"),
        (("--to", "v1beta1", "--kind", "dm"), "--kind DynamoModel: has one version"),
        (("--to", "v1beta1", "--kind", "graf"), "--kind graf: no such kind"),
        (("--to", "v1beta1", "--rate", "0"), "--rate: must be more than 0"),
        (("--to", "v1beta1", "--rate", "x"), "--rate must be a number, got x"),
        (("--to", "v1beta1", "--settle", "nan"), "--settle: must be a number that is not negative, got nan"),
        (("--to", "v1beta1", "--kubeconfig", "nowhere"), "--kubeconfig"),
    ],
)
def test_wrong_flags_are_told(command: Command, words: tuple[str, ...], said: str) -> None:
    ran = command("migrate", *words)
    assert ran.code == 2
    assert said in ran.err


class _Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def test_a_terminal_shows_a_bar_and_a_log_a_line_a_minute() -> None:
    now, lines, terminal = [0.0], list[str](), _Terminal()
    for stream, said in ((terminal, []), (io.StringIO(), lines)):
        progress = Progress(said.append, stream, lambda: now[0])
        progress.begin("Kind", 1, 100)
        for done in range(1, 101):
            now[0] += 1.5
            progress.walked(Counts(objects=done, moved=done))
        progress.end()
    assert "[############            ] Kind, pass 1: 50 of 100, 50 moved, 1 a second, 1 min 15 s left" in terminal.getvalue()
    assert terminal.getvalue().endswith("\r\033[K")
    assert lines == [
        "Kind, pass 1: 40 of 100, 40 moved, 1 a second, 1 min 30 s left",
        "Kind, pass 1: 80 of 100, 80 moved, 1 a second, 30 s left",
    ]


def test_long_lists_are_cut_and_names_of_others_are_printable() -> None:
    notes = Notes()
    for index in range(1500):
        notes.add(Note(f"n/g-{index:04}", "refused", "because\033[2J"))
    one = KindReport("Kind", "v1alpha1", "v1beta1", ["v1alpha1"], ["v1alpha1"], objects=1500, refused=1500, notes=notes)
    text = as_text(Report("v1beta1", "", dry_run=False, kinds=[one], failed="the end"))
    assert "1500 refused by the API server:" in text
    assert "and 1490 more; -o json names 1000" in text
    assert "\033" not in text
    assert "ended early: the end" in text
    assert len(one.as_data()["notes"]) == 1000
