"""Our server as a real process, and its registration at an API server through `clientConfig.url`. No control plane is started here."""

from __future__ import annotations

import base64
import contextlib
import re
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, TypeAlias

import yaml

from api.kinds import ALPHA, BETA, BY_ALIAS, GROUP
from tests.cluster.processes import Process, running, wait_until

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from tests.cluster.harness import ControlPlane

Node: TypeAlias = dict[str, Any]
COMMAND: Final = Path(sys.executable).with_name("dynamo-webhooks")
# The settings that the worked examples call C0: Grove on, cluster-wide, no InferencePool API, no topologies.
FACTS: Final[Node] = {
    "operatorScope": "cluster",
    "operatorVersion": "1.2.0",
    "operatorPrincipal": "system:serviceaccount:dynamo-system:operator",
    "grove": True,
    "inferencePool": False,
    "clusterTopologies": {"default": ["zone", "rack", "host"]},
    "gpuDiscovery": True,
    "dra": True,
    "lws": False,
    "istio": False,
    "excludedNamespaces": [],
    "allowGmsSnapshot": False,
}
# What the chart registers: alias, version of the rule, and what differs between the entries.
VALIDATING: Final[tuple[tuple[str, str, Node], ...]] = (
    ("DCD", ALPHA, {"name": "vdynamocomponentdeployment.kb.io"}),
    ("DGD", ALPHA, {"name": "vdynamographdeployment.kb.io"}),
    ("CKPT", ALPHA, {"name": "vdynamocheckpoint.kb.io"}),
    ("MODEL", ALPHA, {"name": "vdynamomodel.kb.io"}),
    ("DGDR", BETA, {"name": "vdynamographdeploymentrequest.kb.io"}),
)
MUTATING: Final[tuple[tuple[str, str, Node], ...]] = (
    ("DGD", ALPHA, {"name": "mdynamographdeployment.kb.io"}),
    ("DCD", BETA, {"name": "mdynamocomponentdeploymentv1beta1.kb.io", "matchPolicy": "Exact"}),
    ("DGDR", BETA, {"name": "mdynamographdeploymentrequestv1beta1.kb.io"}),
)
LABEL: Final = "dynamo-webhooks.test/admission"


@dataclass(frozen=True, slots=True)
class Admission:
    """Our running server."""

    process: Process
    url: str
    ca: bytes  # PEM

    def configurations(self, name: str, namespaces: Mapping[str, str] | None = None) -> tuple[Node, Node]:
        """Writes the validating and the mutating configuration; `namespaces` are labels that a namespace must have."""
        selector: Node = {} if namespaces is None else {"namespaceSelector": {"matchLabels": dict(namespaces)}}
        written = []
        for purpose, rows, operations in (("Validating", VALIDATING, ["CREATE", "UPDATE"]), ("Mutating", MUTATING, ["CREATE"])):
            verb = "validate" if purpose == "Validating" else "mutate"
            webhooks = [self._entry(verb, alias, version, operations) | rest | selector for alias, version, rest in rows]
            written.append(
                {
                    "apiVersion": "admissionregistration.k8s.io/v1",
                    "kind": f"{purpose}WebhookConfiguration",
                    "metadata": {"name": name},
                    "webhooks": webhooks,
                }
            )
        validating, mutating = written
        return validating, mutating

    def _entry(self, verb: str, alias: str, version: str, operations: list[str]) -> Node:
        kind = BY_ALIAS[alias]
        return {
            "admissionReviewVersions": ["v1"],
            "sideEffects": "None",
            "failurePolicy": "Fail",
            "timeoutSeconds": 10,
            "clientConfig": {
                "url": f"{self.url}/{verb}-nvidia-com-{version}-{kind.name.lower()}",
                "caBundle": base64.b64encode(self.ca).decode(),
            },
            "rules": [{"apiGroups": [GROUP], "apiVersions": [version], "resources": [kind.plural], "operations": operations}],
        }


@contextlib.contextmanager
def serving(home: Path, facts: Mapping[str, Any] = FACTS, *, profile: str = "current") -> Iterator[Admission]:
    """Runs `dynamo-webhooks serve` on a free port until the end of the block; `home` receives facts, certificates and log."""
    home.mkdir(parents=True, exist_ok=True)
    (home / "facts.yaml").write_text(yaml.safe_dump(dict(facts)))
    listeners = [part for flag in ("--listen", "--probe-listen", "--metrics-listen") for part in (flag, "127.0.0.1:0")]
    files: list[str | Path] = ["--cert-dir", home / "certs", "--facts", home / "facts.yaml"]
    command: list[str | Path] = [
        COMMAND,
        "serve",
        *listeners,
        *files,
        "--self-signed",
        "--no-cluster",
        "--workers",
        "1",
        "--profile",
        profile,
    ]
    with running(Process("dynamo-webhooks", command, home / "dynamo-webhooks.log")) as process:
        ready = wait_until(lambda: re.search(r"^ready (https://\S+)", process.text(), re.MULTILINE), "dynamo-webhooks being ready", process)
        yield Admission(process, ready[1], (home / "certs" / "ca.crt").read_bytes())


def register(plane: ControlPlane, admission: Admission, name: str, namespaces: Mapping[str, str] | None = None) -> None:
    """Registers the server and waits until the API server asks it: configurations reach its admission plugins with a delay.

    The probe is a dry-run create that only our server refuses, in a namespace that the configurations select.
    """
    plane.apply(*admission.configurations(name, namespaces))
    probe = plane.namespace(**{key.replace(".", "__"): value for key, value in (namespaces or {}).items()})
    model = {"apiVersion": f"{GROUP}/{ALPHA}", "kind": "DynamoModel", "metadata": {"name": "probe"}}
    body = {**model, "spec": {"modelName": "", "baseModelName": "b"}}
    path = f"/apis/{GROUP}/{ALPHA}/namespaces/{probe}/dynamomodels?dryRun=All"
    wait_until(lambda: plane.request("POST", path, body).status in (403, 422), "the webhooks being asked", plane.server, admission.process)
