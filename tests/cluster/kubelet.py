"""Plays the kubelet and the network of an installation: its pods become ready at this machine's address, and run our processes.

The server listens at one port of this machine and runs all the time; a provisioner and a reconciler run while a pod of theirs is there.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Final, TypeAlias

import yaml

from tests.cluster.admission import COMMAND, FACTS, start
from tests.cluster.definitions import install
from tests.cluster.harness import ControlPlane, controllers
from tests.cluster.planes import Planes
from tests.cluster.playing import MERGE, PERIOD, Player
from tests.cluster.processes import Process, free_ports, wait_until
from tests.cluster.provisioning import HURRIED, NAMESPACE, SERVICE, own_address
from tests.cluster.rendering import MANIFESTS, kustomized, of_kind, restricted

Node: TypeAlias = dict[str, Any]
IMAGE: Final = "registry.example/dynamo-webhooks:0.1.0"  # of an overlay of the user's own, as is the port
MISSING: Final = "registry.example/missing:1"
LEASES: Final = "/apis/coordination.k8s.io/v1/namespaces/{}/leases"
OTHER: Final = "custom-operator"  # a label of pods that hold the Go operator's Lease
NODE: Final = "node"
COMPONENT: Final = "app.kubernetes.io/component"


class Kubelet(Player):
    """Starts pods. An image that isn't there can't be pulled."""

    def __init__(self, site: Site) -> None:
        super().__init__(site.plane, "/api/v1/pods")
        self._site = site

    def see_to(self, pod: Node) -> None:
        """Makes a pod ready, or says why it waits; one with the label of another operator renews that one's Lease."""
        metadata, image = pod["metadata"], pod["spec"]["containers"][0]["image"]
        path = f"/api/v1/namespaces/{metadata['namespace']}/pods/{metadata['name']}"
        if metadata.get("deletionTimestamp"):
            self.plane.request("DELETE", f"{path}?gracePeriodSeconds=0")
            return
        if OTHER in metadata.get("labels", {}):
            self._lead(metadata)
        if "nodeName" not in pod["spec"]:
            bound = {
                "apiVersion": "v1",
                "kind": "Binding",
                "metadata": {"name": metadata["name"]},
                "target": {"kind": "Node", "name": NODE},
            }
            self.plane.request("POST", f"{path}/binding", bound)
        if pod["status"].get("containerStatuses"):
            return
        container = {
            "name": pod["spec"]["containers"][0]["name"],
            "image": image,
            "imageID": "",
            "restartCount": 0,
            "ready": image != MISSING,
        }
        status: Node = {"phase": "Running", "podIP": self._site.address, "podIPs": [{"ip": self._site.address}]}
        if image == MISSING:
            container["state"] = {"waiting": {"reason": "ImagePullBackOff", "message": f'Back-off pulling image "{image}"'}}
        else:
            container["state"] = {"running": {}}
            status["conditions"] = [{"type": "Ready", "status": "True", "lastTransitionTime": "2026-01-01T00:00:00Z"}]
        self.plane.request("PATCH", f"{path}/status", {"status": {**status, "containerStatuses": [container]}}, kind=MERGE)

    def _lead(self, metadata: Node) -> None:
        renew(self.plane, "kube-system", "dynamo.nvidia.com", f"{metadata['name']}_1", 1)


def renew(plane: ControlPlane, namespace: str, name: str, holder: str, duration: int) -> None:
    """Renews a Lease."""
    spec = {"holderIdentity": holder, "leaseDurationSeconds": duration, "renewTime": f"{datetime.now(UTC):%Y-%m-%dT%H:%M:%S.%fZ}"}
    lease = {"apiVersion": "coordination.k8s.io/v1", "kind": "Lease", "metadata": {"name": name}, "spec": spec}
    plane.request(
        "PATCH", f"{LEASES.format(namespace)}/{name}?fieldManager={holder}&force=true", lease, kind="application/apply-patch+yaml"
    )


class Site:
    """A control plane with an installation, as `kubectl apply -k` of a user's own overlay makes it."""

    def __init__(self, plane: ControlPlane, home: Path) -> None:
        self.plane, self.home, self.address = plane, home, own_address()
        [self.port] = free_ports(1, self.address)
        self.objects = [self._own(each) for each in kustomized(MANIFESTS / "overlays" / "self-signed")]
        self._processes: dict[str, tuple[str, Process]] = {}  # component -> the pod's uid and what runs in it
        self._server: Process | None = None

    def _own(self, obj: Node) -> Node:
        """An object as the overlay has it: another image and port, one server."""
        if obj["kind"] == "ConfigMap":
            config = yaml.safe_load(obj["data"]["config.yaml"])
            config["server"]["webhook"]["port"] = self.port
            config["serving"]["drainLag"] = "0s"
            config["operator"] = {"version": "1.2.0"}
            obj["data"]["config.yaml"] = yaml.safe_dump(config)
        if obj["kind"] == "Deployment":
            obj["spec"]["replicas"] = 1
            [container] = obj["spec"]["template"]["spec"]["containers"]
            container["image"] = IMAGE
            for port in container["ports"]:
                port["containerPort"] = self.port if port["name"] == "webhook" else port["containerPort"]
        return obj

    def install(self) -> None:
        """Applies everything, and starts the server."""
        self.plane.kubectl("apply", "-f", "-", input={"apiVersion": "v1", "kind": "List", "items": self.objects}).done()
        [config] = of_kind(self.objects, "ConfigMap")
        (self.home / "config.yaml").write_text(config["data"]["config.yaml"])
        (self.home / "facts.yaml").write_text(yaml.safe_dump(FACTS))
        flags: dict[str, str | Path] = {"listen": f"{self.address}:{self.port}", "facts": self.home / "facts.yaml"}
        self._server = self._process("server", COMMAND, "serve", **flags)

    def run_pods(self) -> None:
        """Runs a provisioner and a reconciler for the pods that are there, and ends those whose pods have gone."""
        pods = self.plane.request("GET", f"/api/v1/namespaces/{NAMESPACE}/pods").body["items"]
        ready = {
            each["metadata"]["labels"].get(COMPONENT): each["metadata"]["uid"]
            for each in pods
            if not each["metadata"].get("deletionTimestamp") and each["spec"]["containers"][0]["image"] != MISSING
        }
        for part in ("provisioner", "reconciler"):
            uid, process = self._processes.get(part, ("", None))
            if uid == ready.get(part, ""):
                continue
            if process is not None:
                process.kill()
                del self._processes[part]
            if part in ready:
                self._processes[part] = ready[part], self._start(part)

    def _start(self, part: str) -> Process:
        if part == "reconciler":
            return self._process(part, COMMAND, "reconcile")
        return self._process(part, *HURRIED)

    def _process(self, part: str, *command: str | Path, **flags: str | Path) -> Process:
        account = f"{SERVICE}-{part}"
        file = self.home / f"{part}.kubeconfig"
        if not file.exists():
            self.plane.kubeconfig_of(account, NAMESPACE, file)
        options = {"config": self.home / "config.yaml", "kubeconfig": file, **flags}
        return start(part, self.home, *command, account=f"{NAMESPACE}/{account}", **options)

    def process(self, part: str) -> Process:
        """What runs for a component."""
        return self._processes[part][1]

    def stop(self) -> None:
        """Ends all processes."""
        for _, process in self._processes.values():
            process.stop()
        if self._server is not None:
            self._server.stop()


class _Starter(Player):
    """Looks after the processes of pods."""

    def __init__(self, site: Site) -> None:
        super().__init__(site.plane, f"/api/v1/namespaces/{NAMESPACE}")
        self._site = site

    def _run(self) -> None:
        while not self._ended.wait(PERIOD):
            renew(self.plane, "kube-node-lease", NODE, NODE, 40)
            with contextlib.suppress(OSError, ValueError, KeyError):
                self._site.run_pods()

    def see_to(self, obj: Node) -> None:
        """Looks at pods, not at objects of a collection."""


@contextlib.contextmanager
def installation(planes: Planes, home: Path, *definitions: Node) -> Iterator[Site]:
    """A running installation on a control plane with Kubernetes' own controllers, until the end of the block."""
    with planes.lend() as plane:
        install(plane, *definitions)
        plane.apply(restricted(NAMESPACE), restricted("platform"), {"apiVersion": "v1", "kind": "Node", "metadata": {"name": NODE}})
        ready = {
            "type": "Ready",
            "status": "True",
            "lastHeartbeatTime": "2026-01-01T00:00:00Z",
            "lastTransitionTime": "2026-01-01T00:00:00Z",
        }
        plane.request("PATCH", f"/api/v1/nodes/{NODE}/status", {"status": {"conditions": [ready]}}, kind=MERGE)
        site = Site(plane, home)
        with controllers(plane), Kubelet(site), _Starter(site):
            site.install()
            wait_until(lambda: {"provisioner", "reconciler"} <= site._processes.keys(), "pods being started", plane.server)
            yield site
        site.stop()
