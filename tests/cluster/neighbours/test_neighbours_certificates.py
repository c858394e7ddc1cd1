"""The overlay for cert-manager with its real controller: it issues, we publish, it renews under requests, and none of them fails."""

import contextlib
import re
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Any, Final

import pytest
import yaml

from dynamo_webhooks.certs.certificate import read_certificates
from tests.cluster.assets.build import CERT_MANAGER
from tests.cluster.assets.wanted import wanted
from tests.cluster.harness import ControlPlane
from tests.cluster.load import Load
from tests.cluster.planes import Planes
from tests.cluster.processes import Process, free_ports, running, wait_until
from tests.cluster.provisioning import AUTHORITY, NAMESPACE, SECRETS, Installed, installed
from tests.cluster.rendering import of_kind

Node = dict[str, Any]
CERTIFICATES: Final = f"/apis/cert-manager.io/v1/namespaces/{NAMESPACE}/certificates"
ROOT: Final = "dynamo-webhooks-root"
LEAF: Final = "dynamo-webhooks-serving"
WAIT_SECONDS: Final = 120.0


@contextlib.contextmanager
def cert_manager(plane: ControlPlane) -> Iterator[Process]:
    """Runs cert-manager's controller alone: its definitions need no webhook, and the provisioner publishes the trust."""
    built = wanted(CERT_MANAGER)
    texts = [file.read_text() for file in sorted((built / "crds").glob("crd-*.yaml"))]
    # the chart's labels
    plane.apply(
        *(yaml.safe_load(re.sub(r"^ *(app|app\.kubernetes\.io/\S+|# Generated labels.*): .*\{\{.*$", "", crd, flags=re.M)) for crd in texts)
    )
    wait_until(lambda: plane.request("GET", CERTIFICATES).status == 200, "certificates being served", plane.server)
    [port] = free_ports(1)
    flags = ["--leader-elect=false", "--cluster-resource-namespace=cert-manager", f"--metrics-listen-address=127.0.0.1:{port}"]
    command: list[str | Path] = [built / "cert-manager", f"--kubeconfig={plane.kubeconfig}", *flags]
    with running(Process("cert-manager", command, plane.home / "cert-manager.log")) as process:
        yield process


@pytest.fixture(scope="module")
def site(planes: Planes, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Installed]:
    """The installation with two servers and a provisioner, and certificates of cert-manager."""
    with installed(planes, tmp_path_factory.mktemp("cert-manager"), "cert-manager") as started, cert_manager(started.plane):
        started.plane.apply(*of_kind(started.objects, "Issuer", "Certificate"))
        for name in ("server-1", "server-2"):
            started.serve(name)
        started.provision()
        _settled(started)
        yield started


def _settled(site: Installed) -> None:
    wait_until(lambda: _is_settled(site), "all being settled", *site.servers.values(), *site.provisioners.values(), patience=WAIT_SECONDS)


def _is_settled(site: Installed) -> bool:
    """Whether both servers present the certificate of the Secret, and every object trusts its authority and no other."""
    serving = site.serving()
    if serving is None or serving.leaf is None or not serving.authorities:
        return False
    trusted = all({*map(read_certificates, shown)} == {serving.authorities} for shown in site.bundles().values())
    return trusted and all(presented == serving.leaf for presented in site.presented().values())


def _renew(site: Installed, name: str) -> None:
    """Asks for a new certificate as `cmctl renew` does."""
    condition = {"type": "Issuing", "status": "True", "reason": "ManuallyTriggered", "lastTransitionTime": "2026-01-01T00:00:00Z"}
    certificate = site.get(f"{CERTIFICATES}/{name}")
    assert certificate is not None
    others = [each for each in certificate["status"]["conditions"] if each["type"] != "Issuing"]
    site.patch(f"{CERTIFICATES}/{name}/status", {"status": {"conditions": [*others, condition]}})


def test_certificates_are_issued_published_and_renewed_and_no_request_fails(site: Installed) -> None:
    assert site.get(f"{SECRETS}/{AUTHORITY}") is None
    load = Load(site.plane, site.plane.namespace())
    load.start()
    try:
        load.wait_for(200)
        for name in (LEAF, ROOT, LEAF):  # the same issuer; a new one, which signs nothing yet; a leaf of that
            renewed = partial(_is_newer, site, name, _version(site, name))
            _renew(site, name)
            wait_until(renewed, f"{name} being renewed", patience=WAIT_SECONDS)
            _settled(site)
            load.wait_for(200)
    finally:
        load.stop()
    assert load.failures == []
    assert load.done > 800


def _version(site: Installed, name: str) -> int:
    certificate = site.get(f"{CERTIFICATES}/{name}")
    assert certificate is not None
    return int(certificate["status"].get("revision", 0))


def _is_newer(site: Installed, name: str, before: int) -> bool:
    return _version(site, name) > before
