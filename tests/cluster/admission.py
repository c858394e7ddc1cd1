"""Our server as a real process, and its registration at an API server through `clientConfig.url`. No control plane is started here."""

import base64
import contextlib
import re
import sys
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final, NamedTuple, TypeAlias

import yaml

from dynamo_webhooks.api.kinds import ALPHA, BETA, BY_ALIAS, GROUP
from tests.cluster.harness import ControlPlane
from tests.cluster.objects import ORIGIN, graph, make, path_of
from tests.cluster.processes import Process, running, wait_until

Node: TypeAlias = dict[str, Any]
COMMAND: Final = Path(sys.executable).with_name("dynamo-webhooks")
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


class Hook(NamedTuple):
    """One entry of a webhook configuration: what it is called, what it is asked for, and at which of our paths."""

    name: str
    alias: str
    version: str
    operations: tuple[str, ...]
    policy: str = "Equivalent"


_WRITES: Final = ("CREATE", "UPDATE")
# Registered as the chart does, with one difference: graphs are mutated on UPDATE too, so that replicas which an update drops come back.
HOOKS: Final[dict[str, tuple[Hook, ...]]] = {
    "Validating": (
        Hook("vdynamocomponentdeployment.kb.io", "DCD", ALPHA, _WRITES),
        Hook("vdynamographdeployment.kb.io", "DGD", ALPHA, _WRITES),
        Hook("vdynamocheckpoint.kb.io", "CKPT", ALPHA, _WRITES),
        Hook("vdynamomodel.kb.io", "MODEL", ALPHA, _WRITES),
        Hook("vdynamographdeploymentrequest.kb.io", "DGDR", BETA, _WRITES),
    ),
    "Mutating": (
        Hook("mdynamographdeployment.kb.io", "DGD", ALPHA, _WRITES),
        Hook("mdynamocomponentdeploymentv1beta1.kb.io", "DCD", BETA, ("CREATE",), "Exact"),
        Hook("mdynamographdeploymentrequestv1beta1.kb.io", "DGDR", BETA, ("CREATE",)),
    ),
}
# Namespaces with this label are judged; the others are as before our webhooks were registered.
SELECTED: Final = {"dynamo-webhooks.test/admission": "on"}


@dataclass(frozen=True, slots=True)
class Admission:
    """Our running server."""

    process: Process
    url: str
    ca: bytes  # PEM

    def configurations(
        self, name: str, namespaces: Mapping[str, str] | None = None, registered: Mapping[str, tuple[Hook, ...]] = HOOKS
    ) -> list[Node]:
        """Writes the validating and the mutating configuration; `namespaces` are labels that a namespace must have."""
        selector: Node = {} if namespaces is None else {"namespaceSelector": {"matchLabels": dict(namespaces)}}
        return [
            {
                "apiVersion": "admissionregistration.k8s.io/v1",
                "kind": f"{purpose}WebhookConfiguration",
                "metadata": {"name": name},
                "webhooks": [self._entry(purpose, hook) | selector for hook in hooks],
            }
            for purpose, hooks in registered.items()
        ]

    def _entry(self, purpose: str, hook: Hook) -> Node:
        kind = BY_ALIAS[hook.alias]
        verb = {"Validating": "validate", "Mutating": "mutate"}[purpose]
        rule = {"apiGroups": [GROUP], "apiVersions": [hook.version], "resources": [kind.plural], "operations": list(hook.operations)}
        url = f"{self.url}/{verb}-nvidia-com-{hook.version}-{kind.name.lower()}"
        return {
            "name": hook.name,
            "admissionReviewVersions": ["v1"],
            "sideEffects": "None",
            "failurePolicy": "Fail",
            "timeoutSeconds": 10,
            "matchPolicy": hook.policy,
            "clientConfig": {"url": url, "caBundle": base64.b64encode(self.ca).decode()},
            "rules": [rule],
        }


@contextlib.contextmanager
def serving(home: Path, facts: Mapping[str, Any] = FACTS) -> Iterator[Admission]:
    """Runs `dynamo-webhooks serve` on a free port until the end of the block; `home` receives facts, certificates and log."""
    home.mkdir(parents=True, exist_ok=True)
    (home / "facts.yaml").write_text(yaml.safe_dump(dict(facts)))
    flags: dict[str, str | Path] = {f"--{name}": "127.0.0.1:0" for name in ("listen", "probe-listen", "metrics-listen")}
    flags |= {"--cert-dir": home / "certs", "--facts": home / "facts.yaml"}
    command = [COMMAND, "serve", "--self-signed", "--no-cluster", *(part for flag in flags.items() for part in flag)]
    with running(Process("dynamo-webhooks", command, home / "dynamo-webhooks.log")) as process:
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
    """Whether a dry-run create comes back with our defaults: of a graph, or of a component where graphs of that version aren't served."""
    reply = plane.request("POST", path_of(obj := graph(namespace)) + "?dryRun=All", obj)
    if reply.status != 404:
        return reply.status == 201 and ORIGIN in reply.body["metadata"].get("annotations", {})
    reply = plane.request("POST", path_of(obj := make("DCD", BETA, namespace, {})) + "?dryRun=All", obj)
    return reply.status == 201 and "name" in reply.body["spec"]


def wait_until_asked(plane: ControlPlane, admission: Admission, namespace: str) -> None:
    """Waits until writes in the namespace are judged, by dry-run creates that the schema accepts and only our server refuses."""
    model = {"apiVersion": f"{GROUP}/{ALPHA}", "kind": "DynamoModel", "metadata": {"name": "probe"}}
    body = {**model, "spec": {"modelName": "", "baseModelName": "b"}}
    path = f"/apis/{GROUP}/{ALPHA}/namespaces/{namespace}/dynamomodels?dryRun=All"
    wait_until(lambda: plane.request("POST", path, body).status in (403, 422), "the webhooks being asked", plane.server, admission.process)
