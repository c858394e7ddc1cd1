"""The provisioner against an API server in memory: it installs, rotates, repairs, waits and hands over."""

import asyncio
from collections.abc import AsyncIterator
from datetime import timedelta

import pytest
from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat, load_pem_private_key

from dynamo_webhooks.certs import names
from dynamo_webhooks.certs.authority import KeyPair, issue_leaf, make_authority
from dynamo_webhooks.certs.certificate import read_certificates
from dynamo_webhooks.certs.report import read_conditions
from dynamo_webhooks.certs.state import Mode, Phase, Timings
from dynamo_webhooks.kube.errors import UnavailableError
from dynamo_webhooks.kube.lease import Timings as LeaseTimings
from dynamo_webhooks.kube.resources import CONFIG_MAPS, CRDS, ENDPOINT_SLICES, MUTATING, SECRETS, VALIDATING, Resource
from tests.certs.site import CALLED, NAMESPACE, Site, configuration, current, encoded, entry, piece
from tests.kube.memory import MemoryCluster

VALIDATING_NAME = "dynamo-webhooks-validating"
GRAPHS = "dynamographdeployments.nvidia.com"


@pytest.fixture
async def site() -> AsyncIterator[Site]:
    new_site = Site()
    yield new_site
    await new_site.stop()


@pytest.fixture
async def stable(site: Site) -> Site:
    """Two servers, everything installed, one provisioner at rest."""
    await site.install("10.0.0.1", "10.0.0.2")
    site.start()
    await site.until(Phase.STABLE)
    return site


async def _rotate(site: Site, wish: str = "now") -> None:
    await site.admin.merge_patch(SECRETS, CALLED.authority, {"metadata": {"annotations": {names.REQUESTED: wish}}}, NAMESPACE)


async def test_a_first_start_makes_everything_and_crds_are_trusted_first(stable: Site) -> None:
    shown = stable.bundles()
    expected = current(stable).pem
    assert len(shown) == 6
    assert all(bundles and set(bundles) == {expected} for bundles in shown.values())
    assert current(stable).issued(stable.leaf())
    assert stable.usable() == {current(stable).fingerprint}
    order = [plural for verb, plural, _ in stable.cluster.writes if verb in {"create", "json_patch"} and plural != "events"]
    kinds = [*dict.fromkeys(order)]
    assert kinds == ["leases", "secrets", "customresourcedefinitions", "mutatingwebhookconfigurations",
                     "validatingwebhookconfigurations", "configmaps"]  # fmt: skip


async def test_at_rest_nothing_is_written(stable: Site) -> None:
    await stable.advance(60)
    stable.cluster.writes.clear()
    await stable.advance(1800, 60)
    assert {plural for _, plural, _ in stable.cluster.writes} == {"leases"}


async def test_leader_and_standby_are_ready_but_no_replica_without_a_view(site: Site) -> None:
    await site.install("10.0.0.1")
    leader, other = site.provisioner("one"), site.provisioner("two", MemoryCluster("two", storage=site.storage))
    unasked = ["it is not known who leads: the Lease has not been read yet"]
    assert (await leader.reasons(), await other.reasons()) == (unasked, unasked)
    site.start(leader)
    await site.until(Phase.STABLE)
    site.start(other)
    await site.advance(30)
    assert (await leader.reasons(), await other.reasons()) == ([], []), "a roll-out waits for it before the leader may go"
    assert (await other.details())[0].startswith("standing by: the Lease is held by one")

    def blind(_verb: str, resource: Resource | None, *_: str) -> UnavailableError | None:
        return UnavailableError(503, "", "no answer") if resource is not None and resource.plural == "secrets" else None

    seeing = site.cluster.fail(blind)
    await site.advance(1200, 60)
    assert await leader.reasons() == ["the cluster can't be read: no answer"]
    seeing()
    await site.advance(120)
    assert await leader.reasons() == []


async def test_the_order_in_which_things_are_installed_does_not_matter(site: Site) -> None:
    site.start()
    await site.advance(30)
    assert site.stored(SECRETS, CALLED.serving) is not None
    await site.install("10.0.0.1")
    await site.advance(2)
    assert all(bundles and set(bundles) == {current(site).pem} for bundles in site.bundles().values())
    await site.advance(60)
    assert "WebhookConfigMissing" not in site.events()


async def test_objects_that_do_not_come_are_told_of_after_a_minute(site: Site) -> None:
    site.start()
    await site.advance(59)
    assert "WebhookConfigMissing" not in site.events()
    await site.advance(2)
    assert "WebhookConfigMissing" in site.events()


async def test_a_rotation_goes_through_all_phases_and_ends_with_one_authority(stable: Site) -> None:
    old, old_leaf = current(stable), stable.leaf()
    await _rotate(stable)
    for phase in (Phase.SETTLE, Phase.ROLL, Phase.DRAIN, Phase.STABLE):
        await stable.until(phase)
        leaf = stable.leaf()
        if phase is Phase.SETTLE:
            assert leaf == old_leaf
        if phase in {Phase.ROLL, Phase.DRAIN}:
            assert not old.issued(leaf)
            assert all(old in read_certificates(bundle) for bundles in stable.bundles().values() for bundle in bundles)
    new = current(stable)
    assert new != old
    assert all(set(bundles) == {new.pem} for bundles in stable.bundles().values())
    assert stable.usable() == {new.fingerprint}
    assert set(stable.secret(CALLED.authority)["data"]) == {"current.crt", "current.key"}
    assert stable.phases()[-6:] == ["TRUST", "SETTLE", "ROLL", "DRAIN", "DROP", "STABLE"]
    reasons = stable.events()
    wanted = ["CARotationStarted", "CATrustPublished", "LeafIssued", "CARotationCompleted"]
    assert [reason for reason in reasons if reason in wanted][-4:] == wanted


async def test_a_server_that_keeps_the_old_leaf_holds_the_rotation_up_and_is_named(stable: Site) -> None:
    stable.frozen["10.0.0.2"] = stable.leaf()
    old = current(stable)
    await _rotate(stable)
    await stable.until(Phase.ROLL)
    await stable.advance(1200, 20)
    assert await stable.phase() is Phase.ROLL
    assert "CARotationStuck" in stable.events()
    [stuck] = [condition for condition in read_conditions(stable.secret(CALLED.authority)) if condition["type"] == "CARotationStuck"]
    assert "10.0.0.2:9443" in stuck["message"]
    assert all(old in read_certificates(bundle) for bundles in stable.bundles().values() for bundle in bundles)
    stable.frozen.clear()
    await stable.until(Phase.STABLE)


async def _make_immutable(site: Site) -> None:
    for resource, name in ((SECRETS, CALLED.serving), (SECRETS, CALLED.authority), (CONFIG_MAPS, CALLED.trust)):
        await site.admin.merge_patch(resource, name, {"immutable": True, "metadata": {"finalizers": ["a.example/b"]}}, NAMESPACE)


async def test_immutable_objects_are_made_anew_and_named(stable: Site, caplog: pytest.LogCaptureFixture) -> None:
    await _make_immutable(stable)
    old, notes = current(stable), {"metadata": {"annotations": {"theirs": "1"}}}
    await stable.admin.merge_patch(SECRETS, CALLED.serving, notes, NAMESPACE)
    await stable.advance(60)
    [message] = [entry["message"] for entry in read_conditions(stable.secret(CALLED.authority)) if entry["type"] == "ObjectImmutable"]
    assert f"Secret {CALLED.serving} is immutable" in message
    await _rotate(stable)
    await stable.until(Phase.ROLL)
    await stable.until(Phase.STABLE)
    assert current(stable) != old
    assert current(stable).issued(stable.leaf())
    assert stable.usable() == {current(stable).fingerprint}
    for resource, name in ((SECRETS, CALLED.serving), (SECRETS, CALLED.authority), (CONFIG_MAPS, CALLED.trust)):
        obj = stable.stored(resource, name)
        assert obj is not None
        assert (obj.get("immutable"), obj["metadata"].get("finalizers")) == (None, None)
        assert f"{obj['kind']} {name} is immutable: it is deleted and created again" in caplog.text
    assert stable.secret(CALLED.serving)["metadata"]["annotations"]["theirs"] == "1"
    assert "ObjectImmutable" in stable.events()
    assert not [condition for condition in read_conditions(stable.secret(CALLED.authority)) if condition["type"] == "ObjectImmutable"]


@pytest.mark.parametrize("immutable", [False, True])
async def test_a_rotation_ends_well_though_each_provisioner_dies_after_one_write(stable: Site, *, immutable: bool) -> None:
    """Also between the deletion of an immutable object and its creation, where even the authority is lost."""
    await stable.stop()
    if immutable:
        await _make_immutable(stable)
    old, quick = current(stable), LeaseTimings(duration=3, deadline=2, retry=1)
    await _rotate(stable)
    for number in range(60):
        mortal, spent = MemoryCluster(f"mortal-{number}", storage=stable.storage), False

        def fate(verb: str, resource: Resource | None, *_: str) -> UnavailableError | None:
            nonlocal spent
            if spent:
                return UnavailableError(0, "", "killed")
            spent = (
                verb in {"create", "replace", "json_patch", "delete"}
                and resource is not None
                and resource.plural not in {"leases", "events"}
            )
            return None

        mortal.fail(fate)
        task = stable.start(stable.provisioner(str(number), mortal, quick))
        for _ in range(40):
            await stable.advance(20)
            if spent or await stable.phase() is Phase.STABLE:
                break
        task.cancel()
        await stable.advance(5)
        leaf = stable.served()
        assert leaf is not None
        trusting = [read_certificates(bundle) for bundles in stable.bundles().values() for bundle in bundles]
        assert all(any(cert.issued(leaf) for cert in shown) for shown in trusting), number
        if await stable.phase() is Phase.STABLE and not spent:
            break
    assert number > 15
    assert await stable.phase() is Phase.STABLE
    assert all(set(bundles) == {current(stable).pem} for bundles in stable.bundles().values())
    assert current(stable) != old


async def _empty(site: Site, resource: str) -> None:
    """Spoils one object as a careless apply does."""
    if resource == "crd":
        await site.admin.merge_patch(CRDS, GRAPHS, {"spec": {"conversion": {"webhook": {"clientConfig": {"caBundle": None}}}}})
    elif resource == "stanza":
        await site.admin.merge_patch(CRDS, GRAPHS, {"spec": {"conversion": {"strategy": "None", "webhook": None}}})
    elif resource == "stranger":
        bundle = encoded(make_authority(site.storage.now).certificate)
        patch = [{"op": "add", "path": "/webhooks/0/clientConfig/caBundle", "value": bundle}]
        await site.admin.json_patch(MUTATING, "dynamo-webhooks-mutating", patch)
    elif resource == "one entry":
        await site.admin.json_patch(VALIDATING, VALIDATING_NAME, [{"op": "remove", "path": "/webhooks/2/clientConfig/caBundle"}])
    else:
        await site.admin.delete(VALIDATING, VALIDATING_NAME)
        await site.advance(1)
        await site.admin.create(VALIDATING, configuration(VALIDATING, VALIDATING_NAME, entry("a")))


@pytest.mark.parametrize("how", ["crd", "stanza", "stranger", "one entry", "applied again"])
async def test_drift_is_repaired_at_once_though_a_server_does_not_answer(stable: Site, how: str) -> None:
    """A full look asks each server for its certificate, and would wait for the silent one; the repair does not."""
    await stable.advance(60)
    stable.silence = asyncio.Event()
    await _empty(stable, how)
    await stable.advance(0.5)
    assert all(bundles and set(bundles) == {current(stable).pem} for bundles in stable.bundles().values())
    assert "TrustDriftRepaired" in stable.events()
    stable.silence.set()


async def test_it_is_ready_when_the_installation_is_up_and_then_stays_so(site: Site) -> None:
    provisioner = site.provisioner()
    site.start(provisioner)
    await site.advance(10)
    await site.install()
    await site.admin.create(ENDPOINT_SLICES, piece("10.0.0.1", ready=False))
    await site.until(Phase.STABLE)
    assert await provisioner.reasons() == ["the installation is not up yet: no server is ready behind the Service"]
    await site.admin.merge_patch(ENDPOINT_SLICES, piece()["metadata"]["name"], {"endpoints": piece("10.0.0.1")["endpoints"]}, NAMESPACE)
    await site.advance(0.5)
    assert await provisioner.reasons() == ["the installation is not up yet: the API servers may not have seen it"]
    await site.advance(2)
    assert await provisioner.reasons() == []
    await site.admin.delete(ENDPOINT_SLICES, piece()["metadata"]["name"], NAMESPACE)
    await site.advance(60)
    assert await provisioner.reasons() == [], "servers that go later are their own affair"


async def test_an_installation_that_does_not_come_up_holds_no_roll_out_up_for_ever(site: Site) -> None:
    provisioner = site.provisioner()
    await site.install()
    site.start(provisioner)
    await site.advance(290)
    assert await provisioner.reasons() == ["the installation is not up yet: no server is ready behind the Service"]
    await site.advance(20)
    assert await provisioner.reasons() == []


async def test_while_an_object_refuses_the_bundle_the_installation_is_not_up(site: Site) -> None:
    provisioner = site.provisioner()
    await site.install("10.0.0.1")
    site.cluster.denied.add(("patch", "customresourcedefinitions"))
    site.start(provisioner)
    await site.advance(30)
    assert await provisioner.reasons() == ["the installation is not up yet: the trust is not published to every configuration object yet"]


async def test_all_bundles_are_written_after_one_look(site: Site) -> None:
    """A look reads six objects and asks every server, so that one before each write would take an installation seconds longer."""
    order: list[str] = []

    def note(verb: str, _resource: object, _namespace: str, name: str) -> None:
        if verb == "json_patch":
            order.append("write")
        elif (verb, name) == ("get", CALLED.authority):
            order.append("look")

    await site.install("10.0.0.1")
    site.cluster.fail(note)
    site.start()
    await site.until(Phase.STABLE)
    begin = order.index("write")
    assert order[begin : begin + 6] == ["write"] * 6


async def test_a_stanza_that_points_to_another_service_is_left_alone_unless_it_may_be_taken_over(site: Site) -> None:
    await site.install("10.0.0.1")
    theirs = {"service": {"name": "operator", "namespace": "elsewhere", "path": "/convert"}, "caBundle": "dGhlaXJz"}
    stanza = {"strategy": "Webhook", "webhook": {"clientConfig": theirs, "conversionReviewVersions": ["v1"]}}
    await site.admin.json_patch(CRDS, GRAPHS, [{"op": "add", "path": "/spec/conversion", "value": stanza}])
    first = site.start()
    await site.until(Phase.STABLE)
    crd = site.stored(CRDS, GRAPHS)
    assert crd is not None
    assert crd["spec"]["conversion"] == stanza
    assert "points to another service" in str(read_conditions(site.secret(CALLED.authority)))
    first.cancel()
    await site.advance(1)
    site.with_(take_over=True)
    site.start(site.provisioner("two"))
    await site.advance(60)
    crd = site.stored(CRDS, GRAPHS)
    assert crd is not None
    assert crd["spec"]["conversion"]["webhook"]["clientConfig"]["service"]["name"] == "dynamo-webhooks"


@pytest.mark.parametrize("hours", [2, -2])
async def test_a_clock_that_is_hours_off_signs_nothing_repairs_trust_and_says_so(stable: Site, hours: int) -> None:
    stable.skew = timedelta(hours=hours)
    await stable.advance(60)
    await stable.admin.delete(SECRETS, CALLED.serving, NAMESPACE)
    await _empty(stable, "crd")
    await stable.advance(60)
    assert stable.stored(SECRETS, CALLED.serving) is None
    assert set(stable.bundles()[GRAPHS]) == {current(stable).pem}
    assert "ClockSkew" in stable.events()
    stable.skew = timedelta(0)
    await stable.advance(700)
    assert current(stable).issued(stable.leaf())


async def test_an_object_that_refuses_does_not_keep_the_others_from_being_written(site: Site) -> None:
    await site.install("10.0.0.1")
    site.cluster.fail(
        lambda verb, _resource, _namespace, name: (
            UnavailableError(500, "InternalError", "a webhook says no") if verb == "json_patch" and name == GRAPHS else None
        )
    )
    site.start()
    await site.advance(120)
    shown = site.bundles()
    assert shown.pop(GRAPHS) != [current(site).pem]
    assert all(set(bundles) == {current(site).pem} for bundles in shown.values())


async def test_a_conflict_with_another_writer_floods_no_client(stable: Site) -> None:
    """Another client empties a bundle after each write."""
    await stable.advance(120)

    def undo(_verb: str, _resource: object, _namespace: str, name: str) -> None:
        record = stable.stored(VALIDATING, VALIDATING_NAME)
        if name == VALIDATING_NAME and record is not None:
            record["webhooks"][0]["clientConfig"].pop("caBundle", None)

    stable.cluster.writes.clear()
    stable.cluster.fail(undo)
    await _empty(stable, "one entry")
    await stable.advance(120)
    written = [each for each in stable.cluster.writes if each[2] == VALIDATING_NAME]
    assert 0 < len(written) < 60


async def test_metrics_say_what_a_monitor_needs(site: Site) -> None:
    await site.install("10.0.0.1")
    provisioner = site.provisioner()
    site.start(provisioner)
    await site.until(Phase.STABLE)
    await site.advance(30)
    text = (await provisioner.metrics()).decode()
    values = dict(line.rsplit(" ", 1) for line in text.splitlines() if not line.startswith("#"))
    assert float(values["dynamo_webhooks_leaf_not_after_seconds"]) == site.leaf().not_after.timestamp()
    assert 'dynamo_webhooks_rotation_phase{phase="STABLE"} 1.0' in text
    assert f'dynamo_webhooks_trust_in_sync{{kind="CustomResourceDefinition",name="{GRAPHS}"}} 1.0' in text
    await _rotate(site)
    await site.until(Phase.ROLL)
    await site.until(Phase.STABLE)
    text += (await provisioner.metrics()).decode()
    assert 'dynamo_webhooks_rotations_total{reason="requested",result="completed"} 1.0' in text
    assert 'dynamo_webhooks_leaf_issued_total{reason="missing"} 1.0' in text
    assert 'dynamo_webhooks_endpoint_leaf_in_sync{address="10.0.0.1:9443"} 1.0' in text
    assert "dynamo_webhooks_provisioner_leading 1.0" in text
    assert f'dynamo_webhooks_bundle_writes_total{{kind="CustomResourceDefinition",name="{GRAPHS}",reason="bootstrap"}} 1.0' in text


async def test_once_does_what_can_be_done_and_says_what_is_missing(site: Site) -> None:
    site.admin.denied.clear()
    problem = await site.provisioner().once(60)
    assert problem is not None
    assert problem[0] == "object-missing"
    await site.install()
    assert await site.provisioner().once(60) is None
    assert all(set(bundles) == {current(site).pem} for bundles in site.bundles().values())


async def test_once_tells_a_lease_that_is_not_to_be_had_from_one_that_another_holds(site: Site) -> None:
    """A missing permission must not be reported as another provisioner."""
    site.cluster.denied.add(("get", "leases"))
    provisioner = site.provisioner()
    assert not await provisioner.election.attempt()
    with pytest.raises(UnavailableError, match=r"it is not known who leads: .*forbidden"):
        await provisioner.once(0)
    site.cluster.denied.clear()
    assert await site.provisioner("two").election.attempt()
    assert not await provisioner.election.attempt()
    with pytest.raises(TimeoutError):
        await provisioner.once(0)


async def _left_by_the_go_operator(site: Site) -> KeyPair:
    """A serving Secret as the Go operator leaves it: RSA, PKCS#1, with the authority's key."""
    authority = make_authority(site.storage.now, key_kind="rsa-2048")
    key = load_pem_private_key(authority.key, password=None)
    old = key.private_bytes(Encoding.PEM, PrivateFormat.TraditionalOpenSSL, NoEncryption())
    leaf = issue_leaf(authority, ("operator-webhook.dynamo-system.svc", *site.about.profile.names), site.storage.now)
    data = {"tls.crt": leaf.certificate, "tls.key": leaf.key, "ca.crt": authority.certificate, "ca.key": old}
    metadata = {"name": CALLED.serving, "namespace": NAMESPACE}
    secret = {"apiVersion": "v1", "kind": "Secret", "metadata": metadata, "type": "kubernetes.io/tls"}
    await site.admin.create(SECRETS, secret | {"data": {name: encoded(value) for name, value in data.items()}})
    return KeyPair(leaf.certificate, old)


async def test_an_authority_of_the_go_operator_is_adopted_and_then_replaced(site: Site) -> None:
    short = timedelta(seconds=20)  # reading an RSA key takes its time, and a look reads it
    site.with_(timings=Timings(settle=short, min_roll=short, drain=short))
    leaf, _ = await _left_by_the_go_operator(site)
    await site.install("10.0.0.1")
    site.start()
    await site.advance(2)
    assert set(site.secret(CALLED.serving)["data"]) == {"tls.crt", "tls.key", "ca.crt"}
    assert site.leaf() == read_certificates(leaf)[0]
    await site.until(Phase.ROLL)
    await site.until(Phase.STABLE)
    assert current(site).key_kind == "ecdsa-p256"
    assert current(site).issued(site.leaf())


@pytest.mark.parametrize("forced", [False, True])
async def test_nothing_is_adopted_while_the_go_operator_runs_unless_forced(site: Site, *, forced: bool) -> None:
    await _left_by_the_go_operator(site)
    await site.install("10.0.0.1")
    await site.admin.create(ENDPOINT_SLICES, piece("10.0.0.7", service="operator-webhook"))
    site.with_(force_adoption=forced).start()
    await site.advance(30)
    assert ("ca.key" in site.secret(CALLED.serving)["data"]) is not forced
    assert (site.stored(SECRETS, CALLED.authority) is not None) is forced


async def test_where_somebody_else_does_everything_nothing_is_written(site: Site) -> None:
    site.with_(mode=Mode.EXTERNAL_INJECTION)
    await site.install("10.0.0.1")
    site.cluster.denied |= {("get", "configmaps"), ("patch", "customresourcedefinitions")}
    provisioner = site.provisioner()
    site.start(provisioner)
    await site.advance(60)
    assert {plural for _, plural, _ in site.cluster.writes} <= {"leases", "events"}
    assert "TrustMismatch" in site.events()
    assert "dynamo_webhooks_trust_mismatch" in (await provisioner.metrics()).decode()


async def test_no_log_line_holds_a_key(site: Site, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level("DEBUG")
    await site.install("10.0.0.1")
    site.start()
    await site.until(Phase.STABLE)
    assert "WriteServing" in caplog.text
    assert "PRIVATE KEY" not in caplog.text
    for name in (CALLED.serving, CALLED.authority):
        for key, value in site.secret(name)["data"].items():
            assert not key.endswith(".key") or value[60:100] not in caplog.text
