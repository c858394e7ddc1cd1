"""What holds for every legacy document, however odd: one row a leaf, no exception, and a result of today's types."""

from __future__ import annotations

import copy
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from dynamo_webhooks.api.decode import decoder
from dynamo_webhooks.api.kinds import ALPHA
from dynamo_webhooks.api.paths import MISSING, lookup, render
from dynamo_webhooks.api.schema import load_schema
from dynamo_webhooks.api.walk.prune import prune
from dynamo_webhooks.cli.legacy.copying import node_at
from dynamo_webhooks.cli.legacy.fields import How
from dynamo_webhooks.cli.legacy.kinds import KINDS
from dynamo_webhooks.cli.legacy.modernise import modernised, schema_of
from dynamo_webhooks.cli.legacy.recognise import MARKS, recognised
from dynamo_webhooks.cli.legacy.rows import DECIDE, MAPPED, NO_EQUIVALENT, Modernised, leaves
from tests.cli.legacy.documents import EXAMPLES, TABLES, document, made
from tests.laws.dice import Dice
from tests.laws.strategies import make_object

NAMES = sorted(
    {step for kind in KINDS.values() for field in kind.fields for step in field.steps if step != "*"} | {"items", "*", "", "a.b"}
)
STRICTER = ("metricsStalenessThreshold",)  # text to the schema, and a length of time to the decoder
SCALARS = st.none() | st.booleans() | st.integers(-3, 3) | st.floats(0, 2) | st.sampled_from(["", "dynamo", "1Gi", "frontend:1"])
ANYTHING = st.recursive(
    SCALARS, lambda below: st.lists(below, max_size=2) | st.dictionaries(st.sampled_from(NAMES), below, max_size=4), max_leaves=12
)
BLOCKS = st.dictionaries(st.sampled_from(NAMES), ANYTHING, max_size=6)
GRAPHS = st.fixed_dictionaries({"services": st.dictionaries(st.sampled_from(["A", "*", "pvc"]), BLOCKS | SCALARS, max_size=2)})
SPECS = st.builds(lambda graph, block: {**graph, **block}, GRAPHS, BLOCKS) | BLOCKS | ANYTHING


def faults(data: dict[str, Any], done: Modernised) -> list[str]:
    """Which laws are broken for a document and what was made of it."""
    found = []
    if [row.field for row in done.rows] != list(leaves(data, ())):
        found.append("not exactly one row for each leaf, in order")
    for row in (*done.rows, *done.needs):
        if row.outcome == MAPPED and lookup(done.objects[0], row.to) is MISSING:
            found.append(f"{render(row.field)} is mapped to nothing")
        if row.outcome in (NO_EQUIVALENT, DECIDE) and (row.to or not row.text):
            found.append(f"{render(row.field)} is left out without a word")
    for obj in done.objects:
        wrong = decoder(obj["kind"], ALPHA)(obj)
        found += [f"{render(error.path)} {error.message}" for error in wrong if error.path[-1] not in STRICTER]
        found += [
            f"{render(path)} is no field of today" for path in ([] if wrong else prune(copy.deepcopy(obj), load_schema(obj["kind"], ALPHA)))
        ]
        sources = {row.to for row in done.rows}
        found += [f"{render(leaf)} comes from nowhere" for leaf in leaves(obj, ()) if leaf not in sources and not _derived(leaf, data)]
    return found


def _derived(leaf: tuple[str | int, ...], data: dict[str, Any]) -> bool:
    """What stands in an object beside the leaves that were mapped: its version, names of mounts and claims, and empty blocks."""
    return leaf in (("apiVersion",), ("kind",), ("spec",)) or leaf[-1] in ("name", "create") or lookup(data, leaf) is not MISSING


def test_laws_of_generated_documents() -> None:
    seen = dict.fromkeys(KINDS, 0)
    for data in made(60):
        before = copy.deepcopy(data)
        done = modernised(data, [data, document("build")])
        assert faults(data, done) == [], data
        assert data == before
        assert modernised(copy.deepcopy(data), [data, document("build")]) == done
        assert done.lines() == modernised(data, [data, document("build")]).lines()
        seen[done.kind] += 1
    assert min(seen.values()) > 20


@settings(max_examples=200, deadline=None)
@given(st.sampled_from(sorted(KINDS)), SPECS, ANYTHING, st.dictionaries(st.sampled_from(NAMES), ANYTHING, max_size=2))
def test_laws_of_any_document(kind: str, spec: Any, metadata: Any, more: dict[str, Any]) -> None:
    if isinstance(spec, dict):
        spec = {**spec, "dynamoComponent": "frontend:1"}
    data = {"metadata": metadata, **more, "apiVersion": "nvidia.com/v1alpha1", "kind": kind, "spec": spec}
    if recognised(data):
        done = modernised(data, [data, spec, metadata])
        assert faults(data, done) == []
        assert done.lines()


@given(ANYTHING)
@settings(deadline=None)
def test_recognising_never_raises(value: Any) -> None:
    assert recognised(value) is None
    assert recognised({"apiVersion": value, "kind": "DynamoDeployment", "spec": value}) is None
    assert recognised({"apiVersion": "nvidia.com/v1alpha1", "kind": value, "spec": value}) is None


def test_no_object_of_today_is_mistaken() -> None:
    for kind in ("DynamoGraphDeployment", "DynamoComponentDeployment"):
        for version in ("v1alpha1", "v1beta1"):
            for number in range(60):
                assert recognised(make_object(Dice("today", number), kind, version)) is None


def test_no_mark_is_a_field_of_today() -> None:
    """Should a mark ever become a field of today's, documents that have it would be mistaken."""
    for kind, marks in MARKS.items():
        assert marks
        assert not set(marks) & set(load_schema(kind, ALPHA)["properties"]["spec"]["properties"])


def test_every_example_is_recognised_by_its_kind() -> None:
    assert {name: recognised(document(name)) for name in EXAMPLES} == {name: document(name)["kind"] for name in EXAMPLES}
    later = {**document("deployment"), "apiVersion": "nvidia.com/v1beta1"}
    assert recognised(later) is None


def test_every_field_of_the_documentation_is_declared() -> None:
    assert set(TABLES) == set(KINDS)
    for name, fields in TABLES.items():
        declared = {field.name for field in KINDS[name].fields}
        assert not set(fields) - declared, name


def test_declared_places_are_those_of_the_schema() -> None:
    """A field that is declared to be today's is one, and so is the place where another one is said to lie."""
    for kind in KINDS.values():
        for field in kind.fields:
            place = field.to or (field.name if field.how is How.SAME else "")
            path = tuple(0 if step == "[]" else step for step in place.replace("[]", ".[]").split("."))
            assert not place or node_at(schema_of(kind.becomes), path) is not None, field
