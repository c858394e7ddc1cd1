"""What breaks while requests keep coming, on a real API server with two replicas of ours, and how many requests fail of it.

No request fails where a second replica exists and the cluster can know that the first is gone; where an endpoint is called whose process
has just died, requests fail by connection until the kubelet of `faults.py` has noticed. Everything recovers with no process started again
but the one that was killed. What it means to servers that leases and kinds come and go is in test_facts.py, a restart of the API server
with thousands of objects in test_conversion.py.
"""

import json
import os
import signal
import time
from collections.abc import Iterator
from functools import partial
from typing import Any, NamedTuple

import pytest

from tests.cluster.conversion import restart
from tests.cluster.harness import ControlPlane, controllers
from tests.cluster.load import Load
from tests.cluster.objects import checkpoint, foreign, graph, make, path_of, request
from tests.cluster.planes import Planes
from tests.cluster.processes import wait_until
from tests.cluster.webhooks.faults import CLAIMABLE, IN_A_ROW, WAIT_SECONDS, Site, etcd_paused, faulty_site, recovered, unexplained
from tests.cluster.webhooks.test_facts import LEASE, refused

TOPOLOGIES = foreign("grove.io", "ClusterTopology", "clustertopologies", scope="Cluster", version="v1alpha1")
PAUSE = 20.0  # seconds without etcd
ASKED = 8  # times in a row; both replicas have been asked then, unless chance is very unkind


class Running(NamedTuple):
    """The site, and the load that never pauses."""

    site: Site
    load: Load
    namespace: str


@pytest.fixture(scope="module")
def running(planes: Planes, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Running]:
    with faulty_site(planes, tmp_path_factory.mktemp("faults")) as site:
        site.installed.plane.apply({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": CLAIMABLE}})
        load = Load(site.installed.plane, CLAIMABLE)
        load.start()
        try:
            yield Running(site, load, CLAIMABLE)
        finally:
            load.stop()


@pytest.fixture
def load(running: Running) -> Iterator[Load]:
    """The load; every failure counts that a test has not judged and taken away."""
    running.load.failures.clear()
    running.load.wait_for(20)
    yield running.load
    running.load.wait_for(20)
    assert running.load.failures == []


@pytest.fixture
def site(running: Running) -> Iterator[Site]:
    """Two ready replicas, before the test and after it."""
    cluster = running.site
    assert [replica.ready() for replica in cluster.replicas.values()] == [True, True]
    yield cluster
    assert [cluster.heard[name] for name in cluster.replicas] == [True, True]


@pytest.fixture
def plane(site: Site) -> ControlPlane:
    return site.installed.plane


def _family(site: Site) -> set[int]:
    """All processes of all replicas, and the provisioner."""
    ours = {pid for replica in site.replicas.values() for pid in (replica.process.pid, *replica.children())}
    return ours | {process.pid for process in site.installed.provisioners.values() if process.ended() is None}


def test_a_replica_that_crashes_costs_only_requests_that_still_reach_it(site: Site, load: Load) -> None:
    name = next(iter(site.replicas))
    site.replicas[name].kill()
    site.wait_until_heard(name, ready=False)
    failed = recovered(load)  # with the other replica alone
    print(f"{len(failed)} requests failed")
    assert unexplained(failed) == []
    site.start(name)
    load.wait_for(IN_A_ROW)
    assert load.failures == []


def test_a_rolling_restart_of_both_replicas_costs_no_request(site: Site, load: Load) -> None:
    for old in list(site.replicas):
        site.start(f"{old}-next")
        assert site.terminate(old) == 0
        load.wait_for(IN_A_ROW)
    assert load.failures == []


def test_a_server_that_can_answer_no_long_request_drains_and_costs_no_request(site: Site, load: Load) -> None:
    """It ends by itself, and its container starts again."""
    name = next(iter(site.replicas))
    replica = site.replicas[name]
    os.kill(replica.children()[0], signal.SIGKILL)
    site.wait_until_heard(name, ready=False)
    wait_until(lambda: replica.process.ended() is not None, "the end of the server", patience=WAIT_SECONDS)
    load.wait_for(IN_A_ROW)
    site.start(name)
    load.wait_for(IN_A_ROW)
    assert load.failures == []


def test_an_api_server_that_comes_back_finds_both_replicas(running: Running, site: Site, load: Load, plane: ControlPlane) -> None:
    before = _family(site)
    restart(plane)
    recovered(load)
    load.wait_for(IN_A_ROW)
    assert load.failures == []
    assert _family(site) == before
    _claimed_for_a_while(plane, running.namespace)  # the watches that servers learn from are back as well


def test_replicas_are_ready_while_etcd_pauses_and_all_is_well_afterwards(site: Site, load: Load) -> None:
    before, end = _family(site), time.monotonic() + PAUSE
    with etcd_paused(site):
        while time.monotonic() < end:
            assert all(replica.ready() for replica in site.replicas.values())
            time.sleep(0.2)
    recovered(load)
    load.wait_for(IN_A_ROW)
    assert load.failures == []
    assert _family(site) == before


def _claimed_for_a_while(plane: ControlPlane, namespace: str) -> None:
    """Another operator claims the namespace, is honoured by every server, and dies."""
    lease = {"apiVersion": "coordination.k8s.io/v1", "kind": "Lease", "metadata": {"name": LEASE, "namespace": namespace}}
    wait_until(lambda: refused(plane, namespace), "the namespace being governed", patience=WAIT_SECONDS)
    plane.apply({**lease, "spec": {"holderIdentity": "namespace-restricted-operator-0.9", "leaseDurationSeconds": 4}})
    wait_until(lambda: not any(refused(plane, namespace) for _ in range(ASKED)), "the namespace being left alone", patience=WAIT_SECONDS)
    wait_until(lambda: all(refused(plane, namespace) for _ in range(ASKED)), "the claim running out", patience=WAIT_SECONDS)
    assert plane.kubectl("delete", "lease", LEASE, "-n", namespace).code == 0


def test_grove_coming_and_going_costs_no_request(running: Running, load: Load, plane: ControlPlane) -> None:
    obj = graph(running.namespace, spec={"topologyConstraint": {"topologyProfile": "none", "packDomain": "rack"}})

    def told() -> bool:
        """Whether a profile that doesn't exist is noticed, which is so while Grove is there."""
        reply = plane.request("POST", f"{path_of(obj)}?dryRun=All", obj)
        assert reply.status in (201, 403, 422), reply.body
        return "ClusterTopology" in json.dumps(reply.body)

    assert not told()
    plane.apply(TOPOLOGIES)
    wait_until(told, "Grove being noticed", patience=WAIT_SECONDS)
    assert plane.kubectl("delete", "crd", TOPOLOGIES["metadata"]["name"]).code == 0
    wait_until(lambda: not any(told() for _ in range(ASKED)), "Grove being gone", patience=WAIT_SECONDS)
    assert load.failures == []


def test_namespaces_and_orphans_go_while_one_replica_is_down(site: Site, load: Load, plane: ControlPlane) -> None:
    namespace = plane.namespace()
    owner = _stored(plane, graph(namespace, name="owner"))
    beta = make("DGD", "v1beta1", namespace, {"components": [{"name": "w", "type": "worker"}]})
    kept = [graph(namespace, name="g"), request(namespace), checkpoint(namespace), beta]
    for obj in kept:
        _stored(plane, obj)
    name = next(iter(site.replicas))
    site.replicas[name].kill()
    site.wait_until_heard(name, ready=False)
    assert unexplained(recovered(load)) == []
    with controllers(plane) as manager:
        reference = {key: owner[key] for key in ("apiVersion", "kind")} | {"name": "owner", "uid": owner["metadata"]["uid"]}
        child = make(
            "DCD", "v1beta1", namespace, {"name": "c", "type": "worker"}, ownerReferences=[reference | {"blockOwnerDeletion": True}]
        )
        _stored(plane, child)
        policy = {"apiVersion": "v1", "kind": "DeleteOptions", "propagationPolicy": "Foreground"}
        assert plane.request("DELETE", path_of(owner, named=True), policy).status == 200
        for obj in (child, owner):
            wait_until(partial(_gone, plane, path_of(obj, named=True)), f"the end of the {obj['kind']}", manager, patience=WAIT_SECONDS)
        assert plane.request("DELETE", f"/api/v1/namespaces/{namespace}").status == 200
        wait_until(lambda: _gone(plane, f"/api/v1/namespaces/{namespace}"), "the end of the namespace", manager, patience=WAIT_SECONDS)
    assert load.failures == []
    site.start(name)


def _stored(plane: ControlPlane, obj: dict[str, Any]) -> dict[str, Any]:
    return plane.request("POST", path_of(obj), obj).done()


def _gone(plane: ControlPlane, path: str) -> bool:
    return plane.request("GET", path).status == 404
