"""A control plane with controllers, our accounts and kinds, reconcilers that may be killed, and somebody who makes pods ready.

There is no kubelet: pods become ready when `Pods` says so, as many as a test permits.
"""

import asyncio
import contextlib
from collections.abc import AsyncIterator, Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Final, TypeAlias

import yaml

from dynamo_webhooks.api.crd import build as crd
from dynamo_webhooks.api.line import Line
from dynamo_webhooks.api.operator.controllers import Models
from dynamo_webhooks.cli.installation.configuration import load_configuration
from dynamo_webhooks.kube.client import connect
from dynamo_webhooks.reconciler.common.resources import MANAGER
from dynamo_webhooks.reconciler.model.controller import ModelController
from dynamo_webhooks.reconciler.model.worker import WorkerClient
from dynamo_webhooks.reconciler.reconciler import Reconciler
from tests.cluster.admission import COMMAND, start
from tests.cluster.definitions import install
from tests.cluster.harness import ControlPlane, controllers
from tests.cluster.planes import Planes
from tests.cluster.playing import MERGE, Player
from tests.cluster.processes import Process, StartError, wait_until
from tests.cluster.rendering import MANIFESTS, kustomized, of_kind

Node: TypeAlias = dict[str, Any]
NAMESPACE: Final = "dynamo-system"
ACCOUNT: Final = "dynamo-webhooks-reconciler"
KINDS: Final = ("DynamoGraphDeployment", "DynamoComponentDeployment", "DynamoGraphDeploymentScalingAdapter")
GRAPHS: Final = "/apis/nvidia.com/v1beta1/namespaces/{}/dynamographdeployments"
COMPONENTS: Final = "/apis/nvidia.com/v1beta1/namespaces/{}/dynamocomponentdeployments"
ADAPTERS: Final = "/apis/nvidia.com/v1beta1/namespaces/{}/dynamographdeploymentscalingadapters"
DEPLOYMENTS: Final = "/apis/apps/v1/namespaces/{}/deployments"
REPLICA_SETS: Final = "/apis/apps/v1/namespaces/{}/replicasets"
SERVICES: Final = "/api/v1/namespaces/{}/services"
ACCOUNTS: Final = "/api/v1/namespaces/{}/serviceaccounts"
PODS: Final = "/api/v1/namespaces/{}/pods"
EVENTS: Final = "/api/v1/namespaces/{}/events"
ROLES: Final = "/apis/rbac.authorization.k8s.io/v1/namespaces/{}/roles"
BINDINGS: Final = "/apis/rbac.authorization.k8s.io/v1/namespaces/{}/rolebindings"
TEMPLATES: Final = "/apis/resource.k8s.io/v1/namespaces/{}/resourceclaimtemplates"
WAIT_SECONDS: Final = 120.0  # on an idle machine everything happens within two


class Pods(Player):
    """Stands in for kubelets: makes every pod ready that has not ended and whose name no held text is part of."""

    def __init__(self, plane: ControlPlane) -> None:
        """Holds nothing yet."""
        super().__init__(plane, "/api/v1/pods")
        self.held: set[str] = set()

    def see_to(self, pod: Node) -> None:
        """Makes a pod ready that may be and isn't."""
        metadata, conditions = pod["metadata"], pod.get("status", {}).get("conditions", [])
        if any(condition["type"] == "Ready" and condition["status"] == "True" for condition in conditions):
            return
        if any(text in metadata["name"] for text in [*self.held]):
            return
        if pod.get("status", {}).get("phase") in ("Succeeded", "Failed"):
            return
        ready = {"phase": "Running", "conditions": [{"type": "Ready", "status": "True", "lastTransitionTime": "2026-01-01T00:00:00Z"}]}
        self.plane.request("PATCH", f"{PODS.format(metadata['namespace'])}/{metadata['name']}/status", {"status": ready}, kind=MERGE)


@dataclass
class Reconciled:
    """The control plane with everything around it."""

    plane: ControlPlane
    home: Path
    pods: Pods
    processes: list[Process] = field(default_factory=list)
    neighbours: list[Process] = field(default_factory=list)  # others' programs, which must run all the time

    def reconcile(self, **more: str | Path) -> Process:
        """Starts a reconciler with nothing but its account's rights; `more` are further flags."""
        number = len(list(self.home.glob("reconciler-*.log")))
        flags = {"config": self.home / "config.yaml", "kubeconfig": self.home / "reconciler.kubeconfig", **more}
        process = start(f"reconciler-{number}", self.home, COMMAND, "reconcile", account=f"{NAMESPACE}/{ACCOUNT}", **flags)
        self.processes.append(process)
        return process

    def kill(self) -> None:
        """Ends the reconciler as a crash does."""
        self.processes.pop().kill()

    def names(self, path: str, namespace: str) -> set[str]:
        """The names of all objects of a kind in a namespace; of service accounts without that which every namespace has."""
        reply = self.plane.request("GET", path.format(namespace)).done()
        return {obj["metadata"]["name"] for obj in reply["items"]} - {"default"}

    def get(self, path: str, namespace: str, name: str) -> Node:
        """An object that is there."""
        return self.plane.request("GET", f"{path.format(namespace)}/{name}").done()

    def patch(self, path: str, namespace: str, name: str, patch: Any, kind: str = MERGE) -> None:
        """Changes an object as a user does."""
        self.plane.request("PATCH", f"{path.format(namespace)}/{name}", patch, kind=kind).done()

    def state(self, namespace: str, name: str = "g") -> str:
        """The state of a graph."""
        return str(self.get(GRAPHS, namespace, name).get("status", {}).get("state", ""))

    def condition(self, namespace: str, name: str = "g", kind: str = "Ready") -> Node:
        """A condition of a graph; empty when it has none of the type."""
        conditions: list[Node] = self.get(GRAPHS, namespace, name).get("status", {}).get("conditions", [])
        return next((condition for condition in conditions if condition["type"] == kind), {})

    def told(self, namespace: str, name: str, *events: tuple[str, str, str]) -> None:
        """Waits for Events about an object, each a type, a reason and a start of the message: they are written after the status."""

        def there() -> bool:
            items = self.plane.request("GET", EVENTS.format(namespace)).body["items"]
            entries = [(item["type"], item["reason"], item["message"]) for item in items if item["involvedObject"]["name"] == name]
            return all(any(entry[:2] == event[:2] and entry[2].startswith(event[2]) for entry in entries) for event in events)

        self.until(there, f"the Events {events} about {name}")

    def until(self, question: Callable[[], bool], what: str) -> None:
        """Waits for something; the reconcilers and their neighbours must run meanwhile. What pods miss is part of the error."""
        try:
            wait_until(question, what, *self.processes, *self.neighbours, patience=WAIT_SECONDS)
        except StartError as error:
            raise StartError("\n".join([*self._missing(), str(error)])) from error

    def _missing(self) -> list[str]:
        """A line for each pod that isn't ready, with what its conditions say."""
        lines = []
        for pod in self.plane.request("GET", "/api/v1/pods").body["items"]:
            metadata, status = pod["metadata"], pod.get("status", {})
            conditions = {condition["type"]: condition for condition in status.get("conditions", ())}
            if conditions.get("Ready", {}).get("status") != "True":
                summary = "; ".join(f"{name}={entry['status']} {entry.get('message', '')}" for name, entry in conditions.items())
                where = pod["spec"].get("nodeName", "no node")
                lines.append(f"pod {metadata['namespace']}/{metadata['name']} on {where}: {status.get('phase')} {summary}")
        return lines

    def ready(self, namespace: str, name: str = "g") -> None:
        """Waits until a graph says that it is ready as it is now."""

        def is_ready() -> bool:
            graph = self.get(GRAPHS, namespace, name)
            status = graph.get("status", {})
            return (status.get("state"), status.get("observedGeneration")) == ("successful", graph["metadata"]["generation"])

        self.until(is_ready, f"the graph {name} being ready")


@contextlib.contextmanager
def reconciled(
    planes: Planes,
    home: Path,
    *,
    objects: list[Node] | None = None,
    namespaces: tuple[str, ...] = (),
    definitions: Sequence[Node] = (),
) -> Iterator[Reconciled]:
    """A control plane with Kubernetes' own controllers, pods that become ready, and a reconciler on the configuration that we ship.

    `objects` are another installation than the default one; `namespaces` are there before it, as are others' kinds by `definitions`.
    """
    with (
        installed(planes, home, objects=objects, namespaces=namespaces, definitions=definitions) as site,
        controllers(site.plane),
        site.pods,
    ):
        site.reconcile()
        yield site


@contextlib.contextmanager
def installed(
    planes: Planes,
    home: Path,
    *,
    objects: list[Node] | None = None,
    namespaces: tuple[str, ...] = (),
    definitions: Sequence[Node] = (),
    flags: tuple[str, ...] = (),
) -> Iterator[Reconciled]:
    """The same before anything acts in it; our kinds are stored as v1beta1. `flags` are the API server's."""
    with planes.lend(*flags) as plane:
        install(
            plane,
            *(crd(kind, versions=["v1beta1"], line=Line.V1_2) for kind in KINDS),
            crd("DynamoWorkerMetadata", versions=["v1alpha1"], line=Line.V1_2),
        )
        if definitions:
            plane.apply(*definitions)
        install_accounts(plane, home, objects or kustomized(MANIFESTS / "overlays" / "self-signed"), *namespaces)
        site = Reconciled(plane, home, Pods(plane))
        try:
            yield site
        finally:
            for process in [*site.processes]:
                process.stop()


def install_accounts(plane: ControlPlane, home: Path, objects: list[Node], *namespaces: str) -> None:
    """Applies the accounts of an installation, and writes the reconciler's configuration and kubeconfig."""
    plane.apply(*({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}} for name in (NAMESPACE, *namespaces)))
    plane.apply(*of_kind(objects, "ServiceAccount", "Role", "RoleBinding", "ClusterRole", "ClusterRoleBinding"))
    [config] = [obj for obj in of_kind(objects, "ConfigMap") if obj["metadata"]["name"].startswith("dynamo-webhooks-config")]
    written = {**yaml.safe_load(config["data"]["config.yaml"]), "operator": {"version": f"{Line.V1_2}.0"}}
    (home / "config.yaml").write_text(yaml.safe_dump(written))
    plane.kubeconfig_of(ACCOUNT, NAMESPACE, home / "reconciler.kubeconfig")


@contextlib.asynccontextmanager
async def reconciling(home: Path, caller: Callable[[Models], WorkerClient], **changed: Any) -> AsyncIterator[Reconciler]:
    """A reconciler in this process, with nothing but its account's rights; `changed` are sections other than those of the configuration."""
    cluster = await connect(MANAGER, str(home / "reconciler.kubeconfig"))
    configuration = load_configuration(str(home / "config.yaml"), {"POD_NAMESPACE": NAMESPACE}).configuration
    settings = replace(configuration, **changed)
    reconciler = Reconciler(cluster, settings, f"tests-{id(cluster)}", controllers=[ModelController(caller)])
    task = asyncio.ensure_future(reconciler.run())
    try:
        yield reconciler
    finally:
        print(await reconciler.reasons(), await reconciler.details())  # shown when the test fails
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)
        await cluster.close()
