"""Who takes all that two replicas of ours have on a real API server: a tenant who may create graphs and nothing else, and means harm, and
a hundred long reviews at once.

The API server calls mutating webhooks before it looks at the schema's bounds, so whatever a request's body holds reaches us.
"""

import json
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

import pytest

from dynamo_webhooks.webhooks.memory import DEFAULT
from tests.bench.footprint import Watch
from tests.cluster import heavy
from tests.cluster.faults import Site, faulty_site
from tests.cluster.harness import USER, ControlPlane
from tests.cluster.load import Load

pytestmark = pytest.mark.alone
AT_ONCE: Final = 4
SECONDS: Final = 20.0
OURS: Final = 2.0  # seconds for anybody else's request in one of our servers
WHOLE: Final = 8.0  # the same through the API server, which itself needs seconds of CPU for such bodies: 3.2 s were seen at load 10
HEAVY: Final = 100
MEMORY: Final = DEFAULT  # of a replica, in the manifests: what its bounds follow from
PROBE: Final = 1.0  # a kubelet's patience


@pytest.fixture(scope="module")
def site(assets: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Site]:
    with faulty_site(assets, tmp_path_factory.mktemp("tenant")) as found:
        yield found


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


def _allow_creating(plane: ControlPlane, namespace: str) -> None:
    role = {
        "apiVersion": "rbac.authorization.k8s.io/v1",
        "kind": "Role",
        "metadata": {"name": "tenant"},
        "rules": [{"apiGroups": ["nvidia.com"], "resources": ["dynamographdeployments"], "verbs": ["create"]}],
    }
    binding = {
        "apiVersion": "rbac.authorization.k8s.io/v1",
        "kind": "RoleBinding",
        "metadata": {"name": "tenant"},
        "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "Role", "name": "tenant"},
        "subjects": [{"apiGroup": "rbac.authorization.k8s.io", "kind": "Group", "name": "authors"}],
    }
    for kind, obj in (("roles", role), ("rolebindings", binding)):
        reply = plane.request("POST", f"/apis/rbac.authorization.k8s.io/v1/namespaces/{namespace}/{kind}", obj)
        assert reply.status == 201, reply.body


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
    return [found["duration_ms"] / 1000 for found in map(json.loads, lines) if found["namespace"] == namespace]


def test_a_tenant_who_only_creates_stops_nobody(site: Site) -> None:
    """No probe fails, no other request fails, and none takes long."""
    plane = site.installed.plane
    mine, tenants = plane.namespace(), plane.namespace()
    _allow_creating(plane, tenants)
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
    reviews = [(heavy.admission if index % 2 else heavy.conversion)(f"heavy-{index}") for index in range(HEAVY)]
    load = Load(site.installed.plane, site.installed.plane.namespace())
    load.start()
    try:
        load.wait_for(50)
        began = load.done
        with Watch(replica.process.pid) as watch:
            told = heavy.sent_at_once(site, replica, reviews)
        done = load.done - began
        load.wait_for(50)
    finally:
        load.stop()
    assert {each.status for each in told} <= {200, 408, 429}, {each.status for each in told}
    answered = [index for index, each in enumerate(told) if each.status == 200]
    assert [told[index].body["response"]["uid"] for index in answered] == [f"heavy-{index}" for index in answered]
    assert all("within" in each.body["message"] or "others wait" in each.body["message"] for each in told if each.status != 200)
    print(f"{len(answered)} of {HEAVY} answered, {done} requests meanwhile, {watch.most // 2**20} MiB")
    assert watch.most < MEMORY
    assert done > 0
    assert load.failures == []
