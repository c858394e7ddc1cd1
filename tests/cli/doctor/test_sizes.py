"""`doctor` on objects that are too long, or nearly, for their kind's other version."""

from typing import Any

import pytest

from dynamo_webhooks.api.kinds import BY_NAME
from dynamo_webhooks.cli.commands.doctor.command import examine
from dynamo_webhooks.cli.commands.doctor.finding import Finding, Level
from dynamo_webhooks.cli.commands.doctor.storage import contents
from dynamo_webhooks.kube.resources import resource_of_kind
from tests.cli.doctor.test_doctor import sight
from tests.conversion.test_bounds import noise
from tests.kube.memory import MemoryCluster

Node = dict[str, Any]


async def _found(kind: str, spec: Node, **metadata: Any) -> list[Finding]:
    version = BY_NAME[kind].storage_version
    cluster = MemoryCluster()
    obj = {"apiVersion": f"nvidia.com/{version}", "kind": kind, "metadata": {"name": "g", "namespace": "n", **metadata}, "spec": spec}
    await cluster.create(resource_of_kind(kind, version), obj)
    return await contents(cluster, sight())


@pytest.mark.parametrize(
    ("kind", "spec", "path", "other"),
    [
        ("DynamoGraphDeployment", {"pvcs": [{"name": noise(300_000)}]}, "spec.pvcs[0].name", "v1beta1"),
        ("DynamoComponentDeployment", {"annotations": {"a": noise(300_000)}}, "spec.annotations[a]", "v1beta1"),
        ("DynamoGraphDeploymentRequest", {"overrides": {"dgd": {"spec": noise(300_000)}}}, "spec.overrides.dgd.spec", "v1alpha1"),
    ],
)
async def test_what_the_other_version_shows_in_part_is_a_warning(kind: str, spec: Node, path: str, other: str) -> None:
    [found] = await _found(kind, spec)
    assert (found.level, found.check, found.object) == (Level.WARNING, "sizes", f"{kind} n/g")
    plural, version = BY_NAME[kind].plural, BY_NAME[kind].storage_version
    assert found.repair == f"kubectl edit -n n {plural}.{version}.nvidia.com/g"
    assert found.text.startswith(f"{path}: must be smaller: 29")
    assert found.text.endswith(f" of 256 KiB of annotations in {other}; read-only there")


async def test_what_comes_near_is_for_information() -> None:
    [found] = await _found("DynamoGraphDeployment", {"pvcs": [{"name": noise(200_000)}]})
    assert (found.level, found.check) == (Level.INFO, "sizes")
    assert found.text == "spec.pvcs[0].name: takes 196 of 256 KiB of annotations in v1beta1; past that it is refused"


async def test_what_fits_is_not_mentioned() -> None:
    assert (
        await _found("DynamoGraphDeployment", {"pvcs": [{"name": noise(100_000)}], "envs": [{"name": "A", "value": noise(600_000)}]}) == []
    )


async def test_what_may_not_be_listed_is_told() -> None:
    cluster = MemoryCluster()
    cluster.denied.add(("list", "dynamographdeploymentrequests"))
    [found] = await contents(cluster, sight())
    assert (found.level, found.check) == (Level.WARNING, "permission")
    assert found.object == "dynamographdeploymentrequests of every namespace"


async def test_the_command_looks_at_them() -> None:
    cluster = MemoryCluster()
    metadata = {"name": "g", "namespace": "n"}
    await cluster.create(
        resource_of_kind("DynamoGraphDeployment", "v1alpha1"), {"metadata": metadata, "spec": {"pvcs": [{"name": noise(300_000)}]}}
    )
    findings = await examine(cluster, "dynamo-system", None, removing=False)
    assert [each.object for each in findings if each.check == "sizes"] == ["DynamoGraphDeployment n/g"]
