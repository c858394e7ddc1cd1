"""What a Cluster promises, asked of the one in memory and of a real API server alike: the one in memory can't lie."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import aclosing
from dataclasses import dataclass, field
from itertools import count
from pathlib import Path
from typing import Any, Final

import pytest

from dynamo_webhooks.api.kinds import ALPHA
from dynamo_webhooks.kube.client import Client, connect
from dynamo_webhooks.kube.config import load_config
from dynamo_webhooks.kube.connection import Connection
from dynamo_webhooks.kube.errors import (
    AlreadyExistsError,
    ConflictError,
    ForbiddenError,
    GoneError,
    InvalidError,
    NotFoundError,
    UnavailableError,
)
from dynamo_webhooks.kube.protocol import ABSENT, Cluster, Event, Node
from dynamo_webhooks.kube.resources import CONFIG_MAPS, DEPLOYMENTS, SECRETS, Resource, resource_of_kind
from tests.cluster import objects
from tests.cluster.harness import USER, ControlPlane
from tests.kube.memory import MemoryCluster
from tests.kube.storage import Storage

GRAPHS = resource_of_kind("DynamoGraphDeployment", ALPHA)
MANY = 1200  # more than two pages
WAIT_SECONDS: Final = 60.0  # for something that happens at once unless the machine is very busy


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


async def _ancient() -> str:
    return "1"  # older than the kind, hence than everything that its watch cache has ever held


@pytest.fixture(params=["memory", "real"])
async def backend(request: pytest.FixtureRequest) -> AsyncIterator[Backend]:
    if request.param == "memory":
        yield _memory()
        return
    plane: ControlPlane = request.getfixturevalue("alpha")
    admin, author = await connect("admin", str(plane.kubeconfig)), await connect("author", str(plane.kubeconfig), USER)
    try:
        yield Backend(admin, author, plane.namespace, _ancient)
    finally:
        await admin.close()
        await author.close()


async def test_an_object_is_created_read_replaced_patched_and_deleted(backend: Backend) -> None:
    cluster, where = backend.cluster, backend.namespace
    made = await cluster.create(CONFIG_MAPS, backend.config())
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


async def test_what_is_there_is_not_created_again_and_what_is_not_is_not_changed(backend: Backend) -> None:
    cluster, where = backend.cluster, backend.namespace
    await cluster.create(CONFIG_MAPS, backend.config())
    with pytest.raises(AlreadyExistsError):
        await cluster.create(CONFIG_MAPS, backend.config())
    with pytest.raises(NotFoundError):
        await cluster.replace(CONFIG_MAPS, backend.config("b"))
    with pytest.raises(NotFoundError):
        await cluster.merge_patch(CONFIG_MAPS, "b", {"data": {}}, where)
    with pytest.raises(NotFoundError):
        await cluster.json_patch(CONFIG_MAPS, "b", [{"op": "remove", "path": "/data"}], where)
    with pytest.raises(UnavailableError) as refused:
        await cluster.create(CONFIG_MAPS, backend.config("b", resourceVersion="7"))
    assert refused.value.code == 500  # a real server doesn't call it a mistake of ours


async def test_a_name_is_generated(backend: Backend) -> None:
    obj = backend.config()
    obj["metadata"] = {"generateName": "made-"}
    first, second = [await backend.cluster.create(CONFIG_MAPS, obj, backend.namespace) for _ in range(2)]
    assert first["metadata"]["name"] != second["metadata"]["name"]
    assert first["metadata"]["name"].startswith("made-")
    assert first["metadata"]["namespace"] == backend.namespace


async def test_the_second_writer_of_one_version_gets_a_conflict(backend: Backend) -> None:
    cluster, where = backend.cluster, backend.namespace
    made = await cluster.create(CONFIG_MAPS, backend.config())
    await cluster.replace(CONFIG_MAPS, {**made, "data": {"x": "2"}})
    with pytest.raises(ConflictError):
        await cluster.replace(CONFIG_MAPS, {**made, "data": {"x": "3"}})
    old = {"metadata": {"resourceVersion": made["metadata"]["resourceVersion"]}}
    with pytest.raises(ConflictError):
        await cluster.merge_patch(CONFIG_MAPS, "a", {**old, "data": {"x": "3"}}, where)
    unversioned = {**made, "metadata": {"name": "a", "namespace": where}, "data": {"x": "4"}}
    assert (await cluster.replace(CONFIG_MAPS, unversioned))["data"] == {"x": "4"}


async def test_only_the_object_of_that_uid_and_version_is_deleted(backend: Backend) -> None:
    made = await backend.cluster.create(CONFIG_MAPS, backend.config())
    for uid, version in (("another", ""), ("", "1")):
        with pytest.raises(ConflictError):
            await backend.cluster.delete(CONFIG_MAPS, "a", backend.namespace, uid=uid, version=version)
    head = made["metadata"]
    assert await backend.cluster.delete(CONFIG_MAPS, "a", backend.namespace, uid=head["uid"], version=head["resourceVersion"])


# of Secrets an error keeps only the reason, since messages may quote values
_IMMUTABLE = r"immutable when `immutable` is set|\(FieldValueForbidden\)"


@pytest.mark.parametrize("resource", [CONFIG_MAPS, SECRETS])
async def test_an_immutable_object_gives_only_its_metadata_away(backend: Backend, resource: Resource) -> None:
    metadata = {"name": "a", "finalizers": ["a.example/b"]}
    obj = {"apiVersion": "v1", "kind": resource.kind, "metadata": metadata, "data": {"a": "eA=="}, "immutable": True}
    made = await backend.cluster.create(resource, obj, backend.namespace)
    for changed in ({"data": {"a": "eQ=="}}, {"immutable": False}):
        with pytest.raises(InvalidError, match=_IMMUTABLE):
            await backend.cluster.replace(resource, {**made, **changed})
    with pytest.raises(InvalidError, match=_IMMUTABLE):
        await backend.cluster.merge_patch(resource, "a", {"data": {"a": "eQ=="}}, backend.namespace)
    await backend.cluster.replace(resource, {**made, "metadata": {**made["metadata"], "finalizers": []}})
    assert await backend.cluster.delete(resource, "a", backend.namespace)


async def test_a_test_operation_that_fails_changes_nothing(backend: Backend) -> None:
    cluster, where = backend.cluster, backend.namespace
    made = await cluster.create(CONFIG_MAPS, backend.config())
    change = {"op": "add", "path": "/data/x", "value": "2"}
    for test in ({"path": "/data/x", "value": "0"}, {"path": "/metadata/resourceVersion", "value": "0"}):
        with pytest.raises(InvalidError):
            await cluster.json_patch(CONFIG_MAPS, "a", [{"op": "test", **test}, change], where)
    assert await cluster.get(CONFIG_MAPS, "a", where) == made
    passing = {"op": "test", "path": "/metadata/resourceVersion", "value": made["metadata"]["resourceVersion"]}
    assert (await cluster.json_patch(CONFIG_MAPS, "a", [passing, change], where))["data"] == {"x": "2"}


async def test_a_write_that_changes_nothing_makes_no_version(backend: Backend) -> None:
    made = await backend.cluster.create(CONFIG_MAPS, backend.config())
    same = await backend.cluster.merge_patch(CONFIG_MAPS, "a", {"data": {"x": "1"}}, backend.namespace)
    assert same["metadata"]["resourceVersion"] == made["metadata"]["resourceVersion"]


async def test_a_dry_run_leaves_no_trace(backend: Backend) -> None:
    cluster, where = backend.cluster, backend.namespace
    assert (await cluster.create(CONFIG_MAPS, backend.config(), dry_run=True))["data"] == {"x": "1"}
    assert await cluster.get(CONFIG_MAPS, "a", where) is None
    made = await cluster.create(CONFIG_MAPS, backend.config())
    assert (await cluster.merge_patch(CONFIG_MAPS, "a", {"data": {"x": "2"}}, where, dry_run=True))["data"] == {"x": "2"}
    assert (await cluster.apply(CONFIG_MAPS, backend.config(data={"y": "1"}), manager="m", dry_run=True))["data"] == {"x": "1", "y": "1"}
    assert await cluster.get(CONFIG_MAPS, "a", where) == made


async def test_the_generation_counts_what_is_wanted_and_the_status_is_written_apart(backend: Backend) -> None:
    cluster, where = backend.cluster, backend.namespace
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


async def test_a_finalizer_holds_a_deletion_up(backend: Backend) -> None:
    cluster, where = backend.cluster, backend.namespace
    await cluster.create(CONFIG_MAPS, backend.config(finalizers=["example.com/wait"]))
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
async def test_labels_select(backend: Backend, labels: str, names: str) -> None:
    for name, given in {"a": {"app": "x", "tier": "1"}, "b": {"app": "x", "tier": "2"}, "c": {"app": "y"}}.items():
        await backend.cluster.create(CONFIG_MAPS, backend.config(name, labels={**given, "here": "yes"}))
    listing = await backend.cluster.list(CONFIG_MAPS, backend.namespace, labels=f"here,{labels}" if labels else "here")
    assert "".join(item["metadata"]["name"] for item in listing.items) == names


async def test_fields_select(backend: Backend) -> None:
    for name in "ab":
        await backend.cluster.create(CONFIG_MAPS, backend.config(name))
    named = await backend.cluster.list(CONFIG_MAPS, backend.namespace, fields="metadata.name=b")
    assert [(item["kind"], item["apiVersion"], item["metadata"]["name"]) for item in named.items] == [("ConfigMap", "v1", "b")]
    others = await backend.cluster.list(CONFIG_MAPS, fields=f"metadata.name!=b,metadata.namespace={backend.namespace}")
    assert [item["metadata"]["name"] for item in others.items] == ["a"]
    with pytest.raises(InvalidError):
        await backend.cluster.list(CONFIG_MAPS, fields="data.x=1")


async def test_all_pages_are_read(backend: Backend) -> None:
    async def some(first: int) -> None:
        for number in range(first, MANY, 8):
            await backend.cluster.create(CONFIG_MAPS, backend.config(f"c{number:04}", {}))

    await asyncio.gather(*(some(first) for first in range(8)))
    listing = await backend.cluster.list(CONFIG_MAPS, backend.namespace)
    assert [item["metadata"]["name"] for item in listing.items] == [f"c{number:04}" for number in range(MANY)]
    assert listing == await backend.cluster.list(CONFIG_MAPS, backend.namespace, limit=0)
    trimmed: list[str] = []

    def trim(obj: Node) -> None:
        assert (obj["apiVersion"], obj["kind"]) == (CONFIG_MAPS.api_version, CONFIG_MAPS.kind)
        trimmed.append(obj["metadata"]["name"])
        obj.pop("metadata")

    assert all("metadata" not in item for item in (await backend.cluster.list(CONFIG_MAPS, backend.namespace, trim=trim)).items)
    assert trimmed == [item["metadata"]["name"] for item in listing.items]


async def test_apply_owns_fields_and_names_who_else_does(backend: Backend) -> None:
    cluster = backend.cluster
    made = await cluster.apply(CONFIG_MAPS, backend.config(data={"x": "1", "y": "1"}), manager="one")
    assert [(entry["manager"], entry["operation"]) for entry in made["metadata"]["managedFields"]] == [("one", "Apply")]
    again = await cluster.apply(CONFIG_MAPS, backend.config(data={"x": "1", "y": "1"}), manager="one")
    assert again["metadata"]["resourceVersion"] == made["metadata"]["resourceVersion"]
    with pytest.raises(ConflictError, match="one"):
        await cluster.apply(CONFIG_MAPS, backend.config(data={"x": "2"}), manager="two")
    both = await cluster.apply(CONFIG_MAPS, backend.config(data={"x": "1", "z": "1"}), manager="two")
    assert both["data"] == {"x": "1", "y": "1", "z": "1"}
    forced = await cluster.apply(CONFIG_MAPS, backend.config(data={"x": "2", "z": "1"}), manager="two", force=True)
    assert forced["data"] == {"x": "2", "y": "1", "z": "1"}
    dropped = await cluster.apply(CONFIG_MAPS, backend.config(data={}), manager="one")
    assert dropped["data"] == {"x": "2", "z": "1"}


async def test_apply_with_a_version_that_no_object_has_creates_and_changes_nothing(backend: Backend) -> None:
    cluster = backend.cluster
    fresh = backend.config(data={"x": "1"})
    fresh["metadata"]["resourceVersion"] = ABSENT
    made = await cluster.apply(CONFIG_MAPS, fresh, manager="one")
    assert made["data"] == {"x": "1"}
    with pytest.raises(ConflictError):
        await cluster.apply(CONFIG_MAPS, {**fresh, "data": {"x": "2"}}, manager="one")
    with pytest.raises(ConflictError):
        await cluster.apply(CONFIG_MAPS, {**fresh, "data": {"y": "1"}}, manager="two", force=True)
    assert await cluster.get(CONFIG_MAPS, "a", backend.namespace) == made


async def test_apply_meets_an_ordinary_write(backend: Backend) -> None:
    cluster, where = backend.cluster, backend.namespace
    await cluster.apply(CONFIG_MAPS, backend.config(data={"x": "1", "y": "1"}), manager="one")
    await cluster.merge_patch(CONFIG_MAPS, "a", {"data": {"x": "hand"}}, where)
    with pytest.raises(ConflictError, match="admin"):
        await cluster.apply(CONFIG_MAPS, backend.config(data={"x": "1", "y": "1"}), manager="one")
    healed = await cluster.apply(CONFIG_MAPS, backend.config(data={"x": "1", "y": "1"}), manager="one", force=True)
    assert healed["data"] == {"x": "1", "y": "1"}


def _deployment(namespace: str, env: dict[str, str]) -> Node:
    container = {"name": "main", "image": "example", "env": [{"name": name, "value": value} for name, value in env.items()]}
    template = {"metadata": {"labels": {"a": "b"}}, "spec": {"containers": [container]}}
    spec = {"selector": {"matchLabels": {"a": "b"}}, "template": template}
    return {"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": "d", "namespace": namespace}, "spec": spec}


async def test_apply_keeps_the_elements_of_a_keyed_list_that_others_own(backend: Backend) -> None:
    cluster, where = backend.cluster, backend.namespace
    await cluster.apply(DEPLOYMENTS, _deployment(where, {"A": "1", "B": "1"}), manager="one")
    await cluster.apply(DEPLOYMENTS, _deployment(where, {"C": "1"}), manager="two")
    left = await cluster.apply(DEPLOYMENTS, _deployment(where, {"A": "2"}), manager="one")
    env = left["spec"]["template"]["spec"]["containers"][0]["env"]
    assert {each["name"]: each["value"] for each in env} == {"A": "2", "C": "1"}
    assert left["metadata"]["generation"] == 3


async def test_apply_of_a_status_leaves_the_rest(backend: Backend) -> None:
    cluster, where = backend.cluster, backend.namespace
    made = await cluster.create(GRAPHS, objects.graph(where))
    status = {**objects.graph(where, {}), "status": {"state": "successful"}}
    applied = await cluster.apply(GRAPHS, status, manager="one", subresource="status")
    assert applied["status"]["state"] == "successful"
    assert applied["spec"] == made["spec"]


async def _take(backend: Backend, version: str, wanted: int, *, fields: str = "", labels: str = "") -> list[Event]:
    """The first events after `version` that are no bookmarks."""
    watch = backend.cluster.watch(CONFIG_MAPS, backend.namespace, version=version, fields=fields, labels=labels)
    changes: list[Event] = []
    async with asyncio.timeout(WAIT_SECONDS), aclosing(watch) as events:
        async for event in events:
            if event.type != "BOOKMARK":
                changes.append(event)
            if len(changes) == wanted:
                break
    return changes


async def test_a_watch_goes_on_from_any_version(backend: Backend) -> None:
    cluster, where = backend.cluster, backend.namespace
    start = (await cluster.list(CONFIG_MAPS, where)).version
    made = await cluster.create(CONFIG_MAPS, backend.config())
    await cluster.merge_patch(CONFIG_MAPS, "a", {"data": {"x": "2"}}, where)
    await cluster.delete(CONFIG_MAPS, "a", where)
    events = await _take(backend, start, 3)
    assert [(event.type, event.object["data"]["x"]) for event in events] == [("ADDED", "1"), ("MODIFIED", "2"), ("DELETED", "2")]
    assert events[0].object == made
    versions = [int(event.object["metadata"]["resourceVersion"]) for event in events]
    assert versions == sorted(set(versions))
    assert await _take(backend, str(versions[0]), 2) == events[1:]


async def test_a_watch_with_a_selector_sees_what_comes_to_match_as_added(backend: Backend) -> None:
    cluster, where = backend.cluster, backend.namespace
    start = (await cluster.list(CONFIG_MAPS, where)).version
    await cluster.create(CONFIG_MAPS, backend.config())
    await cluster.create(CONFIG_MAPS, backend.config("b"))
    for label in ("yes", None):
        await cluster.merge_patch(CONFIG_MAPS, "a", {"metadata": {"labels": {"seen": label}}}, where)
    events = await _take(backend, start, 2, labels="seen=yes")
    assert [(event.type, event.object["metadata"]["name"]) for event in events] == [("ADDED", "a"), ("DELETED", "a")]
    assert [event.object["metadata"]["name"] for event in await _take(backend, start, 1, fields="metadata.name=b")] == ["b"]


async def test_a_version_that_is_too_old_is_gone(backend: Backend) -> None:
    await backend.cluster.create(GRAPHS, objects.graph(backend.namespace))
    version = await backend.too_old()
    watch = backend.cluster.watch(GRAPHS, backend.namespace, version=version)
    async with asyncio.timeout(WAIT_SECONDS), aclosing(watch) as events:
        with pytest.raises(GoneError):
            await _first_news(events)


async def _first_news(events: AsyncIterator[Event]) -> Event | None:
    async for event in events:
        if event.type != "BOOKMARK":
            return event
    return None


async def test_a_missing_permission_is_said_beforehand_and_raised(backend: Backend) -> None:
    await backend.cluster.create(SECRETS, {"metadata": {"name": "s", "namespace": backend.namespace}, "stringData": {"key": "hidden"}})
    assert await backend.cluster.allowed("get", SECRETS, backend.namespace, "s")
    assert not await backend.author.allowed("get", SECRETS, backend.namespace, "s")
    with pytest.raises(ForbiddenError, match="secrets") as refused:
        await backend.author.get(SECRETS, "s", backend.namespace)
    assert "hidden" not in str(refused.value)
    with pytest.raises(ForbiddenError):
        await backend.author.apply(
            SECRETS, {"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "n", "namespace": backend.namespace}}, manager="m"
        )
    with pytest.raises(ForbiddenError):
        async with asyncio.timeout(WAIT_SECONDS), aclosing(backend.author.watch(SECRETS, backend.namespace, version="1")) as events:
            await anext(events)


async def test_the_server_tells_its_groups_and_its_time(backend: Backend) -> None:
    assert "v1" in (await backend.cluster.groups())[""]
    first = await backend.cluster.server_time()
    second = await backend.cluster.server_time()
    assert first.microsecond == 0
    assert second >= first
    assert first.tzinfo is not None


async def test_a_refusal_of_a_secret_never_quotes_it(alpha: ControlPlane) -> None:
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


async def test_a_pod_reaches_the_server_with_its_own_files_and_is_who_it_thinks_it_is(alpha: ControlPlane, tmp_path: Path) -> None:
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
