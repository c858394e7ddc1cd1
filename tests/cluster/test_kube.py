"""What a Cluster promises, asked of the one in memory and of a real API server alike: the one in memory can't lie."""

from __future__ import annotations

import asyncio
from contextlib import aclosing, suppress
from dataclasses import dataclass, field
from functools import partial
from itertools import count
from typing import TYPE_CHECKING, Any

import pytest

from api.kinds import ALPHA
from kube.capability import DRA, GROVE, Detector, Presence
from kube.config import load
from kube.errors import AlreadyExistsError, ConflictError, ForbiddenError, GoneError, InvalidError, NotFoundError, UnavailableError
from kube.events import Recorder
from kube.identity import principal
from kube.lease import Election
from kube.reflector import Reflector, State
from kube.resources import CONFIG_MAPS, CORE_EVENTS, DEPLOYMENTS, LEASES, SECRETS, of_kind
from kube.scope import NAME, NamespaceLease
from tests.cluster import objects
from tests.cluster.harness import USER
from tests.kube.memory import MemoryCluster
from tests.kube.storage import Storage

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Awaitable, Callable
    from pathlib import Path

    from kube.protocol import Cluster, Event, Node
    from tests.cluster.harness import ControlPlane

GRAPHS = of_kind("DynamoGraphDeployment", ALPHA)
MANY = 1200  # more than two pages
PATIENCE = 60.0  # seconds for something that happens at once unless the machine is very busy


@dataclass
class Backend:
    """A server with an admin's client and that of somebody who may not read Secrets."""

    cluster: Cluster
    author: Cluster
    new_namespace: Callable[[], str]
    too_old: Callable[[], Awaitable[str]]  # a resourceVersion of graphs from before what the server remembers
    namespace: str = field(init=False)

    def __post_init__(self) -> None:
        self.namespace = self.new_namespace()

    def config(self, name: str = "a", data: Node | None = None, **metadata: Any) -> Node:
        metadata = {"name": name, "namespace": self.namespace, **metadata}
        return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata, "data": {"x": "1"} if data is None else data}


def _memory() -> Backend:
    storage, names = Storage(), count(1)
    served = {"resource.k8s.io": frozenset({"v1"})}
    cluster, author = (MemoryCluster(name, storage=storage, served=served) for name in ("admin", "author"))
    for plural in ("secrets", "resourceclaimtemplates"):
        author.denied |= {(verb, plural) for verb in ("get", "list", "watch", "create", "update", "patch", "delete")}

    async def too_old() -> str:
        await cluster.forget()
        return "1"

    return Backend(cluster, author, lambda: f"test-{next(names)}", too_old)


async def _latest() -> str:
    return "1"  # older than the kind, hence than everything that its watch cache has ever held


@pytest.fixture(params=["memory", "real"])
async def server(request: pytest.FixtureRequest) -> AsyncIterator[Backend]:
    if request.param == "memory":
        yield _memory()
        return
    from kube.client import connect

    plane: ControlPlane = request.getfixturevalue("alpha")
    admin, author = await connect("admin", str(plane.kubeconfig)), await connect("author", str(plane.kubeconfig), USER)
    try:
        yield Backend(admin, author, plane.namespace, _latest)
    finally:
        await admin.close()
        await author.close()


async def test_an_object_is_created_read_replaced_patched_and_deleted(server: Backend) -> None:
    cluster, where = server.cluster, server.namespace
    made = await cluster.create(CONFIG_MAPS, server.config())
    assert made["metadata"]["uid"]
    assert made["metadata"]["creationTimestamp"].endswith("Z")
    assert [(entry["manager"], entry["operation"]) for entry in made["metadata"]["managedFields"]] == [("admin", "Update")]
    assert await cluster.get(CONFIG_MAPS, "a", where) == made
    replaced = await cluster.replace(CONFIG_MAPS, {**made, "data": {"x": "2"}})
    assert replaced["metadata"]["resourceVersion"] != made["metadata"]["resourceVersion"]
    merged = await cluster.merge_patch(CONFIG_MAPS, "a", {"data": {"x": None, "y": "3"}}, where)
    assert merged["data"] == {"y": "3"}
    patched = await cluster.json_patch(CONFIG_MAPS, "a", [{"op": "add", "path": "/data/z", "value": "4"}], where)
    assert patched["data"] == {"y": "3", "z": "4"}
    assert patched["metadata"]["uid"] == made["metadata"]["uid"]
    assert await cluster.delete(CONFIG_MAPS, "a", where) is True
    assert await cluster.delete(CONFIG_MAPS, "a", where) is False
    assert await cluster.get(CONFIG_MAPS, "a", where) is None


async def test_what_is_there_is_not_created_again_and_what_is_not_is_not_changed(server: Backend) -> None:
    cluster, where = server.cluster, server.namespace
    await cluster.create(CONFIG_MAPS, server.config())
    with pytest.raises(AlreadyExistsError):
        await cluster.create(CONFIG_MAPS, server.config())
    with pytest.raises(NotFoundError):
        await cluster.replace(CONFIG_MAPS, server.config("b"))
    with pytest.raises(NotFoundError):
        await cluster.merge_patch(CONFIG_MAPS, "b", {"data": {}}, where)
    with pytest.raises(NotFoundError):
        await cluster.json_patch(CONFIG_MAPS, "b", [{"op": "remove", "path": "/data"}], where)
    with pytest.raises(UnavailableError) as refused:
        await cluster.create(CONFIG_MAPS, server.config("b", resourceVersion="7"))
    assert refused.value.code == 500  # a real server doesn't call it a mistake of ours


async def test_a_name_is_generated(server: Backend) -> None:
    obj = server.config()
    obj["metadata"] = {"generateName": "made-"}
    first, second = [await server.cluster.create(CONFIG_MAPS, obj, server.namespace) for _ in range(2)]
    assert first["metadata"]["name"] != second["metadata"]["name"]
    assert first["metadata"]["name"].startswith("made-")
    assert first["metadata"]["namespace"] == server.namespace


async def test_the_second_writer_of_one_version_gets_a_conflict(server: Backend) -> None:
    cluster, where = server.cluster, server.namespace
    made = await cluster.create(CONFIG_MAPS, server.config())
    await cluster.replace(CONFIG_MAPS, {**made, "data": {"x": "2"}})
    with pytest.raises(ConflictError):
        await cluster.replace(CONFIG_MAPS, {**made, "data": {"x": "3"}})
    old = {"metadata": {"resourceVersion": made["metadata"]["resourceVersion"]}}
    with pytest.raises(ConflictError):
        await cluster.merge_patch(CONFIG_MAPS, "a", {**old, "data": {"x": "3"}}, where)
    unversioned = {**made, "metadata": {"name": "a", "namespace": where}, "data": {"x": "4"}}
    assert (await cluster.replace(CONFIG_MAPS, unversioned))["data"] == {"x": "4"}


async def test_only_the_object_of_that_uid_is_deleted(server: Backend) -> None:
    made = await server.cluster.create(CONFIG_MAPS, server.config())
    with pytest.raises(ConflictError):
        await server.cluster.delete(CONFIG_MAPS, "a", server.namespace, uid="another")
    assert await server.cluster.delete(CONFIG_MAPS, "a", server.namespace, uid=made["metadata"]["uid"])


async def test_a_test_operation_that_fails_changes_nothing(server: Backend) -> None:
    cluster, where = server.cluster, server.namespace
    made = await cluster.create(CONFIG_MAPS, server.config())
    change = {"op": "add", "path": "/data/x", "value": "2"}
    for test in ({"path": "/data/x", "value": "0"}, {"path": "/metadata/resourceVersion", "value": "0"}):
        with pytest.raises(InvalidError):
            await cluster.json_patch(CONFIG_MAPS, "a", [{"op": "test", **test}, change], where)
    assert await cluster.get(CONFIG_MAPS, "a", where) == made
    passing = {"op": "test", "path": "/metadata/resourceVersion", "value": made["metadata"]["resourceVersion"]}
    assert (await cluster.json_patch(CONFIG_MAPS, "a", [passing, change], where))["data"] == {"x": "2"}


async def test_a_write_that_changes_nothing_makes_no_version(server: Backend) -> None:
    made = await server.cluster.create(CONFIG_MAPS, server.config())
    same = await server.cluster.merge_patch(CONFIG_MAPS, "a", {"data": {"x": "1"}}, server.namespace)
    assert same["metadata"]["resourceVersion"] == made["metadata"]["resourceVersion"]


async def test_a_dry_run_leaves_no_trace(server: Backend) -> None:
    cluster, where = server.cluster, server.namespace
    assert (await cluster.create(CONFIG_MAPS, server.config(), dry_run=True))["data"] == {"x": "1"}
    assert await cluster.get(CONFIG_MAPS, "a", where) is None
    made = await cluster.create(CONFIG_MAPS, server.config())
    assert (await cluster.merge_patch(CONFIG_MAPS, "a", {"data": {"x": "2"}}, where, dry_run=True))["data"] == {"x": "2"}
    assert (await cluster.apply(CONFIG_MAPS, server.config(data={"y": "1"}), manager="m", dry_run=True))["data"] == {"x": "1", "y": "1"}
    assert await cluster.get(CONFIG_MAPS, "a", where) == made


async def test_the_generation_counts_what_is_wanted_and_the_status_is_written_apart(server: Backend) -> None:
    cluster, where = server.cluster, server.namespace
    made = await cluster.create(GRAPHS, {**objects.graph(where), "status": {"state": "sent"}})
    assert made["metadata"]["generation"] == 1
    assert "status" not in made
    labelled = await cluster.merge_patch(GRAPHS, "t", {"metadata": {"labels": {"a": "b"}}, "status": {"state": "sent"}}, where)
    assert labelled["metadata"]["generation"] == 1
    assert "status" not in labelled
    status = await cluster.merge_patch(GRAPHS, "t", {"status": {"state": "successful"}, "spec": None}, where, subresource="status")
    assert (status["metadata"]["generation"], status["status"]["state"]) == (1, "successful")
    assert status["spec"] == made["spec"]
    changed = await cluster.merge_patch(GRAPHS, "t", {"spec": {"services": {"w": {"replicas": 2}}}}, where)
    assert (changed["metadata"]["generation"], changed["status"]["state"]) == (2, "successful")
    with pytest.raises(InvalidError):
        await cluster.replace(GRAPHS, {**changed, "metadata": {"name": "t", "namespace": where}})


async def test_a_finalizer_holds_a_deletion_up(server: Backend) -> None:
    cluster, where = server.cluster, server.namespace
    await cluster.create(CONFIG_MAPS, server.config(finalizers=["example.com/wait"]))
    assert await cluster.delete(CONFIG_MAPS, "a", where)
    marked = await cluster.get(CONFIG_MAPS, "a", where)
    assert marked is not None
    assert marked["metadata"]["deletionTimestamp"]
    assert await cluster.delete(CONFIG_MAPS, "a", where)
    await cluster.merge_patch(CONFIG_MAPS, "a", {"metadata": {"finalizers": None}}, where)
    assert await cluster.get(CONFIG_MAPS, "a", where) is None


@pytest.mark.parametrize(
    ("labels", "names"),
    [
        ("", "abc"),
        ("app=x", "ab"),
        ("app==x,tier!=1", "b"),
        ("tier", "ab"),
        ("!tier", "c"),
        ("tier!=1", "bc"),
        ("app in (x, y),tier", "ab"),
        ("tier notin (1)", "bc"),
        ("app=x,tier in (1)", "a"),
    ],
)
async def test_labels_select(server: Backend, labels: str, names: str) -> None:
    for name, given in {"a": {"app": "x", "tier": "1"}, "b": {"app": "x", "tier": "2"}, "c": {"app": "y"}}.items():
        await server.cluster.create(CONFIG_MAPS, server.config(name, labels={**given, "here": "yes"}))
    listing = await server.cluster.list(CONFIG_MAPS, server.namespace, labels=f"here,{labels}" if labels else "here")
    assert "".join(item["metadata"]["name"] for item in listing.items) == names


async def test_fields_select(server: Backend) -> None:
    for name in "ab":
        await server.cluster.create(CONFIG_MAPS, server.config(name))
    named = await server.cluster.list(CONFIG_MAPS, server.namespace, fields="metadata.name=b")
    assert [(item["kind"], item["apiVersion"], item["metadata"]["name"]) for item in named.items] == [("ConfigMap", "v1", "b")]
    others = await server.cluster.list(CONFIG_MAPS, fields=f"metadata.name!=b,metadata.namespace={server.namespace}")
    assert [item["metadata"]["name"] for item in others.items] == ["a"]
    with pytest.raises(InvalidError):
        await server.cluster.list(CONFIG_MAPS, fields="data.x=1")


async def test_all_pages_are_read(server: Backend) -> None:
    async def some(first: int) -> None:
        for number in range(first, MANY, 8):
            await server.cluster.create(CONFIG_MAPS, server.config(f"c{number:04}", {}))

    await asyncio.gather(*(some(first) for first in range(8)))
    listing = await server.cluster.list(CONFIG_MAPS, server.namespace)
    assert [item["metadata"]["name"] for item in listing.items] == [f"c{number:04}" for number in range(MANY)]
    assert listing == await server.cluster.list(CONFIG_MAPS, server.namespace, limit=0)


async def _take(server: Backend, version: str, wanted: int, *, fields: str = "", labels: str = "") -> list[Event]:
    """The first events after `version` that are no bookmarks."""
    watch = server.cluster.watch(CONFIG_MAPS, server.namespace, version=version, fields=fields, labels=labels)
    found: list[Event] = []
    async with asyncio.timeout(PATIENCE), aclosing(watch) as events:
        async for event in events:
            if event.type != "BOOKMARK":
                found.append(event)
            if len(found) == wanted:
                break
    return found


async def test_a_watch_goes_on_from_any_version(server: Backend) -> None:
    cluster, where = server.cluster, server.namespace
    start = (await cluster.list(CONFIG_MAPS, where)).version
    made = await cluster.create(CONFIG_MAPS, server.config())
    await cluster.merge_patch(CONFIG_MAPS, "a", {"data": {"x": "2"}}, where)
    await cluster.delete(CONFIG_MAPS, "a", where)
    events = await _take(server, start, 3)
    assert [(event.type, event.object["data"]["x"]) for event in events] == [("ADDED", "1"), ("MODIFIED", "2"), ("DELETED", "2")]
    assert events[0].object == made
    versions = [int(event.object["metadata"]["resourceVersion"]) for event in events]
    assert versions == sorted(set(versions))
    assert await _take(server, str(versions[0]), 2) == events[1:]


async def test_a_watch_with_a_selector_sees_what_comes_to_match_as_added(server: Backend) -> None:
    cluster, where = server.cluster, server.namespace
    start = (await cluster.list(CONFIG_MAPS, where)).version
    await cluster.create(CONFIG_MAPS, server.config())
    await cluster.create(CONFIG_MAPS, server.config("b"))
    for label in ("yes", None):
        await cluster.merge_patch(CONFIG_MAPS, "a", {"metadata": {"labels": {"seen": label}}}, where)
    events = await _take(server, start, 2, labels="seen=yes")
    assert [(event.type, event.object["metadata"]["name"]) for event in events] == [("ADDED", "a"), ("DELETED", "a")]
    assert [event.object["metadata"]["name"] for event in await _take(server, start, 1, fields="metadata.name=b")] == ["b"]


async def test_a_version_that_is_too_old_is_gone(server: Backend) -> None:
    await server.cluster.create(GRAPHS, objects.graph(server.namespace))
    version = await server.too_old()
    watch = server.cluster.watch(GRAPHS, server.namespace, version=version)
    async with asyncio.timeout(PATIENCE), aclosing(watch) as events:
        with pytest.raises(GoneError):
            await _first_news(events)


async def _first_news(events: AsyncIterator[Event]) -> Event | None:
    async for event in events:
        if event.type != "BOOKMARK":
            return event
    return None


async def test_apply_owns_fields_and_names_who_else_does(server: Backend) -> None:
    cluster = server.cluster
    made = await cluster.apply(CONFIG_MAPS, server.config(data={"x": "1", "y": "1"}), manager="one")
    assert [(entry["manager"], entry["operation"]) for entry in made["metadata"]["managedFields"]] == [("one", "Apply")]
    again = await cluster.apply(CONFIG_MAPS, server.config(data={"x": "1", "y": "1"}), manager="one")
    assert again["metadata"]["resourceVersion"] == made["metadata"]["resourceVersion"]
    with pytest.raises(ConflictError, match="one"):
        await cluster.apply(CONFIG_MAPS, server.config(data={"x": "2"}), manager="two")
    both = await cluster.apply(CONFIG_MAPS, server.config(data={"x": "1", "z": "1"}), manager="two")
    assert both["data"] == {"x": "1", "y": "1", "z": "1"}
    forced = await cluster.apply(CONFIG_MAPS, server.config(data={"x": "2", "z": "1"}), manager="two", force=True)
    assert forced["data"] == {"x": "2", "y": "1", "z": "1"}
    dropped = await cluster.apply(CONFIG_MAPS, server.config(data={}), manager="one")
    assert dropped["data"] == {"x": "2", "z": "1"}


async def test_apply_meets_an_ordinary_write(server: Backend) -> None:
    cluster, where = server.cluster, server.namespace
    await cluster.apply(CONFIG_MAPS, server.config(data={"x": "1", "y": "1"}), manager="one")
    await cluster.merge_patch(CONFIG_MAPS, "a", {"data": {"x": "hand"}}, where)
    with pytest.raises(ConflictError, match="admin"):
        await cluster.apply(CONFIG_MAPS, server.config(data={"x": "1", "y": "1"}), manager="one")
    healed = await cluster.apply(CONFIG_MAPS, server.config(data={"x": "1", "y": "1"}), manager="one", force=True)
    assert healed["data"] == {"x": "1", "y": "1"}


def _deployment(namespace: str, env: dict[str, str]) -> Node:
    container = {"name": "main", "image": "example", "env": [{"name": name, "value": value} for name, value in env.items()]}
    template = {"metadata": {"labels": {"a": "b"}}, "spec": {"containers": [container]}}
    spec = {"selector": {"matchLabels": {"a": "b"}}, "template": template}
    return {"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": "d", "namespace": namespace}, "spec": spec}


async def test_apply_keeps_the_elements_of_a_keyed_list_that_others_own(server: Backend) -> None:
    cluster, where = server.cluster, server.namespace
    await cluster.apply(DEPLOYMENTS, _deployment(where, {"A": "1", "B": "1"}), manager="one")
    await cluster.apply(DEPLOYMENTS, _deployment(where, {"C": "1"}), manager="two")
    left = await cluster.apply(DEPLOYMENTS, _deployment(where, {"A": "2"}), manager="one")
    env = left["spec"]["template"]["spec"]["containers"][0]["env"]
    assert {each["name"]: each["value"] for each in env} == {"A": "2", "C": "1"}
    assert left["metadata"]["generation"] == 3


async def test_apply_of_a_status_leaves_the_rest(server: Backend) -> None:
    cluster, where = server.cluster, server.namespace
    made = await cluster.create(GRAPHS, objects.graph(where))
    status = {**objects.graph(where, {}), "status": {"state": "successful"}}
    applied = await cluster.apply(GRAPHS, status, manager="one", subresource="status")
    assert applied["status"]["state"] == "successful"
    assert applied["spec"] == made["spec"]


async def test_of_several_candidates_one_leads_and_the_next_when_it_lets_go(server: Backend) -> None:
    times = [0.0] * 5
    elections = [
        Election(server.cluster, "lock", server.namespace, f"candidate-{number}", clock=partial(times.__getitem__, number))
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
    lease = await server.cluster.get(LEASES, "lock", server.namespace)
    assert lease is not None
    assert lease["spec"]["holderIdentity"] == others[0].holder
    assert lease["spec"]["leaseTransitions"] == 1


async def test_a_holder_that_died_is_followed_after_the_duration_on_our_own_clock(server: Backend) -> None:
    time = [0.0]
    dead = Election(server.cluster, "lock", server.namespace, "dead", clock=lambda: time[0])
    heir = Election(server.cluster, "lock", server.namespace, "heir", clock=lambda: time[0])
    assert await dead.attempt()
    assert not await heir.attempt()
    time[0] = 15.0
    assert not await heir.attempt()
    time[0] = 15.1
    assert await heir.attempt()
    assert not dead.leading
    assert not await dead.attempt()


async def test_a_missing_permission_is_said_beforehand_and_raised(server: Backend) -> None:
    await server.cluster.create(SECRETS, {"metadata": {"name": "s", "namespace": server.namespace}, "stringData": {"key": "hidden"}})
    assert await server.cluster.allowed("get", SECRETS, server.namespace, "s")
    assert not await server.author.allowed("get", SECRETS, server.namespace, "s")
    with pytest.raises(ForbiddenError, match="secrets") as refused:
        await server.author.get(SECRETS, "s", server.namespace)
    assert "hidden" not in str(refused.value)
    with pytest.raises(ForbiddenError):
        await server.author.apply(
            SECRETS, {"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "n", "namespace": server.namespace}}, manager="m"
        )
    with pytest.raises(ForbiddenError):
        async with asyncio.timeout(PATIENCE), aclosing(server.author.watch(SECRETS, server.namespace, version="1")) as events:
            await anext(events)


async def test_the_server_tells_its_groups_and_its_time(server: Backend) -> None:
    assert "v1" in (await server.cluster.groups())[""]
    first = await server.cluster.server_time()
    second = await server.cluster.server_time()
    assert first.microsecond == 0
    assert second >= first
    assert first.tzinfo is not None


async def test_a_reflector_follows_a_named_object(server: Backend) -> None:
    cluster, where = server.cluster, server.namespace
    seen: asyncio.Queue[tuple[str | None, str | None]] = asyncio.Queue()
    reflector = Reflector(cluster, CONFIG_MAPS, where, name="a")
    reflector.subscribe(lambda old, new: seen.put_nowait((old["data"]["x"] if old else None, new["data"]["x"] if new else None)))
    await cluster.create(CONFIG_MAPS, server.config())
    await cluster.create(CONFIG_MAPS, server.config("b"))
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
    assert (reflector.store, reflector.state) == ({}, State.SYNCED)


async def test_events_are_counted(server: Backend) -> None:
    cluster, where = server.cluster, server.namespace
    recorder = Recorder(cluster, "provisioner", "pod-0")
    about = await cluster.create(CONFIG_MAPS, server.config())
    for message in ("first", "first", "second"):
        await recorder.record(about, "Normal", "LeafIssued", message)
    events = (await cluster.list(CORE_EVENTS, where)).items
    assert [(event["reason"], event["message"], event["count"]) for event in events] == [("LeafIssued", "second", 2)]
    assert events[0]["involvedObject"]["uid"] == about["metadata"]["uid"]


async def test_a_namespace_is_claimed_and_released(server: Backend) -> None:
    claim = NamespaceLease(server.cluster, server.namespace)
    await claim.acquire()
    lease = await server.cluster.get(LEASES, NAME, server.namespace)
    assert lease is not None
    assert lease["spec"]["renewTime"]
    assert claim.held
    await claim.release()
    assert await server.cluster.get(LEASES, NAME, server.namespace) is None


async def test_optional_apis_are_detected(server: Backend) -> None:
    admin, author = Detector(server.cluster, [GROVE, DRA]), Detector(server.author, [GROVE, DRA])
    assert await admin.detect()
    assert await author.detect()
    assert admin.known == {"grove": Presence.ABSENT, "dra": Presence.USABLE}
    assert author.known == {"grove": Presence.ABSENT, "dra": Presence.FORBIDDEN}


async def test_a_pod_reaches_the_server_with_its_own_files_and_is_who_it_thinks_it_is(alpha: ControlPlane, tmp_path: Path) -> None:
    from kube.client import Client
    from kube.connection import Connection

    where = alpha.namespace()
    account = f"/api/v1/namespaces/{where}/serviceaccounts"
    assert alpha.request("POST", account, {"metadata": {"name": "server"}}).status == 201
    token = alpha.request("POST", f"{account}/server/token", {"spec": {"expirationSeconds": 3600}}).body["status"]["token"]
    for name, content in {"token": token, "ca.crt": alpha.ca.read_text(), "namespace": where}.items():
        (tmp_path / name).write_text(content)
    environ = {"KUBERNETES_SERVICE_HOST": "127.0.0.1", "KUBERNETES_SERVICE_PORT": str(alpha.port), "POD_SERVICE_ACCOUNT": "server"}
    connection = Connection(await load(environ=environ, account=tmp_path), agent="test")
    try:
        review = await connection.ask("POST", "/apis/authentication.k8s.io/v1/selfsubjectreviews", body={})
        assert review["status"]["userInfo"]["username"] == principal(environ, tmp_path) == f"system:serviceaccount:{where}:server"
        assert not await Client(connection, "test").allowed("get", SECRETS, where)
    finally:
        await connection.close()


async def test_a_refusal_of_a_secret_never_quotes_it(alpha: ControlPlane) -> None:
    from kube.client import connect

    where, client = alpha.namespace(), await connect("admin", str(alpha.kubeconfig))
    secret = {"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "s", "namespace": where}}
    try:
        for part in (
            {"data": {"key": "cGFzc3dvcmQ=hidden"}},
            {"stringData": {"not a key": "hidden"}},
            {"type": "kubernetes.io/tls", "data": {"tls.crt": "aGlkZGVu"}},
        ):
            with pytest.raises(InvalidError) as refused:
                await client.create(SECRETS, {**secret, **part})
            assert "hidden" not in str(refused.value)
            assert f"/namespaces/{where}/secrets" in str(refused.value)
    finally:
        await client.close()
