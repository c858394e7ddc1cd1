"""`doctor` on the versions in which objects are stored: what definitions note, what API servers do, and what the reads of objects cost."""

from __future__ import annotations

import contextlib
from typing import TYPE_CHECKING, Any, Final

import pytest

from dynamo_webhooks.api.kinds import BY_NAME
from dynamo_webhooks.cli.doctor import remains, storage
from dynamo_webhooks.cli.doctor.contents import contents
from dynamo_webhooks.cli.doctor.finding import Finding, Level
from dynamo_webhooks.kube.errors import ForbiddenError, UnavailableError
from dynamo_webhooks.kube.resources import ENDPOINT_SLICES, of_kind
from dynamo_webhooks.kube.storage_versions import storage_hash
from tests.cli.test_doctor import sight
from tests.kube.memory import MemoryCluster

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

    from dynamo_webhooks.cli.doctor.sight import Sight
    from dynamo_webhooks.kube.protocol import Cluster
    from dynamo_webhooks.kube.resources import Resource

Node = dict[str, Any]
KIND: Final = BY_NAME["DynamoGraphDeployment"]
MIGRATE: Final = "dynamo-webhooks migrate --to v1beta1 --kind DynamoGraphDeployment"


class Counting(MemoryCluster):
    """Counts conversions as an API server does: one for each read in another version than the object's own in `old`, else v1beta1."""

    def __init__(self, *, noise: int = 0, counts: bool = True) -> None:
        super().__init__()
        self.old: set[str] = set()  # names of objects that are stored in v1alpha1
        self.reads = 0
        self._noise, self._counts = noise, counts
        self._made = {("v1alpha1", "v1beta1"): 7, ("v1beta1", "v1alpha1"): 70}

    async def get(self, resource: Resource, name: str, namespace: str = "", *, subresource: str = "") -> Node | None:
        found = await super().get(resource, name, namespace, subresource=subresource)
        if resource.kind == KIND.name and found:
            self.reads += 1
            own = "v1alpha1" if name in self.old else "v1beta1"
            if own != resource.version and self._counts:
                self._made[own, resource.version] += 1
        return found

    async def metrics(self, name: str) -> dict[str, float]:
        for way in self._made:
            self._made[way] += self._noise if self.reads else 0
        series = 'crd_name="dynamographdeployments.nvidia.com",from_version="{}",succeeded="true",to_version="{}"'
        return {series.format(*way): float(count) for way, count in self._made.items()} if name == storage.CONVERSIONS else {}


async def _graphs(cluster: MemoryCluster, count: int, **metadata: Any) -> None:
    for number in range(count):
        obj = {"metadata": {"name": f"g{number:03}", "namespace": "n", **metadata}, "spec": {}}
        await cluster.create(of_kind(KIND.name, "v1beta1"), obj)


def _definition(stored: list[str], *, alpha: bool | None = True, line: str = "1.2") -> Node:
    """Stores in v1beta1; `alpha` is whether v1alpha1 is served, None where it is no version any more."""
    fields: Node = {"minAvailable": {}} if line == "1.5" else {}
    schema: Node = {"openAPIV3Schema": {"properties": {"spec": {"properties": {"components": {"items": {"properties": fields}}}}}}}
    versions = [{"name": "v1beta1", "served": True, "storage": True, "schema": schema}]
    versions += [] if alpha is None else [{"name": "v1alpha1", "served": alpha, "storage": False, "schema": schema}]
    return {"metadata": {"name": KIND.crd_name}, "spec": {"versions": versions}, "status": {"storedVersions": stored}}


def _sight(crd: Node) -> Sight:
    empty = sight()
    return empty._replace(crds={**empty.crds, KIND.plural: crd})


async def _found(cluster: MemoryCluster, stored: list[str], *, everything: bool = False, check: str = "stored-versions") -> list[Finding]:
    found = await contents(cluster, _sight(_definition(stored)), everything=everything)
    return [each for each in found if each.check == check]


async def test_objects_that_are_all_in_the_version_of_new_ones_are_told_if_the_definition_still_names_another() -> None:
    cluster = Counting()
    await _graphs(cluster, 3)
    assert await _found(cluster, ["v1beta1"]) == []
    [found] = await _found(cluster, ["v1alpha1", "v1beta1"])
    assert (found.level, found.object, found.repair) == (Level.INFO, f"CustomResourceDefinition {KIND.crd_name}", MIGRATE)
    assert (
        found.text == "objects may be stored in v1alpha1 and v1beta1, new ones in v1beta1; all 3 of 3 that were read are stored in v1beta1"
    )


async def test_objects_in_the_other_version_are_counted() -> None:
    cluster = Counting()
    await _graphs(cluster, 4)
    cluster.old = {"g001"}
    [found] = await _found(cluster, ["v1alpha1", "v1beta1"])
    assert found.text.endswith("; 1 of the 4 that were read, of 4, is stored in v1alpha1")


async def test_a_definition_that_does_not_name_their_version_is_a_warning() -> None:
    cluster = Counting()
    await _graphs(cluster, 4)
    cluster.old = {"g001", "g002"}
    [found] = await _found(cluster, ["v1beta1"])
    assert (found.level, found.repair) == (Level.WARNING, MIGRATE)
    text = "status.storedVersions must name v1alpha1, and doesn't: 2 of the 4 that were read, of 4, are stored in v1alpha1"
    assert found.text == text


async def test_reads_of_others_make_it_less_certain_and_never_wrong() -> None:
    cluster = Counting(noise=2)
    await _graphs(cluster, 6)
    cluster.old = {"g001", "g002", "g003"}
    [found] = await _found(cluster, ["v1beta1"])
    assert "between 1 and 5 of the 6 that were read" in found.text
    cluster.old = {"g001"}
    assert await _found(cluster, ["v1beta1"]) == [], "it may be nobody's but the noise's"


async def test_counts_of_another_api_server_prove_nothing() -> None:
    cluster = Counting(counts=False)
    await _graphs(cluster, 2)
    assert await _found(cluster, ["v1beta1"]) == []
    [found] = await _found(cluster, ["v1alpha1", "v1beta1"])
    assert found.text.endswith("; which ones can't be told without writing them")


@pytest.mark.parametrize(("everything", "reads"), [(False, 2 * 20), (True, 2 * 95)])
async def test_a_few_of_many_are_read_or_all(*, everything: bool, reads: int) -> None:
    cluster = Counting()
    await _graphs(cluster, 95)
    cluster.old = {"g094"}
    [found] = await _found(cluster, ["v1alpha1", "v1beta1"], everything=everything)
    assert cluster.reads <= reads
    assert cluster.reads >= reads * 0.9
    assert ("1 of the 95 that were read" in found.text) is everything


async def test_without_objects_nothing_is_measured() -> None:
    cluster = Counting()
    cluster.fail(lambda verb, *_: ForbiddenError(403, "Forbidden", "no") if verb == "metrics" else None)
    [found] = await _found(cluster, ["v1alpha1", "v1beta1"])
    assert found.text.endswith("; there is none")


@pytest.mark.parametrize("failed", [ForbiddenError(403, "Forbidden", "not you"), UnavailableError(500, "", "conversion webhook failed")])
async def test_what_can_not_be_read_is_told(failed: Exception) -> None:
    cluster = MemoryCluster()
    await _graphs(cluster, 1)
    cluster.fail(lambda verb, *_: failed if verb == "metrics" else None)
    [found] = await _found(cluster, ["v1alpha1", "v1beta1"])
    assert "; which ones can't be told without writing them" in found.text
    denied = await _found(cluster, ["v1beta1"], check="permission")
    if isinstance(failed, ForbiddenError):
        assert [(each.object, each.text) for each in denied] == [("metrics of the API server", "can't be read: not you")]
    else:
        assert found.text.endswith(": conversion webhook failed")
        assert denied == []


def _written_in(*versions: str) -> Node:
    return {"managedFields": [{"manager": "m", "apiVersion": f"nvidia.com/{each}", "fieldsV1": {}} for each in versions]}


@pytest.mark.parametrize(
    ("alpha", "level", "words"),
    [
        (True, None, ""),
        (False, Level.WARNING, "name v1alpha1, which is not served: every apply of them fails once it is removed"),
        (None, Level.ERROR, "must name a version that exists, and name v1alpha1: every apply of them fails"),
    ],
)
def test_managed_fields_of_versions_that_are_gone(*, alpha: bool | None, level: Level | None, words: str) -> None:
    written = _written_in("v1alpha1", "v1beta1", "v1alpha1")
    objects: list[Node] = [{"metadata": {"name": f"g{number}", "namespace": "n", **written}} for number in range(5)]
    found = [*remains.judged(_sight(_definition(["v1beta1"], alpha=alpha)), KIND, "v1beta1", objects)]
    assert [each.level for each in found] == ([level] if level else [])
    for each in found:
        assert each.check == "managed-fields"
        assert each.text.startswith("metadata.managedFields of 5 objects (n/g0, n/g1, n/g2, ...)")
        assert words in each.text
        assert each.repair == f"{MIGRATE} --retire v1alpha1"


@pytest.mark.parametrize("version", ["v9", "v1;date", "v1beta1"])
def test_a_version_that_migrate_does_not_know_is_no_repair(version: str) -> None:
    """Nor one that objects are stored in, though it is not served."""
    definition = _definition(["v1beta1"])
    definition["spec"]["versions"][0]["served"] = False
    objects: list[Node] = [{"metadata": {"name": "g", "namespace": "n", **_written_in(version)}}]
    [found] = remains.judged(_sight(definition), KIND, "v1beta1", objects)
    assert (found.check, found.repair) == ("managed-fields", "")


REQUEST: Final = BY_NAME["DynamoGraphDeploymentRequest"]
LEGACY: Final = {"nvidia.com/dgdr-config-map-ref": '{"name":"x"}'}
KEPT: Final = {"nvidia.com/dgdr-spec": '{"spec":{},"kept":[[["spec","x"],1]]}'}


@pytest.mark.parametrize(
    ("line", "annotations", "words"),
    [
        ("1.5", LEGACY, "1 object (n/r) have annotations of operators 1.0 and 1.1"),
        ("1.5", KEPT, "values in the annotation nvidia.com/dgdr-spec that a Go operator drops"),
        ("1.5", {"nvidia.com/dgdr-spec": '{"spec":{}}'}, ""),
        ("1.5", {"nvidia.com/dgdr-spec": "{"}, ""),
        ("1.2", {**LEGACY, **KEPT}, ""),
    ],
)
async def test_annotations_that_the_go_operator_of_line_1_5_drops(line: str, annotations: dict[str, str], words: str) -> None:
    cluster = Counting()
    obj = {"metadata": {"name": "r", "namespace": "n", "annotations": annotations}, "spec": {"model": "m"}}
    await cluster.create(of_kind(REQUEST.name, "v1beta1"), obj)
    found = await contents(cluster, _sight(_definition(["v1beta1"], line=line)), everything=False)
    told = [each for each in found if each.check == "remainders"]
    assert [words in each.text for each in told] == ([True] if words else [])
    assert all(each.repair == "dynamo-webhooks migrate --rewrite --kind DynamoGraphDeploymentRequest" for each in told)


class Servers:
    """API servers by address, each with what it stores graphs in; empty for whoever answers at the usual one."""

    def __init__(self, **hashes: str) -> None:
        self.hashes, self.asked = hashes, 0

    @contextlib.asynccontextmanager
    async def __call__(self, server: str) -> AsyncIterator[Cluster]:
        self.asked += 1
        cluster = MemoryCluster()
        version = self.hashes.get(server.removeprefix("https://").removesuffix(":6443"))
        if version is None:
            raise UnavailableError(0, "", "not from here")
        found = storage_hash("nvidia.com", version, KIND.name) if version else ""
        cluster.discovery = {("nvidia.com", "v1beta1"): [{"name": KIND.plural, "storageVersionHash": found}]}
        yield cluster


async def _servers(addresses: list[str], opener: Servers) -> list[Finding]:
    cluster = MemoryCluster()
    metadata = {"name": "kubernetes", "namespace": "default", "labels": {"kubernetes.io/service-name": "kubernetes"}}
    ports = [{"name": "https", "port": 6443}]
    endpoints = [{"addresses": [each], "conditions": {"ready": True}} for each in addresses]
    if addresses:
        await cluster.create(ENDPOINT_SLICES, {"metadata": metadata, "addressType": "IPv4", "ports": ports, "endpoints": endpoints})
    return await storage.servers(cluster, opener, _sight(_definition(["v1beta1"])))


async def test_an_api_server_that_stores_another_version_is_named() -> None:
    opener = Servers(**{"10.0.0.1": "v1beta1", "10.0.0.2": "v1alpha1", "10.0.0.3": ""})
    [found] = await _servers(["10.0.0.1", "10.0.0.2", "10.0.0.3"], opener)
    assert (found.level, found.check, found.repair) == (Level.WARNING, "stored-versions", MIGRATE)
    assert found.text.startswith("API server https://10.0.0.2:6443 must store objects in v1beta1 as the definition says")


@pytest.mark.parametrize(("usual", "named"), [("v1beta1", 0), ("v1alpha1", 1)])
async def test_from_outside_the_usual_address_is_asked_again_and_again(usual: str, named: int) -> None:
    opener = Servers(**{"": usual})
    found = await _servers(["10.0.0.1"], opener)
    assert opener.asked == 11
    assert ["behind the usual address" in each.text for each in found] == [True] * named


async def test_who_may_not_see_the_servers_is_told() -> None:
    cluster = MemoryCluster()
    cluster.denied.add(("list", "endpointslices"))
    [found] = await storage.servers(cluster, Servers(), sight())
    assert (found.level, found.check, found.object) == (Level.WARNING, "permission", "EndpointSlices of default/kubernetes")
