"""Writes and reads go on, in both versions, while parts of an installation are replaced, killed, or are not trusted any more."""

import contextlib
import http.client
import json
import os
import signal
import ssl
import time
from collections.abc import Iterator
from typing import Any, Final

import pytest

from tests.cluster.harness import is_ready as answers
from tests.cluster.install.test_up import NAMESPACE
from tests.cluster.load import Load
from tests.cluster.objects import graph
from tests.cluster.playing import MERGE
from tests.cluster.processes import wait_until
from tests.footprint import footprint
from tests.node.admin import Admin
from tests.node.cluster import Cluster
from tests.node.installing import SERVER, kill, pids, restart
from tests.node.loading import SERVICE, loaded, settle

MAX_CONVERSION_BYTES: Final = 60 * 2**20  # that a server accepts
DEFINITION: Final = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions/dynamographdeployments.nvidia.com"
CONFIGURATION: Final = "/apis/admissionregistration.k8s.io/v1/validatingwebhookconfigurations/dynamo-webhooks-validating"


@pytest.fixture
def load(cluster: Cluster, admin: Admin, request: pytest.FixtureRequest) -> Iterator[Load]:
    with loaded(cluster, request.node.name) as started:
        yield started


def test_a_rolling_restart_costs_no_request(cluster: Cluster, admin: Admin, load: Load) -> None:
    restart(admin)
    settle(cluster, load)
    assert load.failures == []


@pytest.mark.parametrize("command", ["provision", "reconcile"])
def test_a_killed_provisioner_or_reconciler_costs_no_request(cluster: Cluster, load: Load, command: str) -> None:
    kill(command)
    cluster.until(lambda: not cluster.has_ready(NAMESPACE, 4), "the kubelet noticing")
    settle(cluster, load)
    assert load.failures == []


def test_a_killed_server_costs_only_requests_that_still_reach_it(cluster: Cluster, load: Load) -> None:
    os.kill(pids("serve")[0], signal.SIGKILL)
    cluster.until(lambda: not cluster.has_ready(NAMESPACE, 2, SERVER), "the kubelet noticing")
    noticed = time.monotonic()
    settle(cluster, load)
    assert [each for each in load.failures if each.at > noticed + 1] == []


@pytest.mark.parametrize(
    ("path", "bundle"),
    [(DEFINITION, "/spec/conversion/webhook/clientConfig/caBundle"), (CONFIGURATION, "/webhooks/0/clientConfig/caBundle")],
    ids=["definition", "configuration"],
)
def test_a_lost_trust_is_restored_and_costs_only_requests_until_then(cluster: Cluster, load: Load, path: str, bundle: str) -> None:
    reply = cluster.plane.request("PATCH", path, [{"op": "remove", "path": bundle}], kind="application/json-patch+json")
    assert reply.status == 200, reply.body
    wait_until(lambda: _at(cluster.plane.request("GET", path).body, bundle), "the bundle being there again")
    restored = time.monotonic()
    settle(cluster, load)
    assert [each for each in load.failures if each.at > restored + 1] == []


def _at(value: Any, pointer: str) -> Any:
    for word in pointer.split("/")[1:]:
        value = value[int(word)] if isinstance(value, list) else value.get(word)
    return value


def test_an_api_server_that_comes_back_is_answered_at_once(cluster: Cluster, load: Load) -> None:
    plane = cluster.plane
    plane.server.stop()
    plane.server = plane.server.again()
    wait_until(lambda: answers(plane), "the API server being ready", plane.server)
    back = time.monotonic()
    settle(cluster, load)
    assert [each for each in load.failures if "webhook" in each.said or each.at > back] == []


def test_a_server_that_runs_out_of_memory_is_started_again(cluster: Cluster, admin: Admin) -> None:
    path = f"/api/v1/namespaces/{NAMESPACE}/configmaps/dynamo-webhooks-config"
    text = cluster.plane.request("GET", path).body["data"]["config.yaml"]
    promised = text.replace("serving:\n", "serving:\n  memory: 1Gi\n")
    assert cluster.plane.request("PATCH", path, {"data": {"config.yaml": promised}}, kind=MERGE).status == 200
    limit = footprint(pids("serve")[0]) + MAX_CONVERSION_BYTES // 2
    admin.run(f"kubectl -n {NAMESPACE} set resources deployment dynamo-webhooks-server --limits=memory={limit} --requests=memory=64Mi")
    admin.run(f"kubectl -n {NAMESPACE} rollout status deployment dynamo-webhooks-server")
    cluster.until(lambda: cluster.has_ready(NAMESPACE, 4), "all pods being ready")
    pod = cluster.pods(NAMESPACE, SERVER)[0]
    with loaded(cluster, "out of memory") as load:
        print(_convert(pod["status"]["podIP"]))
        cluster.until(lambda: _restarts(cluster), "the kubelet starting it again")
        noticed = time.monotonic()
        settle(cluster, load)
        assert [each for each in load.failures if each.at > noticed + 1] == []


def _restarts(cluster: Cluster) -> int:
    """How often servers were started again because their memory wasn't enough."""
    states = [each["lastState"] for pod in cluster.pods(NAMESPACE, SERVER) for each in pod["status"]["containerStatuses"]]
    return sum("terminated" in each for each in states)


def _convert(address: str) -> str:
    """Asks a server to convert as much as it may get at once; what it answers or how that fails."""
    text = json.dumps(graph("default", {"w": SERVICE}))
    objects = ",".join([text] * (MAX_CONVERSION_BYTES // len(text)))
    request = f'{{"uid": "1", "desiredAPIVersion": "nvidia.com/v1beta1", "objects": [{objects}]}}'
    review = f'{{"apiVersion": "apiextensions.k8s.io/v1", "kind": "ConversionReview", "request": {request}}}'
    context = ssl.create_default_context()
    context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
    with contextlib.closing(http.client.HTTPSConnection(address, 9443, context=context, timeout=60)) as connection:
        try:
            connection.request("POST", "/convert", review, {"Content-Type": "application/json"})
            return f"{connection.getresponse().status}"
        except (OSError, http.client.HTTPException) as error:
            return repr(error)
