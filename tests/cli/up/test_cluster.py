"""What `up` registers, which is what the manifests register but for who is called, and what it finds and removes in a cluster in memory."""

import base64
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any, Final

import pytest
import yaml

from dynamo_webhooks.api.kinds import KINDS
from dynamo_webhooks.api.line import Line
from dynamo_webhooks.cli.commands.up import cluster as module
from dynamo_webhooks.cli.commands.up.cluster import MARK, list_registrations
from dynamo_webhooks.kube.resources import CRDS, DEPLOYMENTS, SERVICE_ACCOUNTS, VALIDATING, resource_of_kind
from tests.kube.memory import MemoryCluster

BASE: Final = Path(__file__).parents[3] / "manifests" / "base"
URL: Final = "https://10.0.0.1:9443"
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
    assert [deployment["metadata"]["name"] for deployment in (await memory.list(DEPLOYMENTS)).items] == ["theirs"]
    for resource in (CRDS, VALIDATING, graphs, SERVICE_ACCOUNTS):
        assert (await memory.list(resource)).items == []


@pytest.mark.parametrize("kind", ["CustomResourceDefinition", "ValidatingWebhookConfiguration"])
async def test_another_installation_is_refused_and_left(memory: MemoryCluster, kind: str) -> None:
    for resource, obj in list_registrations("https://127.0.0.1:1", b"", Line.V1_2):
        if resource.kind == kind:
            await memory.create(resource, {**obj, "metadata": {"name": obj["metadata"]["name"]}})
    writes = len(memory.writes)
    with pytest.raises(module.RefusedError, match=f"an installation that `up` didn't make: {kind} .*; use another cluster"):
        await module.claim_cluster("")
    assert await module.remove_ours("", of_killed=True) == "nothing of `up` is there"
    assert len(memory.writes) == writes


def _without_caller(entry: dict[str, Any]) -> dict[str, Any]:
    client = entry["clientConfig"]
    path = client["service"]["path"] if "service" in client else client["url"].removeprefix(URL)
    return {**entry, "clientConfig": path}


@pytest.mark.parametrize("file", ["mutating", "validating"])
def test_webhooks_are_those_of_the_manifests(file: str) -> None:
    shipped = yaml.safe_load((BASE / f"{file}.yaml").read_text())
    [made] = [obj for resource, obj in list_registrations(URL, b"pem", Line.V1_2) if resource.kind == shipped["kind"]]
    by_name = ({entry["name"]: _without_caller(entry) for entry in each["webhooks"]} for each in (made, shipped))
    assert next(by_name) == next(by_name)
    assert {entry["clientConfig"]["caBundle"] for entry in made["webhooks"]} == {base64.b64encode(b"pem").decode()}


@pytest.mark.parametrize("line", list(Line))
def test_all_objects_bear_the_mark_and_definitions_convert_by_url(line: Line) -> None:
    made = [obj for _, obj in list_registrations(URL, b"pem", line)]
    assert all(MARK.items() <= obj["metadata"]["labels"].items() for obj in made)
    crds = [obj for obj in made if obj["kind"] == "CustomResourceDefinition"]
    assert [crd["metadata"]["name"] for crd in crds] == [kind.crd_name for kind in KINDS if kind.is_of(line)]
    urls = {crd["spec"]["conversion"]["webhook"]["clientConfig"]["url"] for crd in crds if len(crd["spec"]["versions"]) > 1}
    assert urls == {f"{URL}/convert"}
