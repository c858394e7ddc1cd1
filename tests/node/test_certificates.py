"""Writes and reads go on, in both versions, while certificates are lost or replaced, which a kubelet brings only after up to 90 s."""

import base64
import ssl
from typing import Final

import pytest
from cryptography import x509

from tests.cluster.install.test_up import NAMESPACE
from tests.node.admin import Admin
from tests.node.cluster import Cluster
from tests.node.installing import SERVER
from tests.node.loading import loaded, settle

SECRET: Final = f"/api/v1/namespaces/{NAMESPACE}/secrets/webhook-server-cert"


def test_a_rotation_costs_no_request(cluster: Cluster, admin: Admin) -> None:
    before = cluster.plane.request("GET", SECRET).body["data"]["tls.crt"]
    with loaded(cluster, "certs rotate") as load:
        admin.run("dynamo-webhooks certs rotate")
        cluster.until(lambda: cluster.plane.request("GET", SECRET).body["data"]["tls.crt"] != before, "a new certificate")
        cluster.until(lambda: _is_served(cluster), "all servers presenting it")
        settle(cluster, load)
    assert load.failures == []


@pytest.mark.usefixtures("admin")
@pytest.mark.parametrize("name", ["webhook-server-cert", "webhook-server-cert-ca"])
def test_a_lost_secret_is_made_again_and_costs_no_request(cluster: Cluster, name: str) -> None:
    path = SECRET.replace("webhook-server-cert", name)
    with loaded(cluster, f"loss of {name}") as load:
        before = cluster.plane.request("GET", path).body["metadata"]["uid"]
        assert cluster.plane.request("DELETE", path).status == 200
        cluster.until(lambda: cluster.plane.request("GET", path).body.get("metadata", {}).get("uid", before) != before, f"a new {name}")
        cluster.until(lambda: _is_served(cluster), "all servers presenting the certificate of the Secret")
        settle(cluster, load)
    assert load.failures == []


def _is_served(cluster: Cluster) -> bool:
    """Whether each server presents the certificate that is in the Secret now."""
    written = base64.b64decode(cluster.plane.request("GET", SECRET).body["data"]["tls.crt"])
    addresses = [pod["status"]["podIP"] for pod in cluster.pods(NAMESPACE, SERVER)]
    presented = [x509.load_pem_x509_certificate(ssl.get_server_certificate((address, 9443)).encode()) for address in addresses]
    return {each.serial_number for each in presented} == {x509.load_pem_x509_certificate(written).serial_number}
