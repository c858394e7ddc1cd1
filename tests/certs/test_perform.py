"""Events on the Deployment of the servers: the same as on the serving Secret, and what is logged once."""

from dataclasses import replace

import pytest

from dynamo_webhooks.api.crd import build
from dynamo_webhooks.api.kinds import BY_ALIAS
from dynamo_webhooks.api.line import Line
from dynamo_webhooks.certs import names
from dynamo_webhooks.certs.meters import Meters
from dynamo_webhooks.certs.state import Phase
from dynamo_webhooks.kube.protocol import Node
from dynamo_webhooks.kube.resources import CRDS, DEPLOYMENTS, SECRETS
from tests.certs.site import ABOUT, CALLED, NAMESPACE, SERVICE, Site

ROTATION = ("CARotationStarted", "CATrustPublished", "LeafIssued", "CARotationCompleted")
SERVERS: Node = {
    "apiVersion": DEPLOYMENTS.api_version,
    "kind": DEPLOYMENTS.kind,
    "metadata": {"name": f"{SERVICE}-server", "namespace": NAMESPACE},
    "spec": {"replicas": 2, "template": {"metadata": {"labels": {"a": "b"}}}},
}


def test_a_process_begins_with_no_conflict() -> None:
    """The counter is there from the start, so that its first increase is seen."""
    [line] = [line for line in Meters().text().decode().splitlines() if "secret_conflicts" in line and line[0] != "#"]
    assert float(line.split()[1]) == 0


async def _rotated(site: Site) -> None:
    """Installs, and renews the authority once."""
    await site.install("10.0.0.1")
    site.start()
    await site.until(Phase.STABLE)
    await site.admin.merge_patch(SECRETS, CALLED.authority, {"metadata": {"annotations": {names.REQUESTED: "now"}}}, NAMESPACE)
    await site.until(Phase.DRAIN)
    await site.until(Phase.STABLE)
    await site.stop()


async def test_the_deployment_is_told_what_the_secret_is_told_under_its_own_uid() -> None:
    site = Site()
    uid = (await site.admin.create(DEPLOYMENTS, SERVERS))["metadata"]["uid"]
    await _rotated(site)
    # counted Events move, and the Secret had no uid when its first was written
    assert set(site.events("Deployment")) == set(site.events()) == {*ROTATION}
    records = [record.obj for key, record in site.storage.records.items() if key[1] == "events"]
    about = [obj["involvedObject"] for obj in records if obj["involvedObject"]["kind"] == "Deployment"]
    references = {(each["apiVersion"], each["namespace"], each["name"], each["uid"]) for each in about}
    assert references == {("apps/v1", NAMESPACE, f"{SERVICE}-server", uid)}


async def test_a_deployment_that_cannot_be_read_costs_its_events_alone_and_that_is_said_once(caplog: pytest.LogCaptureFixture) -> None:
    site = Site()
    await site.admin.create(DEPLOYMENTS, SERVERS)
    site.cluster.denied.add(("get", "deployments"))
    with caplog.at_level("WARNING", "certs.tell"):
        await _rotated(site)
    assert site.events("Deployment") == []
    assert "CARotationCompleted" in site.events()
    assert len([record for record in caplog.records if "the Deployment of the servers gets no Events" in record.getMessage()]) == 1
    site.cluster.denied.clear()
    await site.admin.delete(SECRETS, CALLED.serving, NAMESPACE)
    site.start(site.provisioner("two"))
    await site.until(Phase.STABLE)
    await site.advance(60)
    assert site.events("Deployment") == ["LeafIssued"]


@pytest.mark.parametrize(("version", "warned"), [("1.6.0", 2), ("1.5.2", 1), ("", 0), ("dev", 0)])
async def test_definitions_of_another_operator_release_are_logged_once(version: str, warned: int, caplog: pytest.LogCaptureFixture) -> None:
    site = Site(replace(ABOUT, version=version))
    await site.install("10.0.0.1")

    async def apply(line: Line) -> None:
        versions = build("DynamoGraphDeployment", line=line)["spec"]["versions"]
        await site.admin.merge_patch(CRDS, BY_ALIAS["DGD"].crd_name, {"spec": {"versions": versions}})
        await site.advance(120)

    with caplog.at_level("WARNING", "certs.tell"):
        site.start()
        await apply(Line.V1_5)
        await apply(Line.V1_5)
        await apply(Line.V1_4)
        await site.stop()
    messages = [record.getMessage() for record in caplog.records if "must be of one operator release" in record.getMessage()]
    assert len(messages) == warned
    if version == "1.6.0":
        assert messages[0].startswith(
            "dynamographdeployments.nvidia.com is of operator 1.5, and operator.version is 1.6.0, which is 1.6.0 by default: "
        )
