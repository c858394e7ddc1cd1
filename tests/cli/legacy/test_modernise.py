"""Legacy documents as today's objects: the documentation's examples, one by one."""

from __future__ import annotations

from typing import Any

import pytest

from dynamo_webhooks.api.paths import render
from dynamo_webhooks.cli.legacy.modernise import modernised
from dynamo_webhooks.cli.legacy.rows import DECIDE, MAPPED, NO_EQUIVALENT, Modernised
from dynamo_webhooks.cli.rewrite.fresh import yaml_text
from tests.cli.conftest import Command, Files
from tests.cli.legacy.documents import EXAMPLES, document

IMAGE = "registry.example/frontend:1"


def told(done: Modernised) -> dict[str, tuple[str, str]]:
    """Each field with its outcome and where it went."""
    return {render(row.field): (row.outcome, render(row.to)) for row in done.rows}


def needs(done: Modernised) -> dict[str, str]:
    """What is missing, by place."""
    return {render(row.field): row.text for row in done.needs}


def graph(**spec: Any) -> dict[str, Any]:
    """A legacy graph with some spec."""
    metadata = {"name": "g"}
    return {"apiVersion": "nvidia.com/v1alpha1", "kind": "DynamoDeployment", "metadata": metadata, "spec": {"dynamoNim": "n:1", **spec}}


@pytest.mark.parametrize("name", ["graph", "deployment"])
def test_a_graph_keeps_all_but_its_build(name: str) -> None:
    source = document(name)
    done = modernised(source)
    (obj,) = done.objects
    assert obj["kind"] == "DynamoGraphDeployment"
    assert obj["metadata"] == {"name": "disagg"}
    reference = "dynamoComponent" if name == "graph" else "dynamoNim"
    assert obj["spec"] == {key: value for key, value in source["spec"].items() if key != reference}
    assert {field: found for field, found in told(done).items() if found[0] != MAPPED} == {f"spec.{reference}": (DECIDE, "")}
    assert all(found[1] == field for field, found in told(done).items() if found[0] == MAPPED)
    assert list(needs(done)) == [f"spec.services[{service}]" for service in source["spec"]["services"]]


@pytest.mark.parametrize("name", ["component", "nim"])
def test_a_component_keeps_what_today_has(name: str) -> None:
    source = document(name)
    done = modernised(source)
    (obj,) = done.objects
    assert obj["kind"] == "DynamoComponentDeployment"
    assert obj["spec"] == {
        "globalDynamoNamespace": True,
        **{key: source["spec"][key] for key in ("envs", "resources", "serviceName")},
    }
    found = told(done)
    assert found["spec.dynamoNamespace"] == (MAPPED, "spec.globalDynamoNamespace")
    assert found["spec.dynamoTag"] == (DECIDE, "")
    assert found["spec.externalServices.PrefillWorker.deploymentSelectorKey"] == (NO_EQUIVALENT, "")
    assert found["spec.resources.limits.gpu"] == (MAPPED, "spec.resources.limits.gpu")


@pytest.mark.parametrize("name", ["build", "request"])
def test_an_image_build_becomes_no_object(name: str) -> None:
    done = modernised(document(name))
    assert done.objects == []
    assert {outcome for outcome, _ in told(done).values()} == {NO_EQUIVALENT}
    assert "becomes no object" in done.lines()[0]


def test_a_claim_moves_to_the_graph() -> None:
    done = modernised(document("claim"))
    (obj,) = done.objects
    assert obj["spec"]["pvcs"] == [{"name": "vllm-model-storage", "size": "100Gi"}]
    worker = obj["spec"]["services"]["VllmWorker"]
    assert worker["volumeMounts"] == [{"name": "vllm-model-storage", "mountPoint": "/models"}]
    assert "pvc" not in worker
    found = told(done)
    assert found["spec.services[VllmWorker].pvc.name"] == (MAPPED, "spec.pvcs[0].name")
    assert found["spec.services[VllmWorker].pvc.mountPath"] == (MAPPED, "spec.services[VllmWorker].volumeMounts[0].mountPoint")
    assert needs(done)["spec.services[VllmWorker].pvc"].startswith("was made by the old operator")


COMPLETE = {"name": "models", "size": "1Gi", "storageClass": "fast", "volumeAccessMode": "ReadWriteMany"}


def test_a_complete_claim_is_made_as_before() -> None:
    """Two services share it: one says all of it, the other only where it wants it."""
    services = {"A": {"pvc": {"name": "models", "mountPath": "/a"}}, "B": {"pvc": {**COMPLETE, "mountPoint": "/b"}}}
    (obj,) = (done := modernised(graph(services=services))).objects
    assert obj["spec"]["pvcs"] == [{**COMPLETE, "create": True}]
    assert [obj["spec"]["services"][name]["volumeMounts"][0]["mountPoint"] for name in "AB"] == ["/a", "/b"]
    assert all(".pvc" not in place for place in needs(done))


def test_a_claim_that_exists_is_not_made() -> None:
    (obj,) = modernised(graph(services={"A": {"pvc": {**COMPLETE, "mountPath": "/a", "create": False}}})).objects
    assert obj["spec"]["pvcs"] == [{**COMPLETE, "create": False}]


def test_a_claim_that_cannot_be_made_is_for_a_person() -> None:
    done = modernised(graph(services={"A": {"pvc": {"name": "models", "mountPath": "/a", "create": True}}}))
    assert done.objects[0]["spec"]["pvcs"] == [{"name": "models"}]
    assert told(done)["spec.services[A].pvc.create"] == (DECIDE, "")
    assert "spec.services[A].pvc" not in needs(done)


def test_services_that_disagree_about_a_claim_are_for_a_person() -> None:
    services = {"A": {"pvc": {**COMPLETE, "mountPath": "/a"}}, "B": {"pvc": {**COMPLETE, "size": "2Gi", "mountPath": "/b"}}}
    done = modernised(graph(services=services))
    assert done.objects[0]["spec"]["pvcs"] == [{**COMPLETE, "create": True}]
    assert told(done)["spec.services[B].pvc.size"] == (DECIDE, "")
    assert told(done)["spec.services[B].pvc.storageClass"] == (MAPPED, "spec.pvcs[0].storageClass")


def test_a_claim_without_a_name_or_a_place() -> None:
    done = modernised(graph(services={"A": {"pvc": {"mountPath": "/a"}}, "B": {"pvc": {"name": "models"}}, "C": {"pvc": "models"}}))
    assert told(done)["spec.services[A].pvc.mountPath"] == (DECIDE, "")
    assert told(done)["spec.services[C].pvc"] == (DECIDE, "")
    assert any("set volumeMounts[].mountPoint" in line for line in done.lines())


def test_a_component_of_its_own_mounts_a_claim_that_exists() -> None:
    source = document("nim")
    source["spec"]["pvc"] = {**COMPLETE, "mountPath": "/models"}
    done = modernised(source)
    assert done.objects[0]["spec"]["volumeMounts"] == [{"name": "models", "mountPoint": "/models"}]
    assert told(done)["spec.pvc.size"] == (DECIDE, "")
    assert "  mapped: spec.pvc.name is spec.volumeMounts[0].name today; the claim must exist beforehand" in done.lines()


@pytest.mark.parametrize("name", ["graph", "claim", "component", "nim"])
def test_the_image_of_a_build_in_the_same_run_is_used(name: str) -> None:
    build = document("build")
    build["spec"]["image"] = IMAGE
    source = document(name)
    if name == "nim":
        assert source["spec"]["dynamoNim"] == build["metadata"]["name"]
    done = modernised(source, [None, [], {"kind": 5}, document("request"), build, source])
    spec = done.objects[0]["spec"]
    assert all(block["extraPodSpec"]["mainContainer"]["image"] == IMAGE for block in spec.get("services", {"": spec}).values())
    (row,) = (row for row in done.rows if render(row.field) in ("spec.dynamoComponent", "spec.dynamoNim"))
    assert row.outcome == MAPPED
    assert all("mainContainer.image" not in text for text in needs(done).values())


@pytest.mark.parametrize("change", ["namespace", "tag", "second image"])
def test_the_image_of_another_build_is_not_used(change: str) -> None:
    build = document("build")
    build["spec"]["image"] = IMAGE
    others = [build]
    if change == "namespace":
        build["metadata"]["namespace"] = "other"
    elif change == "tag":
        build["metadata"]["name"], build["spec"]["dynamoComponent"] = "frontend--2", "frontend:2"
    else:
        others.append({**build, "spec": {**build["spec"], "image": "registry.example/frontend:2"}})
    done = modernised(document("graph"), others)
    assert told(done)["spec.dynamoComponent"] == (DECIDE, "")


def test_a_component_keeps_its_own_image() -> None:
    own = {"extraPodSpec": {"mainContainer": {"image": "registry.example/own:1", "command": ["run"]}}, "componentType": "worker"}
    done = modernised(graph(services={"A": own}))
    assert done.objects[0]["spec"]["services"] == {"A": own}
    assert told(done)["spec.dynamoNim"] == (NO_EQUIVALENT, "")
    assert not done.needs


def test_a_graph_without_services_is_told_to_have_some() -> None:
    for source in (graph(), graph(services={}), graph(services=None), graph(services=[1])):
        assert list(needs(modernised(source))) == ["spec.services"]


def test_a_service_that_is_only_named_stays() -> None:
    done = modernised(graph(services={"A": None, "B": {}}))
    assert done.objects[0]["spec"]["services"] == {"A": {}, "B": {}}
    assert told(done)["spec.services[A]"] == (MAPPED, "spec.services[A]")


def test_what_the_api_server_sets_is_left_out() -> None:
    source = document("deployment")
    kept = {"labels": {"team": "a"}, "annotations": {"example.com/a": "b"}}
    applied = {"kubectl.kubernetes.io/last-applied-configuration": "{}"}
    source["metadata"] |= {"uid": "u", "resourceVersion": "1", "labels": kept["labels"], "annotations": {**kept["annotations"], **applied}}
    source["metadata"] |= {"finalizers": ["a/b"], "ownerReferences": [{"kind": "X", "name": "x"}], "managedFields": [{"manager": "m"}]}
    source["status"] = {"state": "successful", "conditions": [{"type": "Ready"}]}
    done = modernised(source)
    assert done.objects[0]["metadata"] == {"name": "disagg", **kept}
    assert "status" not in done.objects[0]
    assert sum(line.startswith("  no equivalent: status: ") for line in done.lines()) == 1


def test_wrong_types_are_left_out_and_said() -> None:
    source = graph(services={"A": {"replicas": "many", "replcas": 1, "envs": [{"name": "A", "value": 1}, 5], "labels": None}}, envs={})
    done = modernised(source)
    assert done.objects[0]["spec"]["services"] == {"A": {"envs": [{"name": "A", "value": "1"}]}}
    lines = done.lines()
    assert "  mapped: spec.services[A].envs[0].value as text" in lines
    assert "  no equivalent: spec.services[A].replcas: no field today; did you mean replicas?" in lines
    assert "  you must decide: spec.services[A].replicas: must be a whole number, and is text; it is left out" in lines
    assert "  you must decide: spec.envs: must be a list, and is a mapping; it is left out" in lines


def test_lines_for_people() -> None:
    """What is mapped comes first, what a person must decide last; one sentence for all the fields that it is true of."""
    done = modernised(document("claim"))
    lines = done.lines()
    assert (
        lines[0]
        == "DynamoGraphDeployment llm-agg (a kind of the first releases) becomes DynamoGraphDeployment of v1alpha1, 15 fields mapped"
    )
    outcomes = [line.partition(":")[0].strip() for line in lines[1:]]
    assert outcomes == sorted(outcomes, key=("mapped", "no equivalent", "you must decide").index)
    assert lines[-1].startswith(
        "  you must decide: spec.services[Frontend], spec.services[Processor], spec.services[VllmWorker]: must say what the build knew"
    )
    assert any("spec.services[VllmWorker] and 2 more: " in line for line in modernised(document("graph")).lines())


@pytest.mark.parametrize("name", [name for name in EXAMPLES if name not in ("build", "request")])
def test_check_accepts_the_results(name: str, command: Command, files: Files) -> None:
    """Whatever is still to be decided, the written object is one that the API server takes, in both versions."""
    files(a=yaml_text(modernised(document(name)).objects[0]))
    ran = command("check", "a.yaml", "--line", "1.2", "--set-fact", "grove=true", "-o", "json")
    assert (ran.code, ran.json["findings"]) == (0, [])
    there = command("convert", "a.yaml", "--line", "1.2", "--to", "v1beta1", "--verify", "-q")
    assert there.code == 0
    files(b=there.out)
    assert command("check", "b.yaml", "--line", "1.2", "--set-fact", "grove=true").code == 0


def test_a_block_of_which_nothing_can_be_kept_is_left_out() -> None:
    done = modernised(graph(services={"A": {"livenessProbe": {"old": 1}, "replicas": 1, "envs": [5]}}))
    assert done.objects[0]["spec"]["services"] == {"A": {"replicas": 1}}
