"""What `up` finds and removes in a cluster in memory."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import pytest

from dynamo_webhooks.api.line import Line
from dynamo_webhooks.cli.commands.up import cluster as module
from dynamo_webhooks.cli.commands.up.cluster import list_registrations
from dynamo_webhooks.cli.main import main
from dynamo_webhooks.kube.resources import CRDS, DEPLOYMENTS, SERVICE_ACCOUNTS, VALIDATING, resource_of_kind
from tests.kube.memory import MemoryCluster

LABELS = {"webhooks.nvidia.com/reconciled": "true"}


@pytest.fixture
def memory(monkeypatch: pytest.MonkeyPatch) -> MemoryCluster:
    made = MemoryCluster("tests")

    @asynccontextmanager
    async def connected(*_: Any) -> AsyncIterator[MemoryCluster]:
        yield made

    monkeypatch.setattr(module, "connect_cluster", connected)
    return made


def _obj(kind: str, name: str, labels: dict[str, str], created: str = "") -> dict[str, Any]:
    metadata = {"name": name, "namespace": "n", "labels": labels, **({"creationTimestamp": created} if created else {})}
    return {"apiVersion": "v1", "kind": kind, "metadata": metadata}


async def test_exactly_what_it_made_is_removed(memory: MemoryCluster) -> None:
    assert await module.remove_ours("", of_killed=True) == "nothing of `up` is there"
    graphs = resource_of_kind("DynamoGraphDeployment", "v1alpha1")
    for resource, obj in list_registrations("https://127.0.0.1:1", b"", Line.V1_2):
        await memory.create(resource, obj)
    await memory.create(graphs, {"apiVersion": graphs.api_version, "kind": graphs.kind, "metadata": {"name": "g", "namespace": "n"}})
    await memory.create(DEPLOYMENTS, {**_obj("Deployment", "ours", LABELS), "apiVersion": "apps/v1"})
    await memory.create(DEPLOYMENTS, {**_obj("Deployment", "theirs", {}), "apiVersion": "apps/v1"})
    await memory.create(SERVICE_ACCOUNTS, _obj("ServiceAccount", "planner-serviceaccount", LABELS))
    assert await module.remove_ours("", of_killed=True) == "removed 9 registrations and 1 Dynamo object"
    assert [one["metadata"]["name"] for one in (await memory.list(DEPLOYMENTS)).items] == ["theirs"]
    for resource in (CRDS, VALIDATING, graphs, SERVICE_ACCOUNTS):
        assert (await memory.list(resource)).items == []


@pytest.mark.parametrize("kind", ["CustomResourceDefinition", "ValidatingWebhookConfiguration"])
async def test_another_installation_is_refused_and_left(memory: MemoryCluster, kind: str) -> None:
    for resource, obj in list_registrations("https://127.0.0.1:1", b"", Line.V1_2):
        if resource.kind == kind:
            await memory.create(resource, {**obj, "metadata": {"name": obj["metadata"]["name"]}})
    writes = len(memory.writes)
    with pytest.raises(module.RefusedError, match=f"an installation that `up` didn't make: {kind} .*; use another cluster"):
        await module.claim("")
    assert await module.remove_ours("", of_killed=True) == "nothing of `up` is there"
    assert len(memory.writes) == writes


@pytest.mark.parametrize(
    ("words", "said"),
    [(("--address", "here"), "--address: must be HOST:PORT"), (("--kubeconfig", "/nowhere"), "--kubeconfig: a kubeconfig must be a file")],
)
def test_flags_that_can_not_be_used_are_named(
    words: tuple[str, ...], said: str, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    if "--address" in words:

        async def claimed(_: str) -> tuple[str, str]:
            return "https://127.0.0.1:6443", "me"

        monkeypatch.setattr(module, "claim", claimed)
    assert main(["up", *words]) == 2
    assert said in capsys.readouterr().err
