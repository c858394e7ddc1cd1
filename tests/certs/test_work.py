"""`certs` by hand at an API server in memory: the same parts as the provisioner's, each used once."""

import base64
import json
from collections.abc import AsyncIterator
from dataclasses import replace

import pytest

from dynamo_webhooks.certs.reading import read_authority
from dynamo_webhooks.certs.state import Mode
from dynamo_webhooks.cli.commands.certs.work import CertificateActions, RefusedError, as_text, describe_cluster
from dynamo_webhooks.kube.resources import CRDS, SECRETS
from tests.certs.site import CALLED, NAMESPACE, Site, current

GRAPHS = "dynamographdeployments.nvidia.com"


@pytest.fixture
async def site() -> AsyncIterator[Site]:
    """A provisioned installation without a running provisioner, and without endpoints to probe."""
    new_site = Site()
    await new_site.install()
    assert await new_site.provisioner().once(60) is None
    new_site.cluster.writes.clear()
    yield new_site
    await new_site.stop()


def _hands(site: Site) -> CertificateActions:
    made = CertificateActions(site.cluster, site.about)
    made.gatherer.now = site.now  # the real clock must have no say in a test
    return made


async def test_issue_writes_a_new_leaf_of_the_same_authority(site: Site) -> None:
    before, authority = site.leaf(), current(site)
    message = await _hands(site).issue(dry_run=False)
    assert CALLED.serving in message
    assert site.leaf() != before
    assert current(site) == authority
    assert authority.issued(site.leaf())


@pytest.mark.parametrize("action", ["issue", "rotate", "inject"])
async def test_a_dry_run_writes_nothing(site: Site, action: str) -> None:
    made, before = _hands(site), site.storage.version
    if action == "issue":
        assert "would" in await made.issue(dry_run=True)
    elif action == "rotate":
        assert "would" in await made.rotate(compromised=True, dry_run=True)
    else:
        assert await made.inject(dry_run=True) == []
    assert site.storage.version == before


async def test_a_compromised_authority_is_marked_so(site: Site) -> None:
    await _hands(site).rotate(compromised=True, dry_run=False)
    secret = read_authority(site.secret(CALLED.authority))
    assert secret.reason == "compromised"
    assert secret.requested


async def test_inject_repairs_what_differs_and_names_what_it_leaves_alone(site: Site) -> None:
    await site.admin.merge_patch(CRDS, GRAPHS, {"spec": {"conversion": {"webhook": {"clientConfig": {"caBundle": None}}}}})
    foreign = {"spec": {"conversion": {"webhook": {"clientConfig": {"service": {"name": "operator", "namespace": "elsewhere"}}}}}}
    await site.admin.merge_patch(CRDS, "dynamocomponentdeployments.nvidia.com", foreign)
    done = await _hands(site).inject(dry_run=False)
    assert [well for well, _ in done] == [True, False]
    assert GRAPHS in done[0][1]
    assert "points to another service" in done[1][1]
    assert set(site.bundles()[GRAPHS]) == {current(site).pem}


async def test_inject_says_what_an_object_refused(site: Site) -> None:
    await site.admin.merge_patch(CRDS, GRAPHS, {"spec": {"conversion": {"webhook": {"clientConfig": {"caBundle": None}}}}})
    site.cluster.denied.add(("patch", "customresourcedefinitions"))
    [(well, message)] = await _hands(site).inject(dry_run=False)
    assert not well
    assert GRAPHS in message
    assert "forbidden" in message


async def test_without_an_authority_the_way_to_one_is_named() -> None:
    site = Site()
    await site.install()
    made = _hands(site)
    for attempt in (made.issue(dry_run=False), made.rotate(compromised=False, dry_run=False)):
        with pytest.raises(RefusedError, match="provision --once"):
            await attempt
    with pytest.raises(RefusedError, match="no authority to trust was found"):
        await made.inject(dry_run=False)


async def test_where_somebody_else_signs_nothing_is_signed(site: Site) -> None:
    made = CertificateActions(site.cluster, replace(site.about, mode=Mode.PROVIDED))
    with pytest.raises(RefusedError, match="not made by the provisioner"):
        await made.issue(dry_run=False)
    with pytest.raises(RefusedError, match="not made by the provisioner"):
        await made.rotate(compromised=False, dry_run=False)


async def test_inspect_shows_everything_and_no_key(site: Site) -> None:
    facts = describe_cluster(await _hands(site).gatherer.gather())
    assert facts["ready"] is True
    assert facts["phase"] == "STABLE"
    assert facts["certificate"]["fingerprint"] == site.leaf().fingerprint
    assert {each["inSync"] for each in facts["objects"]} == {True}
    assert len(facts["objects"]) == 6
    text = as_text(facts)
    assert text.startswith("ready\nmode: managed\nphase: STABLE\n")
    for name in (CALLED.serving, CALLED.authority):
        for key, value in site.secret(name)["data"].items():
            if key.endswith(".key"):
                assert base64.b64decode(value).decode().splitlines()[1] not in text + json.dumps(facts)


async def test_inspect_says_what_is_wrong_first(site: Site) -> None:
    await site.admin.delete(SECRETS, CALLED.serving, NAMESPACE)
    facts = describe_cluster(await _hands(site).gatherer.gather())
    assert facts["ready"] is False
    assert as_text(facts).startswith("not ready: the serving Secret is missing")
    assert facts["next"] == "WriteServing"
