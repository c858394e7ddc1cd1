"""Writes and reads go on, in both versions, while parts of an installation are replaced, lose their certificates, or are killed."""

import base64
import os
import signal
import ssl
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Final

import pytest
from cryptography import x509

from tests.cluster.install.test_up import NAMESPACE
from tests.cluster.load import Load
from tests.node.admin import Admin
from tests.node.cluster import Cluster
from tests.node.installing import installed

SECRET: Final = f"/api/v1/namespaces/{NAMESPACE}/secrets/webhook-server-cert"
MORE: Final = 60  # requests after all is well again
SERVER: Final = "app.kubernetes.io/component=server"


@pytest.fixture(scope="module")
def admin(cluster: Cluster, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Admin]:
    with installed(cluster, tmp_path_factory.mktemp("faults")) as found:
        yield found


@pytest.fixture
def load(cluster: Cluster, admin: Admin) -> Iterator[Load]:
    """A writer and reader. What failed of it is the test's to look at."""
    # no worker is wanted, so that none is started
    service = {"replicas": 0, "extraPodSpec": {"mainContainer": {"image": "example:1.6.0"}}}
    found = Load(cluster.plane, cluster.plane.namespace(), {"w": service})
    found.start()
    try:
        found.wait_for(MORE)
        yield found
    finally:
        found.stop()
        print(f"{found.done} requests, {len(found.failures)} failed, the longest took {found.longest:.2f} s")


def _settle(cluster: Cluster, load: Load) -> None:
    cluster.until(lambda: cluster.has_ready(NAMESPACE, 4), "all pods being ready")
    load.wait_for(MORE)


def test_a_rolling_restart_costs_no_request(cluster: Cluster, admin: Admin, load: Load) -> None:
    admin.run(f"kubectl -n {NAMESPACE} rollout restart deployment; kubectl -n {NAMESPACE} rollout status deployment dynamo-webhooks-server")
    _settle(cluster, load)
    assert load.failures == []


@pytest.mark.parametrize("name", ["webhook-server-cert", "webhook-server-cert-ca"])
def test_a_lost_secret_is_made_again_and_costs_no_request(cluster: Cluster, load: Load, name: str) -> None:
    path = SECRET.replace("webhook-server-cert", name)
    before = cluster.plane.request("GET", path).body["metadata"]["uid"]
    assert cluster.plane.request("DELETE", path).status == 200
    cluster.until(lambda: cluster.plane.request("GET", path).body.get("metadata", {}).get("uid", before) != before, f"a new {name}")
    cluster.until(lambda: _is_served(cluster), "all servers presenting the certificate of the Secret")
    _settle(cluster, load)
    assert load.failures == []


def test_a_rotation_costs_no_request(cluster: Cluster, admin: Admin, load: Load) -> None:
    before = cluster.plane.request("GET", SECRET).body["data"]["tls.crt"]
    admin.run("dynamo-webhooks certs rotate")
    cluster.until(lambda: cluster.plane.request("GET", SECRET).body["data"]["tls.crt"] != before, "a new certificate")
    cluster.until(lambda: _is_served(cluster), "all servers presenting it")
    _settle(cluster, load)
    assert load.failures == []


def _is_served(cluster: Cluster) -> bool:
    """Whether each server presents the certificate that is in the Secret now."""
    written = base64.b64decode(cluster.plane.request("GET", SECRET).body["data"]["tls.crt"])
    addresses = [pod["status"]["podIP"] for pod in cluster.pods(NAMESPACE, SERVER)]
    presented = [x509.load_pem_x509_certificate(ssl.get_server_certificate((address, 9443)).encode()) for address in addresses]
    return {each.serial_number for each in presented} == {x509.load_pem_x509_certificate(written).serial_number}


def _pids(command: str) -> list[int]:
    """The processes of containers whose command line has the word."""
    found = []
    for folder in Path("/proc").glob("[0-9]*"):
        words = (folder / "cmdline").read_bytes().split(b"\0")
        if command.encode() in words and any(word.endswith(b"bin/dynamo-webhooks") for word in words):
            found.append(int(folder.name))
    return sorted(found)


@pytest.mark.parametrize("command", ["provision", "reconcile"])
def test_a_killed_provisioner_or_reconciler_costs_no_request(cluster: Cluster, load: Load, command: str) -> None:
    for pid in _pids(command):
        os.kill(pid, signal.SIGKILL)
    cluster.until(lambda: not cluster.has_ready(NAMESPACE, 4), "the kubelet noticing")
    _settle(cluster, load)
    assert load.failures == []


def test_a_killed_server_costs_only_requests_that_still_reach_it(cluster: Cluster, load: Load) -> None:
    os.kill(_pids("serve")[0], signal.SIGKILL)
    cluster.until(lambda: not cluster.has_ready(NAMESPACE, 2, SERVER), "the kubelet noticing")
    noticed = time.monotonic()
    _settle(cluster, load)
    assert [each for each in load.failures if each.at > noticed + 1] == []
