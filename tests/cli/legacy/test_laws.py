"""What holds for every legacy document, however odd: each leaf stays or has a note, no exception, and a result of today's types."""

import copy
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from dynamo_webhooks.api.kinds import ALPHA
from dynamo_webhooks.api.paths import MISSING, format_path, lookup
from dynamo_webhooks.api.schema import load_schema
from dynamo_webhooks.api.walk.prune import prune
from dynamo_webhooks.cli.legacy.modernise import MAPPED, Modernised, modernise
from dynamo_webhooks.cli.legacy.recognise import MARKS, TODAY, recognise
from dynamo_webhooks.conversion.lens.protocol import ConversionError
from tests.cli.legacy.documents import document, made
from tests.laws.dice import Dice
from tests.laws.strategies import make_object

NAMES = (
    *("dynamoComponent", "dynamoNim", "bentoTag", "image", "dynamoNamespace", "dynamoTag", "externalServices", "autoscaling", "envs", ""),
    *("pvc", "name", "mountPath", "create", "size", "storageClass", "volumeAccessMode", "pvcs", "volumeMounts", "status", "annotations"),
    *("labels", "uid", "finalizers", "ownerReferences", "extraPodSpec", "mainContainer", "items", "*", "a.b"),
)
SCALARS = st.none() | st.booleans() | st.integers(-3, 3) | st.floats(0, 2) | st.sampled_from(["", "dynamo", "1Gi", "frontend:1"])
ANYTHING = st.recursive(
    SCALARS, lambda below: st.lists(below, max_size=2) | st.dictionaries(st.sampled_from(NAMES), below, max_size=4), max_leaves=12
)
BLOCKS = st.dictionaries(st.sampled_from(NAMES), ANYTHING, max_size=6)
GRAPHS = st.fixed_dictionaries({"services": st.dictionaries(st.sampled_from(["A", "*", "pvc"]), BLOCKS | SCALARS, max_size=2)})
SPECS = st.builds(lambda graph, block: {**graph, **block}, GRAPHS, BLOCKS) | BLOCKS | ANYTHING


def faults(data: dict[str, Any], done: Modernised) -> list[str]:
    """Which laws are broken for a document and what was made of it."""
    obj, found, noted = done.object, [], {note.field for note in done.notes}
    if obj is None:
        fields = data["spec"] if isinstance(data["spec"], dict) else {}
        silent = [leaf for leaf in leaves(fields, ("spec",)) if len(leaf) > 1 and not _has_note(leaf, noted)]
        return [f"{format_path(leaf)} is left out without a word" for leaf in silent]
    for note in done.notes:
        if (note.outcome == MAPPED) != (bool(note.to) and lookup(obj, note.to) is not MISSING):
            found.append(f"{format_path(note.field)} is mapped to nothing")
        if note.outcome != MAPPED and not note.text:
            found.append(f"{format_path(note.field)} is left out without a word")
    for leaf in leaves(data):
        value = lookup(data, leaf)
        if value is not None and lookup(obj, leaf) != value and not _has_note(leaf, noted) and value not in ({}, []):
            found.append(f"{format_path(leaf)} is lost")
    found += [f"{format_path(path)} is no field of today" for path in prune(copy.deepcopy(obj), load_schema(obj["kind"], ALPHA))]
    targets = {note.to for note in done.notes}
    return found + [f"{format_path(leaf)} comes from nowhere" for leaf in leaves(obj) if leaf not in targets and not _derived(leaf, data)]


def _has_note(leaf: tuple[Any, ...], fields: set[Any]) -> bool:
    return leaf[0] in ("apiVersion", "kind") or any(leaf[:length] in fields for length in range(1, len(leaf) + 1))


def leaves(value: object, path: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    """Where the values of a tree lie; an empty mapping or list is a value of its own."""
    pairs = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    return [leaf for step, child in pairs for leaf in leaves(child, (*path, step))] or [path]


def _derived(leaf: tuple[str | int, ...], data: dict[str, Any]) -> bool:
    """What stands in an object beside the leaves that were mapped: its version, names of mounts and claims, and empty blocks."""
    return leaf in (("apiVersion",), ("kind",), ("spec",)) or leaf[-1] in ("name", "create") or lookup(data, leaf) is not MISSING


def check(data: dict[str, Any], *others: Any) -> bool:
    """Asserts the laws of one document; returns whether its types are right, without which it becomes nothing."""
    before = copy.deepcopy(data)
    try:
        done = modernise(data, [data, *others])
    except ConversionError as error:
        return not error.reason
    assert faults(data, done) == [], data
    assert data == before
    assert done.lines()
    return True


def test_laws_of_generated_documents() -> None:
    seen = dict.fromkeys(TODAY, 0)
    for data in made(60):
        seen[data["kind"]] += check(data, document("build"))
    assert min(seen.values()) > 20


@settings(max_examples=200)
@given(st.sampled_from(sorted(TODAY)), SPECS, ANYTHING, st.dictionaries(st.sampled_from(NAMES), ANYTHING, max_size=2))
def test_laws_of_any_document(kind: str, spec: Any, metadata: Any, more: dict[str, Any]) -> None:
    if isinstance(spec, dict):
        spec = {**spec, "dynamoComponent": "frontend:1"}
    data = {"metadata": metadata, **more, "apiVersion": "nvidia.com/v1alpha1", "kind": kind, "spec": spec}
    if recognise(data):
        check(data, spec, metadata)


@given(ANYTHING)
def test_recognising_never_raises(value: Any) -> None:
    assert recognise(value) is None
    assert recognise({"apiVersion": value, "kind": "DynamoDeployment", "spec": value}) is None
    assert recognise({"apiVersion": "nvidia.com/v1alpha1", "kind": value, "spec": value}) is None


def test_no_object_of_today_is_mistaken() -> None:
    for kind in ("DynamoGraphDeployment", "DynamoComponentDeployment"):
        for version in ("v1alpha1", "v1beta1"):
            for number in range(60):
                assert recognise(make_object(Dice("today", number), kind, version)) is None


def test_no_mark_is_a_field_of_today() -> None:
    """Should a mark ever become a field of today's, documents that have it would be mistaken."""
    for kind, marks in MARKS.items():
        assert marks
        assert not set(marks) & set(load_schema(kind, ALPHA)["properties"]["spec"]["properties"])
