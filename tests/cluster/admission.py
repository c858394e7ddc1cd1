"""Our server as a real process, and its registration at an API server through `clientConfig.url`. No control plane is started here."""

import base64
import contextlib
import re
import sys
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final, TypeAlias

import yaml

from dynamo_webhooks.api.kinds import ALPHA, GROUP
from tests.cluster.harness import ControlPlane
from tests.cluster.objects import ORIGIN, graph, path_of
from tests.cluster.processes import Process, running, wait_until
from tests.cluster.rendering import MANIFESTS

Node: TypeAlias = dict[str, Any]
COMMAND: Final = Path(sys.executable).with_name("dynamo-webhooks")
ANYWHERE: Final = "127.0.0.1:0"
# A cluster-wide operator with Grove, DRA and the InferencePool API.
FACTS: Final[Node] = {
    "operatorScope": "cluster",
    "operatorVersion": "1.2.0",
    "operatorPrincipal": "system:serviceaccount:dynamo-system:operator",
    "grove": True,
    "inferencePool": True,
    "clusterTopologies": {"default": ["zone", "rack", "host"]},
    "gpuDiscovery": True,
    "dra": True,
    "lws": False,
    "istio": False,
    "excludedNamespaces": [],
    "allowGmsSnapshot": False,
    "switchedOff": [],
}


# Namespaces with this label are judged; the others are as before our webhooks were registered.
SELECTED: Final = {"dynamo-webhooks.test/admission": "on"}


@dataclass(frozen=True, slots=True)
class Admission:
    """Our running server."""

    process: Process
    url: str
    ca: bytes  # PEM

    def configurations(self, name: str, namespaces: Mapping[str, str] | None = None) -> list[Node]:
        """The validating and the mutating one of the manifests, leading here; `namespaces` are labels that a namespace must have."""
        selector: Node = {} if namespaces is None else {"namespaceSelector": {"matchLabels": dict(namespaces)}}
        configurations = [yaml.safe_load((MANIFESTS / "base" / f"{file}.yaml").read_text()) for file in ("validating", "mutating")]
        for each in configurations:
            each["metadata"] = {"name": name}
            for entry in each["webhooks"]:
                entry |= {**selector, "clientConfig": self._client(entry["clientConfig"]["service"]["path"])}
        return configurations

    def stanza(self) -> Node:
        """What `spec.conversion` of a definition says when this server converts."""
        return {"strategy": "Webhook", "webhook": {"clientConfig": self._client("/convert"), "conversionReviewVersions": ["v1"]}}

    def _client(self, path: str) -> Node:
        return {"url": self.url + path, "caBundle": base64.b64encode(self.ca).decode()}


def start(name: str, home: Path, *command: str | Path, account: str | Path = "", **flags: str | Path) -> Process:
    """Starts a program of ours as the pod of an account, `NAMESPACE/NAME`, if there is one; probes and metrics are on free ports."""
    options = {"probe_listen": ANYWHERE, "metrics_listen": ANYWHERE, **flags}
    words = [*command, *(part for flag, value in options.items() for part in (f"--{flag.replace('_', '-')}", value))]
    namespace, _, who = str(account).partition("/")
    pod = {"POD_NAMESPACE": namespace, "POD_NAME": name, "POD_SERVICE_ACCOUNT": who} if account else {}
    return Process(name, words, home / f"{name}.log", {**pod, "PYTHONPATH": str(Path(__file__).parents[2])})


@contextlib.contextmanager
def serving(home: Path, facts: Mapping[str, Any] = FACTS) -> Iterator[Admission]:
    """Runs `dynamo-webhooks serve` on a free port until the end of the block; `home` receives facts, certificates and log."""
    home.mkdir(parents=True, exist_ok=True)
    (home / "facts.yaml").write_text(yaml.safe_dump(dict(facts)))
    flags: dict[str, str | Path] = {"listen": ANYWHERE, "cert_dir": home / "certs", "facts": home / "facts.yaml"}
    with running(start("dynamo-webhooks", home, COMMAND, "serve", "--self-signed", "--no-cluster", **flags)) as process:
        ready = wait_until(lambda: re.search(r"^ready (https://\S+)", process.text(), re.MULTILINE), "dynamo-webhooks being ready", process)
        yield Admission(process, ready[1], (home / "certs" / "ca.crt").read_bytes())


def register(plane: ControlPlane, admission: Admission, name: str, namespaces: Mapping[str, str] | None = None) -> None:
    """Registers the server and waits until the API server asks it: each configuration reaches its admission plugin with its own delay."""
    plane.apply(*admission.configurations(name, namespaces))
    wait_until_all_are_asked(plane, admission, plane.namespace(namespaces))


def wait_until_all_are_asked(plane: ControlPlane, admission: Admission, namespace: str) -> None:
    """Waits until writes in the namespace are judged, and objects get our defaults."""
    wait_until_asked(plane, admission, namespace)
    wait_until(lambda: _defaulted(plane, namespace), "the mutating webhooks being asked", plane.server, admission.process)


def _defaulted(plane: ControlPlane, namespace: str) -> bool:
    """Whether a dry-run create of a graph, which every line accepts, comes back with our defaults."""
    obj = graph(namespace, {"w": {"extraPodSpec": {"mainContainer": {"image": "x/vllm:1.5.0"}}}})
    reply = plane.request("POST", path_of(obj) + "?dryRun=All", obj)
    return reply.status == 201 and ORIGIN in reply.body["metadata"].get("annotations", {})


def wait_until_asked(plane: ControlPlane, admission: Admission, namespace: str) -> None:
    """Waits until writes in the namespace are judged, by dry-run creates that the schema accepts and only our server refuses."""
    model = {"apiVersion": f"{GROUP}/{ALPHA}", "kind": "DynamoModel", "metadata": {"name": "probe"}}
    body = {**model, "spec": {"modelName": "", "baseModelName": "b"}}
    path = f"/apis/{GROUP}/{ALPHA}/namespaces/{namespace}/dynamomodels?dryRun=All"
    wait_until(lambda: plane.request("POST", path, body).status in (403, 422), "the webhooks being asked", plane.server, admission.process)
