"""What kube builds on a Cluster, on the one in memory and on a real API server: Leases, reflector, detection, Events, a pod's own files."""

import asyncio
from contextlib import suppress
from functools import partial
from pathlib import Path

from dynamo_webhooks.kube.capability import DRA, GROVE, Detector, Presence
from dynamo_webhooks.kube.clocks import Clocks
from dynamo_webhooks.kube.config import load_config
from dynamo_webhooks.kube.events import Recorder
from dynamo_webhooks.kube.lease import Election
from dynamo_webhooks.kube.reflector import Reflector, WatchState
from dynamo_webhooks.kube.resources import CONFIG_MAPS, CORE_EVENTS, LEASES, SECRETS
from dynamo_webhooks.kube.scope import LEASE_NAME as NAME
from dynamo_webhooks.kube.scope import NamespaceLease
from tests.cluster.backends import PATIENCE, Backend
from tests.cluster.harness import ControlPlane


async def test_of_several_candidates_one_leads_and_the_next_when_it_lets_go(backend: Backend) -> None:
    times = [0.0] * 5
    elections = [
        Election(backend.cluster, "lock", backend.namespace, f"candidate-{number}", clocks=Clocks(partial(times.__getitem__, number)))
        for number in range(5)
    ]
    await asyncio.gather(*(each.attempt() for each in elections))
    (first,) = [each for each in elections if each.leading]
    others = [each for each in elections if each is not first]
    assert [await each.attempt() for each in others] == [False] * 4
    assert {each.holder for each in others} == {first.holder}
    assert await first.attempt()
    await first.release()
    assert await others[0].attempt()
    assert not await first.attempt()
    lease = await backend.cluster.get(LEASES, "lock", backend.namespace)
    assert lease is not None
    assert lease["spec"]["holderIdentity"] == others[0].holder
    assert lease["spec"]["leaseTransitions"] == 1


async def test_a_holder_that_died_is_followed_after_the_duration_on_our_own_clock(backend: Backend) -> None:
    time = [0.0]
    dead = Election(backend.cluster, "lock", backend.namespace, "dead", clocks=Clocks(lambda: time[0]))
    heir = Election(backend.cluster, "lock", backend.namespace, "heir", clocks=Clocks(lambda: time[0]))
    assert await dead.attempt()
    assert not await heir.attempt()
    time[0] = 15.0
    assert not await heir.attempt()
    time[0] = 15.1
    assert await heir.attempt()
    assert not dead.leading
    assert not await dead.attempt()


async def test_a_reflector_follows_a_named_object(backend: Backend) -> None:
    cluster, where = backend.cluster, backend.namespace
    seen: asyncio.Queue[tuple[str | None, str | None]] = asyncio.Queue()
    reflector = Reflector(cluster, CONFIG_MAPS, where, name="a")
    reflector.subscribe(lambda old, new: seen.put_nowait((old["data"]["x"] if old else None, new["data"]["x"] if new else None)))
    await cluster.create(CONFIG_MAPS, backend.config())
    await cluster.create(CONFIG_MAPS, backend.config("b"))
    task = asyncio.create_task(reflector.run())
    try:
        async with asyncio.timeout(PATIENCE):
            await reflector.synced.wait()
            assert await seen.get() == (None, "1")
            await cluster.merge_patch(CONFIG_MAPS, "a", {"data": {"x": "2"}}, where)
            assert await seen.get() == ("1", "2")
            await cluster.delete(CONFIG_MAPS, "a", where)
            assert await seen.get() == ("2", None)
    finally:
        task.cancel()
        with suppress(asyncio.CancelledError):
            await task
    assert (reflector.store, reflector.state) == ({}, WatchState.SYNCED)


async def test_events_are_counted(backend: Backend) -> None:
    cluster, where = backend.cluster, backend.namespace
    recorder = Recorder(cluster, "provisioner")
    about = await cluster.create(CONFIG_MAPS, backend.config())
    for message in ("first", "first", "second"):
        await recorder.record(about, "Normal", "LeafIssued", message)
    events = (await cluster.list(CORE_EVENTS, where)).items
    assert [(event["reason"], event["message"], event["count"]) for event in events] == [("LeafIssued", "second", 2)]
    assert events[0]["involvedObject"]["uid"] == about["metadata"]["uid"]


async def test_a_namespace_is_claimed_and_released(backend: Backend) -> None:
    claim = NamespaceLease(backend.cluster, backend.namespace)
    await claim.acquire()
    lease = await backend.cluster.get(LEASES, NAME, backend.namespace)
    assert lease is not None
    assert lease["spec"]["renewTime"]
    assert claim.held
    await claim.release()
    assert await backend.cluster.get(LEASES, NAME, backend.namespace) is None


async def test_optional_apis_are_detected(backend: Backend) -> None:
    admin, author = Detector(backend.cluster, [GROVE, DRA]), Detector(backend.author, [GROVE, DRA])
    assert await admin.detect()
    assert await author.detect()
    assert admin.known == {"grove": Presence.ABSENT, "dra": Presence.USABLE}
    assert author.known == {"grove": Presence.ABSENT, "dra": Presence.FORBIDDEN}


async def test_a_pod_reaches_the_server_with_its_own_files_and_is_who_it_thinks_it_is(alpha: ControlPlane, tmp_path: Path) -> None:
    from dynamo_webhooks.kube.client import Client
    from dynamo_webhooks.kube.connection import Connection

    where = alpha.namespace()
    account = f"/api/v1/namespaces/{where}/serviceaccounts"
    assert alpha.request("POST", account, {"metadata": {"name": "server"}}).status == 201
    token = alpha.request("POST", f"{account}/server/token", {"spec": {"expirationSeconds": 3600}}).body["status"]["token"]
    for name, content in {"token": token, "ca.crt": alpha.ca.read_text(), "namespace": where}.items():
        (tmp_path / name).write_text(content)
    environ = {"KUBERNETES_SERVICE_HOST": "127.0.0.1", "KUBERNETES_SERVICE_PORT": str(alpha.port), "POD_SERVICE_ACCOUNT": "server"}
    connection = Connection(await load_config(environ=environ, account=tmp_path), agent="test")
    try:
        review = await connection.ask("POST", "/apis/authentication.k8s.io/v1/selfsubjectreviews", body={})
        assert review["status"]["userInfo"]["username"] == f"system:serviceaccount:{where}:server"
        assert not await Client(connection, "test").allowed("get", SECRETS, where)
    finally:
        await connection.close()
