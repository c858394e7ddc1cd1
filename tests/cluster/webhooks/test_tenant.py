"""Who takes all that two replicas of ours have on a real API server: a tenant who may write graphs, and means harm, and a hundred long
reviews at once. Strangers who attack the ports are `python -m tests.hostile.storm --cluster`, which `make nightly` runs.

The API server calls mutating webhooks before it looks at the schema's bounds, so whatever a request's body holds reaches us.
"""

import asyncio
import io
import json
import ssl
import threading
import time
from collections.abc import Iterator, Sequence
from typing import Any, Final, NamedTuple

import aiohttp
import orjson
import pytest

from dynamo_webhooks.webhooks.memory import DEFAULT_BYTES
from dynamo_webhooks.webhooks.routes import CONVERT
from tests.cluster.harness import USER, ControlPlane
from tests.cluster.load import Load
from tests.cluster.planes import Planes
from tests.cluster.provisioning import NAMESPACE, SERVICE
from tests.cluster.webhooks.faults import Replica, Site, faulty_site
from tests.footprint import Watch
from tests.webhooks.requests import GRAPHS, graph, review

SIZE: Final = 5_000_000
TEXT: Final = "x" * 4_000  # in each service: what makes a body long without making a test of many of them long, too
WAIT_SECONDS: Final = 240.0  # for all of them


class Told(NamedTuple):
    """One answer."""

    status: int
    body: dict[str, Any]


def admission(uid: str) -> tuple[str, bytes]:
    """A path, and an update of a graph with hundreds of services."""
    obj = graph()
    service = obj["spec"]["services"]["worker"]
    service["extraPodSpec"]["mainContainer"]["args"] = [TEXT]
    count = SIZE // 2 // (len(orjson.dumps(service)) + 20)  # a service's name, and once in the old object
    obj["spec"]["services"] = {f"worker-{index}": service for index in range(count)}
    return GRAPHS, _long(review(obj, "UPDATE", obj, uid=uid))


def conversion(uid: str) -> tuple[str, bytes]:
    """A path, and a list of hundreds of graphs."""
    obj = graph()
    obj["spec"]["services"]["worker"]["extraPodSpec"]["mainContainer"]["args"] = [TEXT]
    objects = [obj] * (SIZE // len(orjson.dumps(obj)))
    request = {"uid": uid, "desiredAPIVersion": "nvidia.com/v1beta1", "objects": objects}
    return CONVERT.path, _long(orjson.dumps({"apiVersion": "apiextensions.k8s.io/v1", "kind": "ConversionReview", "request": request}))


def _long(body: bytes) -> bytes:
    assert 0.95 * SIZE < len(body) < 1.05 * SIZE
    return body


def sent_at_once(site: Site, replica: Replica, reviews: Sequence[tuple[str, bytes]]) -> list[Told]:
    """Sends them all, each on a connection of its own, and returns the answers in order.

    Raises: what aiohttp raises for a connection that ends without an answer.
    """
    authority = site.installed.current().pem.decode()
    return asyncio.run(_all(f"https://{site.installed.address}:{replica.port}", ssl.create_default_context(cadata=authority), reviews))


async def _all(url: str, context: ssl.SSLContext, reviews: Sequence[tuple[str, bytes]]) -> list[Told]:
    connector, timeout = aiohttp.TCPConnector(ssl=context, limit=0), aiohttp.ClientTimeout(total=WAIT_SECONDS)
    async with aiohttp.ClientSession(url, connector=connector, timeout=timeout) as session:
        return await asyncio.gather(*(_one(session, path, body) for path, body in reviews))


async def _one(session: aiohttp.ClientSession, path: str, body: bytes) -> Told:
    headers = {"Content-Type": "application/json", "Content-Length": str(len(body))}
    # a file, for aiohttp warns of long bytes: other requests would wait while they are written
    async with session.post(path, data=io.BytesIO(body), headers=headers, server_hostname=f"{SERVICE}.{NAMESPACE}.svc") as answer:
        return Told(answer.status, orjson.loads(await answer.read()))


pytestmark = pytest.mark.nightly
AT_ONCE: Final = 4
SECONDS: Final = 20.0
OURS: Final = 2.0  # seconds for anybody else's request in one of our servers
WHOLE: Final = 8.0  # the same through the API server, which itself needs seconds of CPU for such bodies: 3.2 s were seen at load 10
HEAVY: Final = 100
MEMORY: Final = DEFAULT_BYTES  # of a replica, in the manifests: what its bounds follow from
PROBE: Final = 1.0  # a kubelet's patience


@pytest.fixture(scope="module")
def site(planes: Planes, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Site]:
    with faulty_site(planes, tmp_path_factory.mktemp("tenant")) as cluster:
        yield cluster


def _graph(version: str, spec: dict[str, Any]) -> dict[str, Any]:
    return {
        "apiVersion": f"nvidia.com/{version}",
        "kind": "DynamoGraphDeployment",
        "metadata": {"generateName": "harm-"},
        "spec": spec,
    }


def _bodies() -> list[tuple[str, dict[str, Any]]]:
    """Versions and bodies; the first is the one that once stopped both replicas for a minute."""
    return [
        ("v1beta1", _graph("v1beta1", {"components": [{"name": f"w{number}"} for number in range(30_000)]})),
        ("v1alpha1", _graph("v1alpha1", {"services": {f"w{number}": {"replicas": -1} for number in range(20_000)}})),
        ("v1beta1", _graph("v1beta1", {"components": [{"name": f"w{number}", "replicas": -1} for number in range(25)]})),
        ("v1alpha1", _graph("v1alpha1", {"services": {"w": {"envs": [{"name": f"E{number}", "value": "v"} for number in range(30_000)]}}})),
        ("v1alpha1", _graph("v1alpha1", {"services": {f"w{number}": {} for number in range(25)}, "restart": {"id": "x" * 1_000_000}})),
    ]


class Attack:
    """Dry-run creates, so many at once, until the time is up; what each was answered."""

    def __init__(self, plane: ControlPlane, namespace: str) -> None:
        self._plane, self._namespace = plane, namespace
        self._end = time.monotonic() + SECONDS
        self.answers: list[tuple[str, int, dict[str, Any]]] = []
        self._threads = [threading.Thread(target=self._run, args=(number,)) for number in range(AT_ONCE)]

    def start(self) -> None:
        for thread in self._threads:
            thread.start()

    def running(self) -> bool:
        return any(thread.is_alive() for thread in self._threads)

    def _run(self, first: int) -> None:
        bodies = _bodies()
        turn = first
        while time.monotonic() < self._end:
            version, body = bodies[turn % len(bodies)]
            turn += 1
            path = f"/apis/nvidia.com/{version}/namespaces/{self._namespace}/dynamographdeployments?dryRun=All"
            reply = self._plane.request("POST", path, body, user=USER)
            self.answers.append((version, reply.status, reply.body))


def _seconds(site: Site, namespace: str) -> list[float]:
    """How long each request for a namespace took in our servers, by their own logs."""
    lines = [line for replica in site.replicas.values() for line in replica.process.text().splitlines() if '"logger":"access"' in line]
    return [entry["duration_ms"] / 1000 for entry in map(json.loads, lines) if entry["namespace"] == namespace]


def test_a_tenant_who_only_creates_stops_nobody(site: Site) -> None:
    """No probe fails, no other request fails, and none takes long."""
    plane = site.installed.plane
    mine, tenants = plane.namespace(), plane.namespace()
    load = Load(plane, mine)
    load.start()
    try:
        load.wait_for(50)
        attack = Attack(plane, tenants)
        load.longest, began = 0.0, load.done
        attack.start()
        heard: list[tuple[str, bool]] = []
        while attack.running():
            heard += [(name, replica.ready(PROBE)) for name, replica in site.replicas.items()]
            time.sleep(0.1)
        longest, done = load.longest, load.done - began
    finally:
        load.stop()
    print(f"{len(attack.answers)} attacks, {done} other requests, the longest took {longest:.2f} s")
    assert load.failures == []
    assert [name for name, ready in heard if not ready] == []
    assert longest < WHOLE
    assert max(_seconds(site, mine)) < OURS
    assert done > 50
    assert len(attack.answers) >= AT_ONCE
    # each is told by the API server's schema or by us what is wrong with its body, and by nobody that a webhook failed
    strange = [answer for answer in attack.answers if answer[1] not in (201, 400, 422, 504)]  # 504: the API server itself gave up
    assert strange == []
    assert not [body for _, _, body in attack.answers if "failed calling webhook" in str(body.get("message"))]


def test_a_hundred_reviews_of_five_megabytes_at_once_are_answered_within_bounded_memory(site: Site) -> None:
    """Each is answered, or refused with a sentence; requests through the API server are answered as if nothing were."""
    replica = next(iter(site.replicas.values()))
    reviews = [(admission if index % 2 else conversion)(f"heavy-{index}") for index in range(HEAVY)]
    load = Load(site.installed.plane, site.installed.plane.namespace())
    load.start()
    try:
        load.wait_for(50)
        began = load.done
        with Watch(replica.process.pid) as watch:
            answers = sent_at_once(site, replica, reviews)
        done = load.done - began
        load.wait_for(50)
    finally:
        load.stop()
    assert {each.status for each in answers} <= {200, 408, 429}, {each.status for each in answers}
    answered = [index for index, each in enumerate(answers) if each.status == 200]
    assert [answers[index].body["response"]["uid"] for index in answered] == [f"heavy-{index}" for index in answered]
    assert all("within" in each.body["message"] or "others wait" in each.body["message"] for each in answers if each.status != 200)
    print(f"{len(answered)} of {HEAVY} answered, {done} requests meanwhile, {watch.most // 2**20} MiB")
    assert watch.most < MEMORY
    assert done > 0
    assert load.failures == []
