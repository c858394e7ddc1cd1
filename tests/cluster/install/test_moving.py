"""Moving from another operator in the same namespace, by the commands of docs/install.md, while a load never pauses: no request fails.

The other operator's webhooks are a server of ours by another Service, whose Secret has the usual name, as the Go operator's has.
"""

import base64
import copy
import re
from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Final, TypeAlias

import pytest
import yaml

from dynamo_webhooks.api.line import Line
from dynamo_webhooks.certs.authority import KeyPair, issue_leaf, make_authority
from tests.cluster.admission import COMMAND, FACTS, start
from tests.cluster.definitions import install, read_files
from tests.cluster.endpoints import publish
from tests.cluster.harness import ControlPlane
from tests.cluster.load import Load
from tests.cluster.planes import Planes
from tests.cluster.processes import Process, free_ports, running, wait_until
from tests.cluster.provisioning import CONFIGURATIONS, CRDS, HOOKS, NAMESPACE, SECRETS, SERVING, Installed
from tests.cluster.rendering import CHART, MANIFESTS, RELEASE, helm, kustomized, of_kind, restricted
from tools.crd_files import FOLDERS

Node: TypeAlias = dict[str, Any]
OTHER: Final = "platform-webhook"
PAGE: Final = (Path(__file__).parents[3] / "docs" / "install.md").read_text()
ANSWERS: Final = 80  # requests of the load between two commands


def _commands() -> list[str]:
    [block] = re.findall(r"```sh\n# move from the Go operator\n(.*?)```", PAGE, re.DOTALL)
    return re.sub(r"\\\n\s*", "", block).strip().splitlines()


@pytest.fixture
def other(planes: Planes, tmp_path: Path) -> Iterator[tuple[ControlPlane, Process]]:
    """A cluster with the webhooks of the other operator, which judge, default and convert."""
    authority = make_authority(datetime.now(UTC))
    pair = issue_leaf(authority, [f"{OTHER}.{NAMESPACE}.svc"], datetime.now(UTC))
    bundle = base64.b64encode(authority.certificate).decode()
    with planes.lend() as plane:
        install(plane, *read_files(FOLDERS[Line.V1_2]))
        plane.apply(restricted(NAMESPACE))
        with running(_server(plane, tmp_path, authority, pair)) as process:
            hooks = of_kind(kustomized(MANIFESTS / "overlays" / "self-signed"), *HOOKS)
            for obj in (*hooks, *(plane.request("GET", path).body for path in CRDS.values())):
                plane.apply(_theirs(obj, bundle))
            yield plane, process


def _server(plane: ControlPlane, home: Path, authority: KeyPair, pair: KeyPair) -> Process:
    site = Installed(plane, home, [])
    [port] = free_ports(1, site.address)
    data = {"tls.crt": pair.certificate, "tls.key": pair.key, "ca.crt": authority.certificate}
    (home / "certs").mkdir()
    for name, content in data.items():
        (home / "certs" / name).write_bytes(content)
    (home / "facts.yaml").write_text(yaml.safe_dump(FACTS))
    encoded = {name: base64.b64encode(content).decode() for name, content in data.items()}
    plane.apply({"apiVersion": "v1", "kind": "Secret", "metadata": {"name": SERVING, "namespace": NAMESPACE}, "data": encoded})
    service = {"ports": [{"name": "webhook", "port": 443, "targetPort": port}]}
    plane.apply({"apiVersion": "v1", "kind": "Service", "metadata": {"name": OTHER, "namespace": NAMESPACE}, "spec": service})
    assert publish(plane, OTHER, NAMESPACE, OTHER, (site.address, port))
    flags: dict[str, str | Path] = {"listen": f"{site.address}:{port}", "cert_dir": home / "certs", "facts": home / "facts.yaml"}
    process = start("other", home, COMMAND, "serve", **flags)
    wait_until(lambda: "ready https" in process.text(), "the other server being ready", process)
    return process


def _theirs(obj: Node, bundle: str) -> Node:
    """A configuration object that leads to the other operator."""
    made = copy.deepcopy(obj)
    if made["kind"] in HOOKS:
        made["metadata"] = {"name": made["metadata"]["name"].replace("dynamo-webhooks", "platform")}
        configs = [each["clientConfig"] for each in made["webhooks"]]
    else:
        made["metadata"] = {name: made["metadata"][name] for name in ("name", "annotations")}
        del made["status"]
        configs = [made["spec"]["conversion"]["webhook"]["clientConfig"]]
    for config in configs:
        config["service"]["name"], config["caBundle"] = OTHER, bundle
    return made


class Mover:
    """Runs the commands, and the processes that the cluster would run for what they install."""

    def __init__(self, plane: ControlPlane, home: Path, process: Process) -> None:
        self.plane, self.other = plane, process
        self.site = Installed(plane, home, [])

    def run(self, command: str) -> None:
        """Runs one command, without waiting for pods, of which there are none."""
        program, *words = command.replace(" --wait", "").replace("manifests/chart", str(CHART)).split()
        if program == "helm" and words[0] == "uninstall":
            self.other.kill()
        elif program == "helm":
            done = helm(*words, kubeconfig=self.plane.kubeconfig)
            assert done.returncode == 0, done.stderr
            self._start(first=words[0] == "install")
        elif program == "kubectl":
            self.plane.kubectl(*words).done()

    def _start(self, *, first: bool) -> None:
        """What `--wait` waits for: a server, a provisioner with today's configuration, and its work."""
        config_map = self.site.get(f"/api/v1/namespaces/{NAMESPACE}/configmaps/{RELEASE}-config")
        assert config_map is not None
        config = yaml.safe_load(config_map["data"]["config.yaml"])
        config["serving"] = {**config.get("serving", {}), "drainLag": "0s"}
        (self.site.home / "config.yaml").write_text(yaml.safe_dump(config))
        if first:
            self.site.serve("server-1")
        else:
            self.site.kill()
        self.site.provision()
        self._until(lambda: all(b"" not in self.site.bundle(name) for name in CONFIGURATIONS), "webhooks being trusted")
        if config["certificates"].get("takeOverConversion"):
            self._until(lambda: all(self._service(path) == RELEASE for path in CRDS.values()), "conversion being taken over")

    def _service(self, path: str) -> str:
        definition = self.site.get(path)
        assert definition is not None
        return str(definition["spec"]["conversion"]["webhook"]["clientConfig"]["service"]["name"])

    def _until(self, question: Callable[[], bool], what: str) -> None:
        wait_until(question, what, *self.site.servers.values(), *self.site.provisioners.values())


def test_no_request_fails_while_an_installation_moves(other: tuple[ControlPlane, Process], tmp_path: Path) -> None:
    plane, process = other
    load = Load(plane, plane.namespace())
    mover = Mover(plane, tmp_path, process)
    load.start()
    try:
        load.wait_for(ANSWERS)
        for command in _commands():
            mover.run(command)
            load.wait_for(ANSWERS)
            assert load.failures == [], f"after {command}"
    finally:
        load.stop()
        mover.site.stop()
    assert process.ended() is not None
    left = plane.request("GET", "/apis/admissionregistration.k8s.io/v1/validatingwebhookconfigurations").body["items"]
    assert [(each["metadata"]["name"], {hook["failurePolicy"] for hook in each["webhooks"]}) for each in left] == [
        (f"{RELEASE}-validating", {"Fail"})
    ]
    assert plane.request("GET", f"{SECRETS}/{SERVING}").status == 200, "the other operator's Secret is still there, unchanged"
