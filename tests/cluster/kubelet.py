"""Stands in for kubelets that run our containers: each pod's program as a process on this machine, as ready as its own probe says.

Pods are made by the real controllers. EndpointSlices are made here, since theirs holds only pods of nodes, and there is none.
"""

import re
from pathlib import Path
from typing import Any, Final, TypeAlias

import yaml

from tests.cluster.admission import COMMAND, FACTS
from tests.cluster.endpoints import publish
from tests.cluster.harness import ControlPlane
from tests.cluster.playing import MERGE, Player
from tests.cluster.processes import Process, fetched
from tests.cluster.provisioning import SERVICE, own_address

Node: TypeAlias = dict[str, Any]
PROGRAMS: Final = {"server": "serve", "provisioner": "provision"}


class Kubelet(Player):
    """Runs servers and provisioners of one namespace; other pods are ready at once."""

    def __init__(self, plane: ControlPlane, home: Path, namespace: str) -> None:
        """Runs nothing yet."""
        super().__init__(plane, f"/api/v1/namespaces/{namespace}/pods")
        self.home, self.namespace, self.address = home, namespace, own_address()
        self.processes: dict[str, Process] = {}
        self._ready: dict[str, bool] = {}
        home.mkdir()

    def __exit__(self, *_: object) -> None:
        super().__exit__()
        for process in self.processes.values():
            process.stop()

    def see_to(self, pod: Node) -> None:
        """Starts a pod's program, and reports what its probe says."""
        name, component = pod["metadata"]["name"], pod["metadata"]["labels"]["app.kubernetes.io/component"]
        if component in PROGRAMS and name not in self.processes:
            self.processes[name] = self._started(pod, component)
        ready = component not in PROGRAMS or self._probe(self.processes[name])
        if self._ready.get(name) == ready:
            return
        condition = {"type": "Ready", "status": str(ready), "lastTransitionTime": "2026-01-01T00:00:00Z"}
        status = {"phase": "Running", "conditions": [condition]}
        path = f"/api/v1/namespaces/{self.namespace}/pods/{name}/status"
        if self.plane.request("PATCH", path, {"status": status}, kind=MERGE).status == 200:
            self._ready[name] = ready
            if component == "server":
                # after its pod is ready, as the controller does
                publish(self.plane, SERVICE, self.namespace, name, (self.address, _port(pod)), ready=ready)

    def _started(self, pod: Node, component: str) -> Process:
        """The program of a pod, with the installation's own configuration and the token of its account."""
        name = pod["metadata"]["name"]
        [mounted] = [each["configMap"]["name"] for each in pod["spec"]["volumes"] if "configMap" in each]
        written = self.plane.request("GET", f"/api/v1/namespaces/{self.namespace}/configmaps/{mounted}").body["data"]["config.yaml"]
        config, facts = self.home / f"{name}.yaml", self.home / "facts.yaml"
        config.write_text(yaml.safe_dump({**yaml.safe_load(written), "serving": {"drainLag": "0s"}}))
        facts.write_text(yaml.safe_dump(FACTS))
        account = pod["spec"]["serviceAccountName"]
        kubeconfig = self.plane.kubeconfig_of(account, self.namespace, self.home / f"{account}.kubeconfig")
        flags = ["--config", config, "--kubeconfig", kubeconfig]
        flags += ["--probe-listen", "127.0.0.1:0", "--metrics-listen", "127.0.0.1:0"]
        if component == "server":
            flags += ["--listen", f"{self.address}:{_port(pod)}", "--facts", facts]
        environment = {"POD_NAMESPACE": self.namespace, "POD_NAME": name, "POD_SERVICE_ACCOUNT": account}
        words = [str(COMMAND), PROGRAMS[component], *map(str, flags)]
        return Process(name, words, self.home / f"{name}.log", environment)

    def _probe(self, process: Process) -> bool:
        found = re.findall(r"^probes http://(\S+)", process.text(), re.MULTILINE)
        return bool(found) and fetched(found[-1], "/readyz", 10)[0] == 200


def _port(pod: Node) -> int:
    [container] = pod["spec"]["containers"]
    return next(int(each["containerPort"]) for each in container["ports"] if each["name"] == "webhook")
