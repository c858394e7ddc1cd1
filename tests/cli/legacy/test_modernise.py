"""Legacy documents as today's objects: the documentation's examples, one by one, and what holds for every document, however odd.

Each leaf stays or has a note, no exception, and a result of today's types.
"""

import copy
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dynamo_webhooks.api.kinds import ALPHA
from dynamo_webhooks.api.line import Line
from dynamo_webhooks.api.paths import MISSING, format_path, lookup
from dynamo_webhooks.api.schema import load_schema
from dynamo_webhooks.api.walk.prune import prune
from dynamo_webhooks.cli.legacy.modernise import DECIDE, MAPPED, NO_EQUIVALENT, ModernisedObject, modernise
from dynamo_webhooks.cli.legacy.recognise import TODAY, recognise
from dynamo_webhooks.cli.rewrite.emit import emit_yaml
from dynamo_webhooks.conversion.lens.protocol import ConversionError
from tests.cli.conftest import Command, Files
from tests.cli.legacy.documents import EXAMPLES, document, made
from tests.laws.dice import Dice
from tests.laws.strategies import make_object
from tests.rows import run_each

IMAGE = "registry.example/frontend:1"


def told(done: ModernisedObject) -> dict[str, tuple[str, str]]:
    """Each field that does not stay as it is, with its outcome and where it went."""
    return {format_path(note.field): (note.outcome, format_path(note.to)) for note in done.notes}


def needs(done: ModernisedObject) -> dict[str, str]:
    """What a person must decide, by place."""
    return {format_path(note.field): note.text for note in done.notes if note.outcome == DECIDE}


def today(done: ModernisedObject) -> dict[str, Any]:
    assert done.object is not None
    return done.object


def graph(**spec: Any) -> dict[str, Any]:
    """A legacy graph with some spec."""
    metadata = {"name": "g"}
    return {"apiVersion": "nvidia.com/v1alpha1", "kind": "DynamoDeployment", "metadata": metadata, "spec": {"dynamoNim": "n:1", **spec}}


@pytest.mark.parametrize("name", ["component", "nim"])
def test_a_component_keeps_what_today_has(name: str) -> None:
    source = document(name)
    done = modernise(source)
    obj = today(done)
    assert obj["kind"] == "DynamoComponentDeployment"
    assert obj["spec"] == {
        "globalDynamoNamespace": True,
        **{key: source["spec"][key] for key in ("envs", "resources", "serviceName")},
    }
    outcomes = told(done)
    assert outcomes["spec.dynamoNamespace"] == (MAPPED, "spec.globalDynamoNamespace")
    assert outcomes["spec.dynamoTag"] == (DECIDE, "")
    assert outcomes["spec.externalServices"] == (NO_EQUIVALENT, "")


COMPLETE = {"name": "models", "size": "1Gi", "storageClass": "fast", "volumeAccessMode": "ReadWriteMany"}


def test_a_complete_claim_is_made_as_before() -> None:
    """Two services share it: one says all of it, the other only where it wants it."""
    services = {"A": {"pvc": {"name": "models", "mountPath": "/a"}}, "B": {"pvc": {**COMPLETE, "mountPoint": "/b"}}}
    obj = today(done := modernise(graph(services=services)))
    assert obj["spec"]["pvcs"] == [{**COMPLETE, "create": True}]
    assert [obj["spec"]["services"][name]["volumeMounts"][0]["mountPoint"] for name in "AB"] == ["/a", "/b"]
    assert all(".pvc" not in place for place in needs(done))
    exists = today(modernise(graph(services={"A": {"pvc": {**COMPLETE, "mountPath": "/a", "create": False}}})))
    assert exists["spec"]["pvcs"] == [{**COMPLETE, "create": False}]


def test_a_claim_that_cannot_be_made_or_that_services_disagree_about_is_for_a_person() -> None:
    done = modernise(graph(services={"A": {"pvc": {"name": "models", "mountPath": "/a", "create": True}}}))
    assert today(done)["spec"]["pvcs"] == [{"name": "models"}]
    assert needs(done)["spec.services[A].pvc"].startswith("was made by the old operator")
    assert "spec.services[A].pvc.create" not in told(done)
    services = {"A": {"pvc": {**COMPLETE, "mountPath": "/a"}}, "B": {"pvc": {**COMPLETE, "size": "2Gi", "mountPath": "/b"}}}
    done = modernise(graph(services=services))
    assert today(done)["spec"]["pvcs"] == [{**COMPLETE, "create": True}]
    assert told(done)["spec.services[B].pvc.size"] == (DECIDE, "")
    assert told(done)["spec.services[B].pvc.storageClass"] == (MAPPED, "spec.pvcs[0].storageClass")


def test_a_claim_without_a_name_or_a_place() -> None:
    done = modernise(graph(services={"A": {"pvc": {"mountPath": "/a"}}, "B": {"pvc": {"name": "models"}}, "C": {"pvc": "models"}}))
    assert told(done)["spec.services[A].pvc"] == (DECIDE, "")
    assert told(done)["spec.services[C].pvc"] == (DECIDE, "")
    assert any("set volumeMounts[].mountPoint" in line for line in done.lines())


def test_a_component_of_its_own_mounts_a_claim_that_exists() -> None:
    source = document("nim")
    source["spec"]["pvc"] = {**COMPLETE, "mountPath": "/models"}
    done = modernise(source)
    assert today(done)["spec"]["volumeMounts"] == [{"name": "models", "mountPoint": "/models"}]
    assert told(done)["spec.pvc.size"] == (DECIDE, "")
    assert "  mapped: spec.pvc.name: becomes spec.volumeMounts[0].name; the claim must exist beforehand" in done.lines()


BUILT = document("build") | {"spec": document("build")["spec"] | {"image": IMAGE}}
ELSEWHERE = BUILT | {"metadata": BUILT["metadata"] | {"namespace": "other"}}
ANOTHER = BUILT | {"metadata": {"name": "frontend--2"}, "spec": {"dynamoComponent": "frontend:2", "image": IMAGE}}
SECOND = BUILT | {"spec": BUILT["spec"] | {"image": "registry.example/frontend:2"}}


@run_each(
    ("name", "builds", "outcome"),
    [
        *((name, [BUILT], MAPPED) for name in ("graph", "claim", "component", "nim")),
        *(("graph", builds, DECIDE) for builds in ([ELSEWHERE], [ANOTHER], [BUILT, SECOND])),
    ],
)
def test_the_image_of_the_only_build_of_that_name_in_the_same_run_is_used(name: str, builds: list[Any], outcome: str) -> None:
    source = document(name)
    done = modernise(source, [None, [], {"kind": 5}, document("request"), *builds, source])
    spec = today(done)["spec"]
    components = spec.get("services", {"": spec}).values()
    assert {note.outcome for note in done.notes if format_path(note.field) in ("spec.dynamoComponent", "spec.dynamoNim")} == {outcome}
    assert all((lookup(component, ("extraPodSpec", "mainContainer", "image")) == IMAGE) is (outcome == MAPPED) for component in components)
    assert any("mainContainer.image" in text for text in needs(done).values()) is (outcome == DECIDE)


def test_a_component_keeps_its_own_image() -> None:
    own = {"extraPodSpec": {"mainContainer": {"image": "registry.example/own:1", "command": ["run"]}}, "componentType": "worker"}
    done = modernise(graph(services={"A": own}))
    assert today(done)["spec"]["services"] == {"A": own}
    assert told(done)["spec.dynamoNim"] == (NO_EQUIVALENT, "")
    assert not needs(done)


def test_a_graph_without_services_is_told_to_have_some_and_one_that_is_only_named_stays() -> None:
    for source in (graph(), graph(services={}), graph(services=None)):
        assert "must describe the components" in needs(modernise(source))["spec.services"]
    done = modernise(graph(services={"A": None, "B": {}}))
    assert today(done)["spec"]["services"] == {"A": {}, "B": {}}


def test_what_the_api_server_sets_is_left_out() -> None:
    source = document("deployment")
    kept = {"labels": {"team": "a"}, "annotations": {"example.com/a": "b"}}
    applied = {"kubectl.kubernetes.io/last-applied-configuration": "{}"}
    source["metadata"] |= {"uid": "u", "resourceVersion": "1", "labels": kept["labels"], "annotations": {**kept["annotations"], **applied}}
    source["metadata"] |= {"finalizers": ["a/b"], "ownerReferences": [{"kind": "X", "name": "x"}], "managedFields": [{"manager": "m"}]}
    source["status"] = {"state": "successful", "conditions": [{"type": "Ready"}]}
    done = modernise(source)
    assert today(done)["metadata"] == {"name": "disagg", **kept}
    assert "status" not in today(done)
    assert sum(line.startswith("  no equivalent: status: ") for line in done.lines()) == 1


def test_wrong_types_are_refused_and_unknown_fields_left_out(command: Command, files: Files) -> None:
    with pytest.raises(ConversionError, match="must be a whole number") as refused:
        modernise(graph(services={"A": {"replicas": "many"}}))
    assert format_path(refused.value.path) == "spec.services[A].replicas"
    folder = files(a=emit_yaml(graph(services={"A": {"envs": [{"name": "A", "value": 1}]}})))
    ran = command("convert", "a.yaml", "--to", "v1beta1", "--write")
    assert (ran.code, ran.err.partition(" must")[0]) == (1, "a.yaml:1: DynamoDeployment g: spec.services[A].envs[0].value:")
    assert "DynamoDeployment" in (folder / "a.yaml").read_text()
    done = modernise(graph(services={"A": {"replcas": 1, "labels": {"a.b": "c"}, "livenessProbe": {"old": 1}}}))
    assert today(done)["spec"]["services"] == {"A": {"labels": {"a.b": "c"}, "livenessProbe": {}}}
    assert "  no equivalent: spec.services[A].replcas, spec.services[A].livenessProbe.old: no field today" in done.lines()


def test_lines_for_people() -> None:
    """What is mapped comes first, what a person must decide last; one sentence for all the fields that it is true of."""
    done = modernise(document("claim"))
    lines = done.lines()
    assert lines[0] == "DynamoGraphDeployment llm-agg (a kind of the first releases) becomes DynamoGraphDeployment of v1alpha1"
    outcomes = [line.partition(":")[0].strip() for line in lines[1:]]
    assert outcomes == sorted(outcomes, key=("mapped", "no equivalent", "you must decide").index)
    assert lines[-1].startswith(
        "  you must decide: spec.services[Frontend], spec.services[Processor], spec.services[VllmWorker]: must have what the build held"
    )
    assert any("spec.services[VllmWorker] and 2 more: " in line for line in modernise(document("graph")).lines())


@pytest.mark.parametrize("name", [name for name in EXAMPLES if name not in ("build", "request")])
def test_check_accepts_the_results(name: str, command: Command, files: Files) -> None:
    """Whatever is still to be decided, the written object is one that the API server takes, in both versions."""
    files(a=emit_yaml(today(modernise(document(name)))))
    ran = command("check", "a.yaml", "--line", "1.2", "--set-fact", "grove=true", "-o", "json")
    assert (ran.code, ran.json["findings"]) == (0, [])
    there = command("convert", "a.yaml", "--line", "1.2", "--to", "v1beta1", "--verify", "-q")
    assert there.code == 0
    files(b=there.out)
    assert command("check", "b.yaml", "--line", "1.2", "--set-fact", "grove=true").code == 0


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


def faults(data: dict[str, Any], done: ModernisedObject) -> list[str]:
    """Which laws are broken for a document and what was made of it."""
    obj, wrong, noted = done.object, [], {note.field for note in done.notes}
    if obj is None:
        fields = data["spec"] if isinstance(data["spec"], dict) else {}
        silent = [leaf for leaf in leaves(fields, ("spec",)) if len(leaf) > 1 and not _has_note(leaf, noted)]
        return [f"{format_path(leaf)} is left out without a word" for leaf in silent]
    for note in done.notes:
        if (note.outcome == MAPPED) != (bool(note.to) and lookup(obj, note.to) is not MISSING):
            wrong.append(f"{format_path(note.field)} is mapped to nothing")
        if note.outcome != MAPPED and not note.text:
            wrong.append(f"{format_path(note.field)} is left out without a word")
    for leaf in leaves(data):
        value = lookup(data, leaf)
        if (leaf, value) == (("metadata", "name"), ""):
            continue  # no name
        if value is not None and lookup(obj, leaf) != value and not _has_note(leaf, noted) and value not in ({}, []):
            wrong.append(f"{format_path(leaf)} is lost")
    wrong += [f"{format_path(path)} is no field of today" for path in prune(copy.deepcopy(obj), load_schema(obj["kind"], ALPHA, Line.V1_2))]
    targets = {note.to for note in done.notes}
    return wrong + [f"{format_path(leaf)} comes from nowhere" for leaf in leaves(obj) if leaf not in targets and not _derived(leaf, data)]


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
