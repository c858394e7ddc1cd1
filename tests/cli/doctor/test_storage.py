"""`doctor` on stored objects: their versions, by what definitions note and API servers do, and those too long for their other version."""

import re
from typing import Any, Final

import pytest

from dynamo_webhooks.api.kinds import BY_NAME
from dynamo_webhooks.cli.commands.doctor import storage
from dynamo_webhooks.cli.commands.doctor.command import examine
from dynamo_webhooks.cli.commands.doctor.finding import DoctorFinding, Level
from dynamo_webhooks.cli.commands.doctor.observe import ClusterView
from dynamo_webhooks.cli.commands.doctor.storage import check_contents, find_managed_fields
from dynamo_webhooks.kube.resources import ENDPOINT_SLICES, resource_of_kind
from dynamo_webhooks.kube.storage_versions import MAX_TRIES
from tests.cli.doctor.test_doctor import view
from tests.cli.migrate.test_servers import Servers
from tests.conversion.test_bounds import noise
from tests.kube.memory import MemoryCluster

Node = dict[str, Any]
KIND: Final = BY_NAME["DynamoGraphDeployment"]
MIGRATE: Final = "dynamo-webhooks migrate --to v1beta1 --kind DynamoGraphDeployment"


def _definition(stored: list[str], *, alpha: bool | None = True) -> Node:
    """Stores in v1beta1; `alpha` is whether v1alpha1 is served, None where it is no version any more."""
    versions = [{"name": "v1beta1", "served": True, "storage": True}]
    versions += [] if alpha is None else [{"name": "v1alpha1", "served": alpha, "storage": False}]
    return {"metadata": {"name": KIND.crd_name}, "spec": {"versions": versions}, "status": {"storedVersions": stored}}


def _sight(crd: Node) -> ClusterView:
    empty = view()
    return empty._replace(crds={**empty.crds, KIND.plural: crd})


@pytest.mark.parametrize(("stored", "count"), [(["v1beta1"], 0), (["v1alpha1", "v1beta1"], 1)])
def test_a_definition_that_names_two_versions_is_for_information(stored: list[str], count: int) -> None:
    findings = [*storage.check_versions(_sight(_definition(stored)))]
    assert [(each.level, each.object, each.repair) for each in findings] == [
        (Level.INFO, f"CustomResourceDefinition {KIND.crd_name}", MIGRATE)
    ] * count
    assert all(each.text == "objects may be stored in v1alpha1 and v1beta1, new ones in v1beta1" for each in findings)


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
    findings = [*find_managed_fields(_sight(_definition(["v1beta1"], alpha=alpha)), KIND, "v1beta1", objects)]
    assert [each.level for each in findings] == ([level] if level else [])
    for each in findings:
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
    [finding] = find_managed_fields(_sight(definition), KIND, "v1beta1", objects)
    assert (finding.check, finding.repair) == ("managed-fields", "")


async def _servers(addresses: list[str], opener: Servers) -> list[DoctorFinding]:
    cluster = MemoryCluster()
    metadata = {"name": "kubernetes", "namespace": "default", "labels": {"kubernetes.io/service-name": "kubernetes"}}
    ports = [{"name": "https", "port": 6443}]
    endpoints = [{"addresses": [each], "conditions": {"ready": True}} for each in addresses]
    if addresses:
        await cluster.create(ENDPOINT_SLICES, {"metadata": metadata, "addressType": "IPv4", "ports": ports, "endpoints": endpoints})
    return await storage.check_servers(cluster, opener, _sight(_definition(["v1beta1"])))


async def test_an_api_server_that_stores_another_version_is_named() -> None:
    opener = Servers(**{"10.0.0.1:6443": ["v1beta1"], "10.0.0.2:6443": ["v1alpha1"], "10.0.0.3:6443": [""]})
    [finding] = await _servers(["10.0.0.1", "10.0.0.2", "10.0.0.3"], opener)
    assert (finding.level, finding.check, finding.repair) == (Level.WARNING, "stored-versions", MIGRATE)
    assert finding.text.startswith("API server https://10.0.0.2:6443 must store objects in v1beta1 as the definition says")


@pytest.mark.parametrize(("usual", "named"), [("v1beta1", 0), ("v1alpha1", 1)])
async def test_from_outside_the_usual_address_is_asked_again_and_again(usual: str, named: int) -> None:
    opener = Servers([usual], **{"10.0.0.1:6443": [None]})
    findings = await _servers(["10.0.0.1"], opener)
    assert opener.asked == ["https://10.0.0.1:6443", *[""] * MAX_TRIES]
    assert ["behind the usual address" in each.text for each in findings] == [True] * named


async def test_what_may_not_be_listed_is_told() -> None:
    cluster = MemoryCluster()
    cluster.denied |= {("list", "endpointslices"), ("list", "dynamographdeploymentrequests")}
    findings = [*await storage.check_servers(cluster, Servers([None]), view()), *await check_contents(cluster, view())]
    names = ("EndpointSlices of default/kubernetes", "dynamographdeploymentrequests of every namespace")
    assert [(each.level, each.check, each.object) for each in findings] == [(Level.WARNING, "permission", name) for name in names]


async def _found(kind: str, spec: Node, **metadata: Any) -> list[DoctorFinding]:
    version = BY_NAME[kind].storage_version
    cluster = MemoryCluster()
    obj = {"apiVersion": f"nvidia.com/{version}", "kind": kind, "metadata": {"name": "g", "namespace": "n", **metadata}, "spec": spec}
    await cluster.create(resource_of_kind(kind, version), obj)
    return await check_contents(cluster, view())


LARGE: Final = "in v1beta1 it needs 29. of 256 KiB of annotations"
READ_ONLY: Final = "29. of 256 KiB of annotations in v1alpha1; read-only there"


@pytest.mark.parametrize(
    ("kind", "spec", "path", "text"),
    [
        ("DynamoGraphDeployment", {"pvcs": [{"name": noise(300_000)}]}, "spec.pvcs[0].name", LARGE),
        ("DynamoComponentDeployment", {"annotations": {"a": noise(300_000)}}, "spec.annotations[a]", LARGE),
        ("DynamoGraphDeploymentRequest", {"overrides": {"dgd": {"spec": noise(300_000)}}}, "spec.overrides.dgd.spec", READ_ONLY),
    ],
)
async def test_what_the_other_version_shows_in_part_is_a_warning(kind: str, spec: Node, path: str, text: str) -> None:
    [finding] = await _found(kind, spec)
    assert (finding.level, finding.check, finding.object) == (Level.WARNING, "sizes", f"{kind} n/g")
    plural, version = BY_NAME[kind].plural, BY_NAME[kind].storage_version
    assert finding.repair == f"kubectl edit -n n {plural}.{version}.nvidia.com/g"
    assert re.fullmatch(re.escape(f"{path}: must be smaller: ") + text, finding.text)


async def test_what_comes_near_is_for_information() -> None:
    [finding] = await _found("DynamoGraphDeployment", {"pvcs": [{"name": noise(200_000)}]})
    assert (finding.level, finding.check) == (Level.INFO, "sizes")
    assert finding.text == "spec.pvcs[0].name: takes 196 of 256 KiB of annotations in v1beta1; more is refused"


async def test_what_fits_is_not_mentioned() -> None:
    assert (
        await _found("DynamoGraphDeployment", {"pvcs": [{"name": noise(100_000)}], "envs": [{"name": "A", "value": noise(600_000)}]}) == []
    )


async def test_the_command_looks_at_them() -> None:
    cluster = MemoryCluster()
    metadata = {"name": "g", "namespace": "n"}
    await cluster.create(
        resource_of_kind("DynamoGraphDeployment", "v1alpha1"), {"metadata": metadata, "spec": {"pvcs": [{"name": noise(300_000)}]}}
    )
    findings = await examine(cluster, "dynamo-system", None, removing=False)
    assert [each.object for each in findings if each.check == "sizes"] == ["DynamoGraphDeployment n/g"]
