"""A cluster of one node that runs containers: control plane, scheduler, containerd, kubelet and kube-proxy."""

import contextlib
import json
import os
import subprocess
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final, TypeAlias

from tests.cluster.assets.build import CONTROL_PLANE, NODE, SCHEDULER, build
from tests.cluster.harness import ControlPlane, control_plane, controllers
from tests.cluster.neighbours.neighbourhood import scheduler
from tests.cluster.processes import Process, StartError, running, wait_until
from tests.node import programs
from tests.node.image import NAME
from tests.node.machine import ADDRESS
from tests.node.pause import make_pause

Node: TypeAlias = dict[str, Any]
NODE_NAME: Final = "node0"
_SOCKET: Final = "/run/containerd.sock"
_FLAGS: Final = (
    "--endpoint-reconciler-type=lease",  # pods reach it by the Service `kubernetes`
    f"--service-cluster-ip-range={programs.SERVICES}",
    "--enable-aggregator-routing=false",  # webhooks are called at the address of their Service, as in any cluster
    "--disable-admission-plugins=",
    "--authorization-mode=Node,RBAC",
)
_SECONDS: Final = 180.0  # in which pods of a machine that does much else besides must be ready


@dataclass
class Cluster:
    """The cluster, and what its nodes run."""

    plane: ControlPlane
    home: Path
    processes: list[Process] = field(default_factory=list)

    def until(self, question: Callable[[], Any], what: str) -> None:
        """Waits for something while all programs run. What pods lack is part of the error."""
        try:
            wait_until(lambda: bool(question()), what, *self.processes, patience=_SECONDS)
        except StartError as error:
            raise StartError("\n".join([*self.describe_pods(), str(error)])) from error

    def items(self, path: str) -> list[Node]:
        """The objects of a collection."""
        reply = self.plane.request("GET", path)
        assert reply.status == 200, reply.body
        found: list[Node] = reply.body["items"]
        return found

    def pods(self, namespace: str, selector: str = "") -> list[Node]:
        """The pods of a namespace, but for those that are being deleted."""
        found = self.items(f"/api/v1/namespaces/{namespace}/pods?labelSelector={selector}")
        return [pod for pod in found if "deletionTimestamp" not in pod["metadata"]]

    def has_ready(self, namespace: str, count: int, selector: str = "") -> bool:
        """Whether there are so many pods, and all are ready."""
        found = self.pods(namespace, selector)
        return len(found) == count and all(map(is_ready, found))

    def describe_pods(self) -> list[str]:
        """A line for each pod that isn't ready, with what it and its containers wait for."""
        return [
            f"pod {pod['metadata']['namespace']}/{pod['metadata']['name']}: {json.dumps(pod.get('status', {}))}"
            for pod in self.items("/api/v1/pods")
            if not is_ready(pod)
        ]

    def warnings(self, namespace: str) -> list[str]:
        """The Warnings among the Events of a namespace, but for probes of pods that aren't ready yet."""
        found = [event for event in self.items(f"/api/v1/namespaces/{namespace}/events") if event["type"] == "Warning"]
        told = {f"{event['involvedObject']['kind']} {event['involvedObject']['name']}: {event['message']}" for event in found}
        return sorted(each for each in told if ": Readiness probe failed: " not in each)


def is_ready(pod: Node) -> bool:
    """Whether a pod's condition Ready is true."""
    conditions = pod.get("status", {}).get("conditions", ())
    return any(each["type"] == "Ready" and each["status"] == "True" for each in conditions)


@contextlib.contextmanager
def one_node(home: Path) -> Iterator[Cluster]:
    """Runs the cluster until the end of the block, with the image of this tree imported."""
    built = build(NODE)
    with contextlib.ExitStack() as stack:
        runtime = Process("containerd", programs.containerd(home, _SOCKET), home / "containerd.log")
        stack.enter_context(running(runtime))
        stack.callback(_end_containers)
        wait_until(lambda: _ctr("version", check=False).returncode == 0, "containerd answering", runtime)
        _ctr("images", "import", str(make_pause(home)))
        _ctr("images", "import", "--base-name", NAME.partition(":")[0], os.environ["DYNAMO_NODE_IMAGE"])
        plane = stack.enter_context(control_plane(build(CONTROL_PLANE), home / "plane", *_FLAGS, address=ADDRESS))
        more = [f"--root-ca-file={plane.ca}", "--controllers=*", f"--service-cluster-ip-range={programs.SERVICES}"]
        managers = stack.enter_context(controllers(plane, *more))
        places = stack.enter_context(scheduler(plane, build(SCHEDULER)))
        command = programs.kubelet(built, home, NODE_NAME, ADDRESS, plane.kubeconfig, _SOCKET, os.environ["DYNAMO_NODE_CGROUPS"])
        kubelet = stack.enter_context(running(Process("kubelet", command, home / "kubelet.log")))
        proxy = stack.enter_context(
            running(Process("kube-proxy", programs.proxy(built, home, NODE_NAME, plane.kubeconfig), home / "proxy.log"))
        )
        cluster = Cluster(plane, home, [runtime, managers, places, kubelet, proxy])
        cluster.until(lambda: [node for node in cluster.items("/api/v1/nodes") if is_ready(node)], "the node being ready")
        yield cluster


def _ctr(*words: str, check: bool = True) -> subprocess.CompletedProcess[str]:
    command = ["ctr", "--address", _SOCKET, "--namespace", "k8s.io", *words]
    return subprocess.run(command, check=check, capture_output=True, text=True)


def _end_containers() -> None:
    """Kills the containers that run, whose processes would outlive containerd."""
    for task in _ctr("tasks", "list", "-q").stdout.split():
        _ctr("tasks", "kill", "--signal", "SIGKILL", task, check=False)
