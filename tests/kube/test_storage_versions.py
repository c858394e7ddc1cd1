"""What definitions say of versions, whatever their quality, and what API servers say of themselves."""

import contextlib
from collections.abc import AsyncIterator

from dynamo_webhooks.api.crd import build
from dynamo_webhooks.api.kinds import BY_ALIAS
from dynamo_webhooks.api.line import Line
from dynamo_webhooks.kube.errors import UnavailableError
from dynamo_webhooks.kube.protocol import Cluster
from dynamo_webhooks.kube.resources import CRDS, ENDPOINT_SLICES
from dynamo_webhooks.kube.storage_versions import (
    MAX_TRIES,
    compute_storage_hash,
    load_api_servers,
    load_definition,
    read_storage_hashes,
)
from tests.kube.memory import MemoryCluster

DGD = BY_ALIAS["DGD"]


async def test_a_definition_tells_its_versions() -> None:
    cluster = MemoryCluster()
    assert await load_definition(cluster, DGD.crd_name) is None
    await cluster.create(CRDS, build(DGD.name, conversion={"strategy": "Webhook"}, line=Line.V1_2))
    crd = await load_definition(cluster, DGD.crd_name)
    assert crd is not None
    assert (crd.storage, crd.others, crd.served) == ("v1alpha1", ("v1beta1",), frozenset({"v1alpha1", "v1beta1"}))
    assert (crd.converts, crd.stored, crd.group, crd.plural, crd.kind) == (True, (), "nvidia.com", DGD.plural, DGD.name)
    assert crd.resource_version


async def test_servers_tell_what_they_store() -> None:
    cluster = MemoryCluster()
    listed = [{"name": DGD.plural, "storageVersionHash": "h"}, {"name": f"{DGD.plural}/status"}]
    cluster.discovery["nvidia.com", "v1beta1"] = listed
    servers = []

    @contextlib.asynccontextmanager
    async def opener(server: str) -> AsyncIterator[Cluster]:
        servers.append(server)
        if server == "https://10.0.0.9:6443":
            raise UnavailableError(0, "", "unreachable")
        yield cluster

    first, second = await read_storage_hashes(opener, ["https://10.0.0.8:6443", "https://10.0.0.9:6443"], "nvidia.com", "v1beta1")
    assert (first.hashes, first.wrong) == ({DGD.plural: "h", f"{DGD.plural}/status": ""}, "")
    assert (second.hashes, second.wrong) == ({}, "unreachable")
    servers.clear()
    assert len(await read_storage_hashes(opener, [], "nvidia.com", "v1beta1")) == MAX_TRIES
    assert servers == [""] * MAX_TRIES


def test_a_hash_is_that_of_group_version_and_kind() -> None:
    assert compute_storage_hash("nvidia.com", "v1beta1", DGD.name) != compute_storage_hash("nvidia.com", "v1alpha1", DGD.name)
    assert compute_storage_hash("apps", "v1", "Deployment") == "8aSe+NMegvE="  # of every Kubernetes
    assert compute_storage_hash("", "v1", "Pod") != "8aSe+NMegvE="


async def test_the_api_servers_are_those_of_the_service() -> None:
    cluster = MemoryCluster()
    assert await load_api_servers(cluster) == []
    ports = [{"name": "https", "port": 6443}, {"name": "other", "port": 1}]
    endpoints = [
        {"addresses": ["10.0.0.8", "10.0.0.7"]},
        {"addresses": ["fd00::1"], "conditions": {"ready": True}},
        {"addresses": ["10.0.0.9"], "conditions": {"ready": False}},
    ]
    for name, service in (("kubernetes", "kubernetes"), ("other", "other")):
        metadata = {"name": name, "namespace": "default", "labels": {"kubernetes.io/service-name": service}}
        await cluster.create(ENDPOINT_SLICES, {"metadata": metadata, "ports": ports, "endpoints": endpoints})
    await cluster.create(
        ENDPOINT_SLICES,
        {
            "metadata": {"name": "odd", "namespace": "default", "labels": {"kubernetes.io/service-name": "kubernetes"}},
            "ports": None,
            "endpoints": [None, {"addresses": None}],
        },
    )
    assert await load_api_servers(cluster) == ["https://10.0.0.7:6443", "https://10.0.0.8:6443", "https://[fd00::1]:6443"]
