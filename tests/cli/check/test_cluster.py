"""`check --cluster` on an API server in memory: what is listed, what it is called, and what happens when somebody says no."""

import asyncio
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import yaml

from dynamo_webhooks.api.crd import build
from dynamo_webhooks.api.kinds import KINDS
from dynamo_webhooks.api.line import NEWEST
from dynamo_webhooks.cli.objects.cluster_snapshot import ClusterSnapshot, take_snapshot
from dynamo_webhooks.cli.yaml.load import InputError, Source, load_documents
from dynamo_webhooks.kube.errors import ForbiddenError, InvalidError, NotServedError, UnavailableError
from dynamo_webhooks.kube.resources import CRDS, NAMESPACES
from tests.cli.clusters import cluster
from tests.cli.conftest import Command, Files
from tests.cli.diff.test_live import CLUSTER, FILE, LIVE
from tests.cli.samples import BAD, BAD_RULE, BETA, GOOD, MODEL, NEEDS_GROVE
from tests.kube.memory import MemoryCluster


def _see(made: MemoryCluster, namespace: str = "") -> ClusterSnapshot:
    made.writes.clear()
    snapshot = asyncio.run(take_snapshot(made, namespace, []))
    assert made.writes == []
    return snapshot


def _named(snapshot: ClusterSnapshot) -> list[str]:
    return [file.name for file in snapshot.files]


def test_every_object_is_a_text_with_its_own_name() -> None:
    made = cluster(MODEL, BAD, GOOD, BAD.replace("llm", "a"))
    snapshot = _see(made)
    assert _named(snapshot) == [
        "cluster:dynamographdeployments/a/bad",
        "cluster:dynamographdeployments/llm/bad",
        "cluster:dynamographdeployments/llm/good",
        "cluster:dynamomodels/llm/m",
    ]
    first = snapshot.files[1]
    assert isinstance(first, Source)
    [document] = load_documents(first.text)
    assert document.data["spec"] == yaml.safe_load(BAD)["spec"]
    assert list(document.data)[:3] == ["apiVersion", "kind", "metadata"]
    assert "managedFields" not in document.data["metadata"]
    assert "uid" in document.data["metadata"]
    assert _named(_see(made, "a")) == ["cluster:dynamographdeployments/a/bad"]


@pytest.mark.parametrize("version", ["v1alpha1", "v1beta1"])
def test_a_version_that_is_served_is_asked_for(version: str) -> None:
    made = cluster(GOOD, served={"nvidia.com": frozenset({version})})
    [file] = _see(made).files
    assert isinstance(file, Source)
    assert load_documents(file.text)[0].data["apiVersion"] == f"nvidia.com/{version}"


def test_a_cluster_without_our_kinds_holds_nothing() -> None:
    assert _see(MemoryCluster()).files == []
    made = cluster(GOOD)

    def absent(verb: str, resource: Any, *_: str) -> Exception | None:
        return NotServedError(404, "", "no such kind") if resource and resource.plural in {kind.plural for kind in KINDS} else None

    made.fail(absent)
    assert _see(made) == ClusterSnapshot([], _see(made).facts)


MODELS = "cluster:dynamomodels/llm/m"


@pytest.mark.parametrize(
    ("failing", "error", "expected"),
    [
        (
            "dynamographdeployments",
            UnavailableError(500, "", "broken"),
            ["cluster:dynamographdeployments: can't be listed: broken", MODELS],
        ),
        ("dynamographdeployments", ForbiddenError(403, "", "no"), ["cluster:dynamographdeployments: can't be listed: no", MODELS]),
        ("groups", UnavailableError(0, "", "nobody there"), "nobody there"),
        ("groups", InvalidError(400, "", "what?"), "what?"),
        ("list", UnavailableError(0, "", "nobody there"), "nobody there"),
    ],
)
def test_a_kind_that_can_not_be_listed_is_no_lost_cluster(failing: str, error: Exception, expected: str | list[str]) -> None:
    made = cluster(GOOD, MODEL)
    made.fail(lambda verb, resource, *_: error if failing in (verb, resource and resource.plural) else None)
    snapshot = _see(made)
    lost = "" if isinstance(expected, list) else f"the cluster can't be asked: {expected}"
    seen = [str(file) if isinstance(file, InputError) else file.name for file in snapshot.files]
    assert (snapshot.unreachable, seen) == (lost, expected if isinstance(expected, list) else [])


def test_the_command_checks_the_stored_objects(command: Command, connected: Callable[..., Any]) -> None:
    made = cluster(BAD, NEEDS_GROVE)
    connections = connected(made)
    report = command("check", "--cluster", "--context", "c", "-o", "json").json
    assert connections == [("dynamo-webhooks-check", "", "c")]
    assert made.closed
    [finding] = report["findings"]
    assert (finding["rule"], finding["file"]) == (BAD_RULE, "cluster:dynamographdeployments/llm/bad")
    assert (report["summary"]["objects"], report["notEvaluated"]) == (2, [])
    assert command("check", "--cluster", "-n", "nowhere").code == 3
    out = command("check", "--cluster").out
    assert out.startswith(f"cluster:dynamographdeployments/llm/bad:14:7 error {BAD_RULE}")
    assert "\n     14 |       ingress:\n" in out
    # what was given wins over what the cluster says
    report = command("check", "--cluster", "--set-fact", "grove=false", "-o", "json").json
    assert {finding["object"]["name"] for finding in report["findings"]} == {"bad", "graph"}


def test_a_cluster_of_a_later_release_is_told_beside_the_line(command: Command, connected: Callable[..., Any]) -> None:
    later = build("DynamoGraphDeployment", line=NEWEST)
    later["spec"]["versions"].append({"name": "v1", "served": True, "storage": False})
    made = cluster(GOOD)
    for definition in (later, build("DynamoGraphDeploymentRequest", line=NEWEST)):
        asyncio.run(made.create(CRDS, definition))
    connected(made)
    note = f"this cluster is newer than operator {NEWEST}: judged as {NEWEST}, fields unknown: DynamoGraphDeployment version v1"
    assert f"; {note}" in command("check", "--cluster").err


def test_files_are_checked_though_the_cluster_is_out_of_reach(command: Command, files: Files, connected: Callable[..., Any]) -> None:
    made = cluster(GOOD)
    made.fail(lambda *_: ForbiddenError(401, "Unauthorized", "who are you?"))
    connected(made)
    files(a=BAD)
    ran = command("check", "--cluster", "a.yaml", "-q")
    why = "the cluster can't be asked: who are you?"
    message = f"{why}\nnot evaluated: updates: {why}, so the stored object is not known; DynamoGraphDeployment llm/bad (a.yaml:1)\n"
    assert (ran.code, ran.err) == (6, message)
    assert BAD_RULE in ran.out
    [note] = [entry for entry in command("check", "--cluster", "a.yaml", "-o", "json").json["notEvaluated"] if entry["rule"] == "updates"]
    assert note["reason"] == "the cluster can't be asked: who are you?, so the stored object is not known"


def test_an_object_with_odd_text_is_read_back_as_it_is(tmp_path: Path) -> None:
    odd = {"yes": "no", "n": "1:30", "e": "1e3", "block": "# dynamo-webhooks: ignore[x] y\n- a\n", "u": "\u2028\x7f é", "empty": ""}
    made = cluster(yaml.safe_dump({**yaml.safe_load(MODEL), "metadata": {"name": "m", "namespace": "n", "annotations": odd}}))
    [file] = _see(made).files
    assert isinstance(file, Source)
    assert load_documents(file.text)[0].data["metadata"]["annotations"] == odd


def rules(report: Any) -> set[str]:
    """The rules that found an error."""
    return {finding["rule"] for finding in report["findings"] if finding["level"] == "error"}


@pytest.mark.parametrize("version", ["v1alpha1", "v1beta1"])
def test_files_are_judged_as_updates_of_live_objects(command: Command, files: Files, connected: Callable[..., Any], version: str) -> None:
    made = cluster(LIVE)
    connected(made)
    files(chat=FILE, new=GOOD)
    (Path("chat.yaml")).write_text(command("convert", "chat.yaml", "--to", version).out)
    made.writes.clear()
    report = command("check", "chat.yaml", "new.yaml", *CLUSTER, "-o", "json").json
    assert rules(report) == {"dgd-backend-immutable"}
    assert {finding["file"] for finding in report["findings"] if finding["level"] == "error"} == {"chat.yaml"}
    assert made.writes == []
    # elsewhere there is no such object
    assert rules(command("check", "chat.yaml", "--cluster", "-n", "other", "--line", "1.2", "-o", "json").json) == set()


def test_a_kind_that_may_not_be_listed_leaves_its_updates_unjudged(command: Command, files: Files, connected: Callable[..., Any]) -> None:
    made = cluster(LIVE)
    made.denied.add(("list", "dynamographdeployments"))
    connected(made)
    files(chat=FILE)
    ran = command("check", "chat.yaml", *CLUSTER, "--require-facts", "-o", "json")
    [note] = [entry for entry in ran.json["notEvaluated"] if entry["rule"] == "updates"]
    assert (ran.code, note["reason"].partition(": ")[0]) == (5, "cluster:dynamographdeployments")


def test_a_cluster_that_takes_too_long_is_unreachable(
    command: Command, files: Files, connected: Callable[..., Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    made = cluster(LIVE)

    async def never() -> Any:
        await asyncio.Event().wait()

    monkeypatch.setattr(made, "groups", never)
    monkeypatch.setattr("dynamo_webhooks.cli.objects.cluster_snapshot.SNAPSHOT_TIMEOUT_SECONDS", 0.01)
    connected(made)
    files(chat=FILE)
    ran = command("check", "chat.yaml", *CLUSTER)
    assert (ran.code, "the cluster can't be asked: it took longer than 0.01 s" in ran.err) == (6, True)


def test_a_namespace_that_refuses_objects_is_a_finding(
    command: Command, files: Files, connected: Callable[..., Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    """And objects that name none are looked for in the namespace of the context."""
    made = cluster(LIVE)
    for name, phase in (("llm", "Active"), ("going", "Terminating")):
        asyncio.run(made.create(NAMESPACES, {"metadata": {"name": name}, "status": {"phase": phase}}))
    connected(made)
    monkeypatch.setattr("dynamo_webhooks.cli.objects.cluster_snapshot.find_context_namespace", lambda *_: "llm")
    files(chat=FILE)
    ran = command("check", "chat.yaml", "--cluster", "--line", "1.2")
    assert "dgd-backend-immutable" in ran.out
    assert "in namespace llm where they name none" in ran.err
    for name, message in (("nowhere", 'must be a namespace of the cluster, got "nowhere"'), ("going", '"going" is being deleted')):
        done = command("check", "chat.yaml", "--cluster", "-n", name)
        assert (message in done.out, "namespace-missing" in done.out) == (True, True), done.out


def test_duplicates_and_nulls_of_a_server_side_apply_are_refused_at_their_places(
    command: Command, files: Files, connected: Callable[..., Any]
) -> None:
    made = cluster(BETA)
    [metadata] = [record.obj["metadata"] for record in made.storage.records.values() if record.obj["kind"] == "DynamoGraphDeployment"]
    metadata["managedFields"] = [{"manager": "argocd", "operation": "Apply", "apiVersion": "nvidia.com/v1beta1", "fieldsV1": {}}]
    connected(made)
    files(a=BETA.replace("spec:\n", "spec:\n  restart: null\n", 1).replace('1.5.0"}', '1.5.0", env: [{name: A}, {name: A}]}'))
    findings = command("check", "--cluster", "a.yaml", "-o", "json").json["findings"]
    assert [(finding["line"], finding["path"]) for finding in findings if finding["level"] == "error"] == [
        (5, "spec.restart"),
        (7, "spec.components[0].podTemplate.spec.containers[0].env[1]"),
    ]
