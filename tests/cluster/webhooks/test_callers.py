"""Client certificates of a real API server, given to it by the files of docs/install.md: admission needs one, conversion carries none."""

import base64
import json
import re
import urllib.request
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final, NamedTuple, TypeAlias

import pytest
import trustme
import yaml

from dynamo_webhooks.api.crd import build as crd
from dynamo_webhooks.api.kinds import BETA
from dynamo_webhooks.api.line import Line
from tests.cluster.admission import COMMAND
from tests.cluster.conversion import restart
from tests.cluster.definitions import install
from tests.cluster.endpoints import publish
from tests.cluster.harness import ControlPlane
from tests.cluster.objects import graph, path_of
from tests.cluster.planes import Planes
from tests.cluster.processes import Process, free_ports, running, wait_until
from tests.cluster.provisioning import own_address
from tests.cluster.rendering import MANIFESTS
from tests.webhooks.serving import write_pair
from tests.webhooks.test_facts_serving import CONFIGURATION

Node: TypeAlias = dict[str, Any]
NAMESPACE: Final = "dynamo-system"
SERVICE: Final = "dynamo-webhooks"
NAME: Final = "kube-apiserver"
FOLDER: Final = "/etc/kubernetes/webhooks"  # where the page keeps the API server's files
PAGE: Final = (MANIFESTS.parent / "docs" / "install.md").read_text()
BLOCKS: Final = dict(re.findall(r"^```yaml\n# client certificates: (.+)\n((?:.*\n)+?)^```$", PAGE, re.MULTILINE))
GRAPHS: Final = "/validate-nvidia-com-v1alpha1-dynamographdeployment"


class Site(NamedTuple):
    """A control plane that calls our server by its Service, and the authorities of both sides."""

    plane: ControlPlane
    server: Process
    metrics: int
    folder: Path  # of the API server's files
    callers: trustme.CA

    def show(self, leaf: trustme.LeafCert | None) -> None:
        """Starts the API server again with another client certificate, or with none."""
        kubeconfig: Node = yaml.safe_load(BLOCKS["kubeconfig"].replace(FOLDER, str(self.folder)))
        if leaf is None:
            kubeconfig["users"] = []
        else:
            (self.folder / "client.crt").write_bytes(leaf.cert_chain_pems[0].bytes())
            (self.folder / "client.key").write_bytes(leaf.private_key_pem.bytes())
        (self.folder / "kubeconfig").write_text(yaml.safe_dump(kubeconfig))
        restart(self.plane)

    def create(self, name: str) -> tuple[int, str]:
        """Creates a graph: the status, and the message of a refusal."""
        obj = graph("default", name=name)
        reply = self.plane.request("POST", path_of(obj), obj)
        return reply.status, str(reply.body.get("message", ""))

    def converted(self) -> int:
        """How many graphs come back in the version that isn't stored."""
        reply = self.plane.request("GET", f"/apis/nvidia.com/{BETA}/namespaces/default/dynamographdeployments").done()
        return sum(item["spec"]["components"][0]["name"] == "w" for item in reply["items"])

    def counted(self, name: str) -> dict[str, float]:
        """The samples of one metric, by their labels."""
        with urllib.request.urlopen(f"http://127.0.0.1:{self.metrics}/metrics", timeout=60) as answer:
            lines = answer.read().decode().splitlines()
        return {
            labels: float(value) for labels, value in (line[len(name) :].rsplit(" ", 1) for line in lines if line.startswith(name + "{"))
        }


@pytest.fixture(scope="module")
def site(planes: Planes, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Site]:
    home, folder = tmp_path_factory.mktemp("callers"), tmp_path_factory.mktemp("apiserver")
    authority, callers = trustme.CA(), trustme.CA()
    certificates = home / "serving"
    certificates.mkdir()
    write_pair(certificates, authority.issue_cert(f"{SERVICE}.{NAMESPACE}.svc"))
    callers.cert_pem.write_to_path(str(home / "client-ca.crt"))
    address, [port, metrics] = own_address(), free_ports(2)
    webhook = {"clientCA": str(home / "client-ca.crt"), "clientNames": [NAME], "certDir": str(certificates)}
    (home / "config.yaml").write_text(
        json.dumps({**CONFIGURATION, "operator": {"version": "1.2.0"}, "server": {"webhook": webhook, "metrics": {"secure": False}}})
    )
    words: list[str | Path] = [COMMAND, "serve", "--no-cluster", "--config", home / "config.yaml"]
    words += ["--listen", f"{address}:{port}", "--probe-listen", "127.0.0.1:0", "--metrics-listen", f"127.0.0.1:{metrics}"]
    flag = f"--admission-control-config-file={folder / 'admission.yaml'}"
    (folder / "admission.yaml").write_text(BLOCKS["admission.yaml"].replace(FOLDER, str(folder)))
    (folder / "kubeconfig").write_text(yaml.safe_dump({"apiVersion": "v1", "kind": "Config"}))
    with running(Process("dynamo-webhooks", words, home / "log")) as server:
        wait_until(lambda: "ready https://" in server.text(), "dynamo-webhooks being ready", server)
        with planes.lend(flag) as plane:
            _register(plane, address, port, authority.cert_pem.bytes())
            yield Site(plane, server, metrics, folder, callers)


def _register(plane: ControlPlane, address: str, port: int, bundle: bytes) -> None:
    """The Service with our server behind it, the definition with its conversion, and the manifests' webhooks."""
    metadata = {"name": SERVICE, "namespace": NAMESPACE}
    plane.apply({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": NAMESPACE}})
    plane.apply({"apiVersion": "v1", "kind": "Service", "metadata": metadata, "spec": {"ports": [{"name": "webhook", "port": 443}]}})
    assert publish(plane, SERVICE, NAMESPACE, SERVICE, (address, port))

    encoded = base64.b64encode(bundle).decode()
    client = {"service": {**metadata, "path": "/convert"}, "caBundle": encoded}
    conversion = {"strategy": "Webhook", "webhook": {"clientConfig": client, "conversionReviewVersions": ["v1"]}}
    install(plane, crd("DynamoGraphDeployment", conversion=conversion, line=Line.V1_2))
    for file in ("validating", "mutating"):
        configuration = yaml.safe_load((MANIFESTS / "base" / f"{file}.yaml").read_text())
        for hook in configuration["webhooks"]:
            hook["clientConfig"]["caBundle"] = encoded
        plane.apply(configuration)


def _settled(site: Site, prefix: str, wanted: int, words: str) -> str:
    """The message of the first create with this outcome: until a restarted API server has read the webhooks, it may know none."""
    numbers = iter(range(10_000))

    def outcome() -> str | None:
        status, message = site.create(f"{prefix}-{next(numbers)}")
        return (message or "created") if status == wanted and words in message else None

    return wait_until(outcome, f"{wanted} with {words!r}", site.plane.server, site.server, patience=90)


def test_admission_needs_the_certificate_and_conversion_none(site: Site) -> None:
    """One API server after the other: without a certificate, with ours, with one of another name, with one of a stranger's."""
    message = _settled(site, "none", 500, "must present a client certificate")
    assert "failed calling webhook" in message
    site.converted()

    site.show(site.callers.issue_cert("x", common_name=NAME))
    _settled(site, "ours", 201, "")
    reply = site.plane.request("GET", "/apis/nvidia.com/v1alpha1/namespaces/default/dynamographdeployments")
    assert reply.status == 200
    by_caller = "dynamo_webhooks_requests_by_caller_total"
    wait_until(lambda: site.counted(by_caller).get(f'{{caller="verified",path="{GRAPHS}"}}', 0) >= 1, "a verified caller", site.server)
    written = len(reply.body["items"])
    assert site.converted() == written >= 1

    site.show(site.callers.issue_cert("x", common_name="somebody"))
    _settled(site, "other", 500, "must bear one of the names in server.webhook.clientNames")
    assert site.converted() == written

    site.show(trustme.CA().issue_cert("x", common_name=NAME))
    message = _settled(site, "stranger", 500, "failed to call webhook")
    assert "client certificate" not in message
    line = "does not verify, and its connection was closed: unable to get local issuer certificate"
    wait_until(lambda: line in site.server.text(), "a line about it", site.server)
    assert site.converted() == written
    assert site.counted("dynamo_webhooks_bounds_met_total")['{bound="client_certificate"}'] >= 1
    counted = site.counted(by_caller)
    assert counted['{caller="unverified",path="/convert"}'] >= 3
    assert '{caller="verified",path="/convert"}' not in counted
