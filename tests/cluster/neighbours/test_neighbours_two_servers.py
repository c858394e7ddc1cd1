"""Two API servers on one etcd: each takes a definition over at its own time, and what one of them has begun before is stored as before."""

import asyncio
import contextlib
import json
import os
import signal
import socket
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor, wait
from contextlib import AbstractAsyncContextManager
from functools import partial
from itertools import count
from typing import Any, Final, NamedTuple

import pytest

from dynamo_webhooks.api.crd import build as crd
from dynamo_webhooks.api.line import Line
from dynamo_webhooks.cli.commands.migrate.context import MANAGER, MigrationContext
from dynamo_webhooks.cli.commands.migrate.options import Options
from dynamo_webhooks.cli.commands.migrate.progress import Progress
from dynamo_webhooks.cli.commands.migrate.report import MigrationReport
from dynamo_webhooks.cli.commands.migrate.run import MigrationRun
from dynamo_webhooks.cli.installation.connection import connect_cluster
from dynamo_webhooks.kube.client import Client
from dynamo_webhooks.kube.resources import Resource
from dynamo_webhooks.kube.storage_versions import compute_storage_hash
from tests.cluster import etcd
from tests.cluster.admission import serving
from tests.cluster.definitions import install
from tests.cluster.harness import ControlPlane, beside
from tests.cluster.objects import graph, path_of
from tests.cluster.planes import Planes
from tests.cluster.processes import wait_until
from tests.cluster.provisioning import own_address

_CHUNK = 65_536
_BEGIN = 3  # pieces from a client that are the begin of TLS and, at most, its first request


class Relay:
    """A port of 127.0.0.1 whose connections lead to another one, and may be held back."""

    def __init__(self, target: int) -> None:
        self.held = threading.Event()  # what a client has sent is held back
        self._armed, self._flowing = threading.Semaphore(0), threading.Event()
        self._target = target
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.port: int = self._listener.getsockname()[1]
        self._open: list[socket.socket] = []
        threading.Thread(target=self._accept, daemon=True).start()

    def hold_next(self) -> None:
        """Holds the next request on a connection in use, until `release`; all others flow. A server drops new ones that say nothing."""
        self.held.clear()
        self._flowing.clear()
        self._armed.acquire(blocking=False)
        self._armed.release()

    def release(self) -> None:
        """Lets the connection that is held go on."""
        self._flowing.set()

    def close(self) -> None:
        """Ends all connections."""
        self.release()
        self._listener.close()
        for each in self._open:
            with contextlib.suppress(OSError):
                each.shutdown(socket.SHUT_RDWR)
            each.close()

    def _accept(self) -> None:
        with contextlib.suppress(OSError):  # closed
            while True:
                near, _ = self._listener.accept()
                far = socket.create_connection(("127.0.0.1", self._target))
                self._open += [near, far]
                threading.Thread(target=self._pass_on, args=(near, far, True), daemon=True).start()
                threading.Thread(target=self._pass_on, args=(far, near, False), daemon=True).start()

    def _pass_on(self, source: socket.socket, sink: socket.socket, near: bool) -> None:
        passed = 0
        with contextlib.suppress(OSError):
            while chunk := source.recv(_CHUNK):
                passed += 1
                if near and passed > _BEGIN and self._armed.acquire(blocking=False):
                    self.held.set()
                    self._flowing.wait()
                sink.sendall(chunk)
            sink.shutdown(socket.SHUT_WR)


Node = dict[str, Any]
KIND: Final = "DynamoGraphDeployment"
PLURAL: Final = "dynamographdeployments"
DEFINITION: Final = f"/apis/apiextensions.k8s.io/v1/customresourcedefinitions/{PLURAL}.nvidia.com"
COUNT: Final = 6
NEAR: Final = 2.0  # seconds for one request to an API server
LATE: Final = 1.0  # seconds after all API servers have taken the definition over, when a write that was under way goes on


class Site(NamedTuple):
    """Two API servers of one cluster, and the way to its converter."""

    plane: ControlPlane
    other: ControlPlane
    relay: Relay

    def stored(self, namespace: str) -> set[str]:
        """In which versions the objects of a namespace are stored, by the bytes in etcd."""
        values = [value for key, value in etcd.stored(self.plane, PLURAL).items() if f"/{namespace}/" in key]
        assert len(values) == COUNT
        return {json.loads(each)["apiVersion"] for each in values}

    def agreed(self) -> bool:
        """Whether both say that they store v1beta1."""
        wanted = compute_storage_hash("nvidia.com", "v1beta1", KIND)
        discovered = [each.request("GET", "/apis/nvidia.com/v1beta1").body["resources"] for each in (self.plane, self.other)]
        return all(resource["storageVersionHash"] == wanted for each in discovered for resource in each if resource["name"] == PLURAL)

    def definition(self) -> tuple[str, list[str]]:
        """Which version the definition says is stored, and which ones its status names."""
        definition = self.plane.request("GET", DEFINITION).body
        return next(each["name"] for each in definition["spec"]["versions"] if each["storage"]), definition["status"]["storedVersions"]


@pytest.fixture(scope="module")
def site(planes: Planes, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Site]:
    home = tmp_path_factory.mktemp("two-servers")
    with (
        serving(home / "serve") as server,
        contextlib.closing(Relay(int(server.url.rpartition(":")[2]))) as relay,
        planes.lend("--bind-address=0.0.0.0") as plane,
        beside(plane) as other,
    ):
        stanza = server.stanza()
        stanza["webhook"]["clientConfig"]["url"] = f"https://127.0.0.1:{relay.port}/convert"
        install(plane, crd(KIND, conversion=stanza, line=Line.V1_2))
        for number, each in enumerate((plane, other)):
            plane.apply(_slice(f"kubernetes-{number}", each.port))
        yield Site(plane, other, relay)


def _slice(name: str, port: int) -> Node:
    return {
        "apiVersion": "discovery.k8s.io/v1",
        "kind": "EndpointSlice",
        "metadata": {"name": name, "namespace": "default", "labels": {"kubernetes.io/service-name": "kubernetes"}},
        "addressType": "IPv4",
        "ports": [{"name": "https", "port": port, "protocol": "TCP"}],
        "endpoints": [{"addresses": [own_address()], "conditions": {"ready": True}}],
    }


@pytest.fixture
def namespace(site: Site) -> Iterator[str]:
    """A namespace with graphs that are stored in v1alpha1, which new ones are again after the test."""
    name = site.plane.namespace()
    for number in range(COUNT):
        obj = graph(name, name=f"g{number}")
        assert site.plane.request("POST", path_of(obj), obj).status == 201
    assert site.stored(name) == {"nvidia.com/v1alpha1"}
    yield name
    asyncio.run(_migrated(site, "v1alpha1", settle=0))
    assert site.definition() == ("v1alpha1", ["v1alpha1"])


class _Flipping:
    """A client that does something before it changes which version is stored."""

    def __init__(self, client: Client, before: Callable[[], None]) -> None:
        self._client, self._before = client, before

    def __getattr__(self, name: str) -> Any:
        return getattr(self._client, name)

    async def json_patch(self, resource: Resource, name: str, operations: Sequence[Node], namespace: str = "", **more: Any) -> Node:
        if not more.get("subresource"):
            await asyncio.to_thread(self._before)
        return await self._client.json_patch(resource, name, operations, namespace, **more)


async def _migrated(site: Site, to: str, *, settle: float, before: Callable[[], None] = lambda: None) -> MigrationReport:
    kubeconfig = str(site.plane.kubeconfig)

    def opener(server: str) -> AbstractAsyncContextManager[Client]:
        return connect_cluster(MANAGER, kubeconfig, "", server, patience=NEAR)

    async with connect_cluster(MANAGER, kubeconfig) as client:
        cluster: Any = _Flipping(client, before)
        return await MigrationRun(MigrationContext(cluster, opener, Options(to, (KIND,), settle=settle), print), Progress(print)).run()


def test_nothing_is_moved_before_every_api_server_stores_the_version(site: Site, namespace: str) -> None:
    """The other one hangs, without the definition; it may write as before when it goes on, and it does not leave the list of servers."""
    stop = partial(os.kill, site.other.server.pid, signal.SIGSTOP)
    with ThreadPoolExecutor(1) as threads:
        try:
            running = threads.submit(asyncio.run, _migrated(site, "v1beta1", settle=0, before=stop))
            wait_until(lambda: site.definition()[0] == "v1beta1", "the definition being changed", site.plane.server)
            time.sleep(3 * NEAR)
            assert site.stored(namespace) == {"nvidia.com/v1alpha1"}
            assert not running.done()
        finally:
            os.kill(site.other.server.pid, signal.SIGCONT)
        report: MigrationReport = running.result(60)
    assert report.proven, report.as_data()
    assert site.stored(namespace) == {"nvidia.com/v1beta1"}
    assert site.definition() == ("v1beta1", ["v1beta1"])


@pytest.mark.parametrize("settle", [0.0, 6 * LATE])
def test_a_write_that_was_under_way_is_waited_for(site: Site, namespace: str, settle: float) -> None:
    """It is stored as its API server did when it began, although all API servers have taken the definition over; without the wait, objects
    are said to be in one version, and one of them is not."""
    path = f"/apis/nvidia.com/v1beta1/namespaces/{namespace}/{PLURAL}/g0"
    numbers = count()
    with ThreadPoolExecutor(2) as threads:
        late: list[Future[Any]] = []

        def write() -> set[str]:
            patch: Node = {"metadata": {"labels": {"written": str(next(numbers))}}}
            reply = site.other.request("PATCH", path, patch, kind="application/merge-patch+json")
            assert reply.status == 200, reply.body
            return site.stored(namespace)

        def release() -> None:
            wait_until(site.agreed, "both API servers storing v1beta1", site.plane.server)
            time.sleep(LATE)
            site.relay.release()

        def begun() -> bool:
            """Whether a write waits for its conversion; another conversion may be held instead, of an object that a cache takes in."""
            site.relay.hold_next()
            late[:] = [threads.submit(write)]
            wait_until(lambda: site.relay.held.is_set() or late[0].done(), "a write being held, or done", site.plane.server, patience=20)
            if not wait([late[0]], timeout=1).done:
                return True
            site.relay.release()
            return False

        def before() -> None:
            wait_until(begun, "a write being under way")
            if settle:
                threads.submit(release)

        report = asyncio.run(_migrated(site, "v1beta1", settle=settle, before=before))
        site.relay.release()
        assert "nvidia.com/v1alpha1" in late[0].result(60)
    assert report.proven, report.as_data()
    assert site.definition() == ("v1beta1", ["v1beta1"])
    assert site.stored(namespace) == ({"nvidia.com/v1beta1"} if settle else {"nvidia.com/v1alpha1", "nvidia.com/v1beta1"})
