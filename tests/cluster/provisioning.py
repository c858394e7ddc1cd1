"""An installation as in production on a real API server: manifests, accounts, servers behind the Service, provisioners that may be killed.

The API server calls the Service by its endpoints, with the name `<service>.<namespace>.svc`, as it does anywhere; the servers listen on
this machine's own address, because an EndpointSlice may not hold a loopback address.
"""

import base64
import contextlib
import json
import socket
import ssl
import sys
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Final, TypeAlias

import yaml

from dynamo_webhooks.api.line import Line
from dynamo_webhooks.certs.certificate import Certificate, read_certificate
from dynamo_webhooks.certs.reading import read_authority, read_serving
from dynamo_webhooks.certs.state import AuthoritySecret, Phase, Serving
from tests.cluster.admission import COMMAND, FACTS, start
from tests.cluster.auditing import audit_flags
from tests.cluster.definitions import install, read_files
from tests.cluster.endpoints import publish
from tests.cluster.harness import ControlPlane
from tests.cluster.planes import Planes
from tests.cluster.processes import Process, free_ports, wait_until
from tests.cluster.rendering import MANIFESTS, kustomized, of_kind, restricted
from tools.crd_files import FOLDERS

Node: TypeAlias = dict[str, Any]
NAMESPACE: Final = "dynamo-system"
SERVICE: Final = "dynamo-webhooks"
SERVING: Final = "webhook-server-cert"
AUTHORITY: Final = f"{SERVING}-ca"
SECRETS: Final = f"/api/v1/namespaces/{NAMESPACE}/secrets"
CONFIGURATIONS: Final = {
    "mutating": "/apis/admissionregistration.k8s.io/v1/mutatingwebhookconfigurations/dynamo-webhooks-mutating",
    "validating": "/apis/admissionregistration.k8s.io/v1/validatingwebhookconfigurations/dynamo-webhooks-validating",
}
CRDS: Final = {
    name: f"/apis/apiextensions.k8s.io/v1/customresourcedefinitions/{name}s.nvidia.com"
    for name in (
        "dynamographdeployment",
        "dynamocomponentdeployment",
        "dynamographdeploymentrequest",
        "dynamographdeploymentscalingadapter",
    )
}
ACCOUNTS: Final = ("ServiceAccount", "Role", "RoleBinding", "ClusterRole", "ClusterRoleBinding")
HOOKS: Final = ("MutatingWebhookConfiguration", "ValidatingWebhookConfiguration")
# seconds; a rotation is over in about twenty
TIMINGS: Final = {"resync": 60, "settle": 2, "min_roll": 2, "roll_warn": 60, "drain": 2}
HURRIED: Final = (sys.executable, "-m", "tests.cluster.hurried", "--timings", json.dumps(TIMINGS))  # a provisioner
JSON_PATCH: Final = "application/json-patch+json"
MERGE_PATCH: Final = "application/merge-patch+json"


def own_address() -> str:
    """An address of this machine that isn't loopback; connecting a datagram socket sends nothing."""
    for family, target in ((socket.AF_INET, "192.0.2.1"), (socket.AF_INET, "198.51.100.1")):
        with contextlib.suppress(OSError), socket.socket(family, socket.SOCK_DGRAM) as sock:
            sock.connect((target, 9))
            host = str(sock.getsockname()[0])
            if not host.startswith("127."):
                return host
    host = socket.gethostbyname(socket.gethostname())
    assert not host.startswith("127."), "the API server calls webhooks at an address of this machine, which must have one besides loopback"
    return host


@dataclass
class Installed:
    """A control plane with everything that the manifests hold, and our processes with accounts of their own."""

    plane: ControlPlane
    home: Path
    objects: list[Node]
    address: str = field(default_factory=own_address)
    servers: dict[str, Process] = field(default_factory=dict)
    provisioners: dict[str, Process] = field(default_factory=dict)

    # processes

    def serve(self, name: str) -> None:
        """Starts a server and puts it behind the Service, as ready as a kubelet would find it once it is."""
        [port] = free_ports(1, self.address)
        flags: dict[str, str | Path] = {"listen": f"{self.address}:{port}", "facts": self.home / "facts.yaml"}
        self.servers[name] = self._process(name, "server", COMMAND, "serve", **flags)
        self._put_behind_the_service(name, port)

    def provision(self, name: str = "provisioner") -> Process:
        """Starts a provisioner."""
        self.provisioners[name] = self._process(name, "provisioner", *HURRIED)
        return self.provisioners[name]

    def kill(self, name: str = "provisioner") -> None:
        """Ends a provisioner as a crash does."""
        self.provisioners.pop(name).kill()

    def stop(self) -> None:
        """Ends all processes in order."""
        for process in (*self.provisioners.values(), *self.servers.values()):
            process.stop()

    def logs(self) -> str:
        """All that our processes have written."""
        return "\n".join(file.read_text(errors="replace") for file in sorted(self.home.glob("*.log")))

    def _process(self, name: str, part: str, *command: str | Path, **flags: str | Path) -> Process:
        options = {"config": self.home / "config.yaml", "kubeconfig": self.kubeconfig(part), **flags}
        return start(name, self.home, *command, account=f"{NAMESPACE}/{SERVICE}-{part}", **options)

    def kubeconfig(self, account: str) -> Path:
        """A kubeconfig that holds nothing but a token of the service account."""
        file = self.home / f"{account}.kubeconfig"
        return file if file.exists() else self.plane.kubeconfig_of(f"dynamo-webhooks-{account}", NAMESPACE, file)

    def _put_behind_the_service(self, name: str, port: int) -> None:
        assert publish(self.plane, SERVICE, NAMESPACE, f"{SERVICE}-{name}", (self.address, port))

    # what stands in the cluster

    def get(self, path: str) -> Node | None:
        """An object, None when there is none."""
        reply = self.plane.request("GET", path)
        assert reply.status in (200, 404), reply.body
        return reply.body if reply.status == 200 else None

    def patch(self, path: str, body: Any, kind: str = MERGE_PATCH) -> None:
        """Changes an object as somebody else would."""
        self.plane.request("PATCH", path, body, kind=kind).done()

    def delete(self, path: str) -> None:
        """Deletes an object that is there."""
        self.plane.request("DELETE", path).done()

    def authority(self) -> AuthoritySecret | None:
        """The CA Secret."""
        secret = self.get(f"{SECRETS}/{AUTHORITY}")
        return read_authority(secret) if secret else None

    def current(self) -> Certificate:
        """The authority that signs now."""
        secret = self.authority()
        assert secret is not None
        assert secret.current is not None
        return secret.current

    def serving(self) -> Serving | None:
        """The serving Secret."""
        secret = self.get(f"{SECRETS}/{SERVING}")
        return read_serving(secret) if secret else None

    def bundles(self) -> dict[str, set[bytes]]:
        """Object -> the bundles that it shows, decoded; an empty one where there is none."""
        return {name: self.bundle(name) for name in (*CONFIGURATIONS, *CRDS)}

    def bundle(self, name: str) -> set[bytes]:
        """Those of one object: an API server takes its time to write a definition."""
        if name in CONFIGURATIONS:
            return {_decoded(entry["clientConfig"]) for entry in (self.get(CONFIGURATIONS[name]) or {}).get("webhooks", [])}
        conversion = ((self.get(CRDS[name]) or {}).get("spec") or {}).get("conversion") or {}
        return {_decoded((conversion.get("webhook") or {}).get("clientConfig") or {})}

    def stable(self) -> bool:
        """Whether all is done: one authority, shown by all objects, with a leaf of its own that both servers present."""
        authority, serving = self.authority(), self.serving()
        if authority is None or serving is None or authority.hint.phase is not Phase.STABLE:
            return False
        current, leaf = authority.current, serving.leaf
        if current is None or leaf is None or authority.next or authority.previous or not current.issued(leaf):
            return False
        if any(presented != leaf for presented in self.presented().values()):
            return False
        return all(self.bundle(name) == {current.pem} for name in (*CONFIGURATIONS, *CRDS))

    def presented(self) -> dict[str, Certificate | None]:
        """Server -> the certificate that it presents."""
        certificates = {}
        for name in self.servers:
            piece = self.get(f"/apis/discovery.k8s.io/v1/namespaces/{NAMESPACE}/endpointslices/{SERVICE}-{name}")
            assert piece is not None
            certificates[name] = look(self.address, piece["ports"][0]["port"])
        return certificates

    def wait_until_stable(self) -> None:
        """Waits for it; a rotation that hangs shows the logs of all processes."""
        wait_until(self.stable, "everything being stable", *self.servers.values(), *self.provisioners.values())

    def rotate(self) -> None:
        """Asks for a new authority as an administrator does, and waits until the wish is heard."""
        wish = str(time.time_ns())
        self.patch(f"{SECRETS}/{AUTHORITY}", {"metadata": {"annotations": {"webhooks.nvidia.com/rotate-requested": wish}}})
        wait_until(lambda: (secret := self.authority()) and secret.handled == wish, "the wish being heard", *self.provisioners.values())

    def leader(self) -> str:
        """The provisioner that holds the Lease now; empty when it is none of those that run."""
        lease = self.get(f"/apis/coordination.k8s.io/v1/namespaces/{NAMESPACE}/leases/{SERVING}-provisioner") or {}
        holder = str((lease.get("spec") or {}).get("holderIdentity") or "").rpartition("_")[0]
        return holder if holder in self.provisioners else ""

    def events(self) -> set[str]:
        """Reasons of the Events on the serving Secret."""
        events = self.plane.request("GET", f"/api/v1/namespaces/{NAMESPACE}/events").body["items"]
        return {each["reason"] for each in events if each["involvedObject"]["name"] == SERVING}

    def described(self) -> str:
        """What people see of the servers' Deployment."""
        return self.plane.kubectl("describe", "deployment", f"{SERVICE}-server", "-n", NAMESPACE).done()


def look(host: str, port: int) -> Certificate | None:
    """What a server presents; None when it doesn't listen."""
    with contextlib.suppress(OSError):
        return read_certificate(ssl.get_server_certificate((host, port), timeout=30).encode())
    return None


@contextlib.contextmanager
def installed(planes: Planes, home: Path, overlay: str = "self-signed", *, audited: bool = False) -> Iterator[Installed]:
    """Applies an installation, the default one if none is named; no process of ours runs yet. `audited`: what ours ask for is logged."""
    users = (f"system:serviceaccount:{NAMESPACE}:{SERVICE}-{name}" for name in ("server", "provisioner"))
    with planes.lend(*(audit_flags(home, *users) if audited else ())) as plane:
        install(plane, *read_files(FOLDERS[Line.V1_2]))
        objects = kustomized(MANIFESTS / "overlays" / overlay)
        plane.apply(restricted("dynamo-restricted" if overlay == "namespaced" else NAMESPACE))
        # there are no controllers: Deployments make no pod, and are said to be available
        plane.apply(*of_kind(objects, *ACCOUNTS, *HOOKS, "Service", "Deployment"))
        for each in of_kind(objects, "Deployment"):
            _pretend_to_run(plane, each)
        [config] = [each for each in of_kind(objects, "ConfigMap") if "config.yaml" in each["data"]]
        written = {**yaml.safe_load(config["data"]["config.yaml"]), "operator": {"version": f"{Line.V1_2}.0"}}
        config["data"]["config.yaml"] = yaml.safe_dump(written)
        plane.apply(config)
        written["serving"] |= {"drainLag": "0s"}
        (home / "config.yaml").write_text(yaml.safe_dump(written))
        (home / "facts.yaml").write_text(yaml.safe_dump(FACTS))
        installation = Installed(plane, home, objects)
        try:
            yield installation
        finally:
            installation.stop()


def _pretend_to_run(plane: ControlPlane, deployment: Node) -> None:
    """Gives a Deployment the status of one that runs, and a reconciler its Lease."""
    metadata = deployment["metadata"]
    path = f"/apis/apps/v1/namespaces/{metadata['namespace']}/deployments/{metadata['name']}/status"
    status = {"replicas": 1, "readyReplicas": 1, "availableReplicas": 1}
    assert plane.request("PATCH", path, {"status": status}, kind=MERGE_PATCH).status == 200
    if metadata["name"].endswith("-reconciler"):
        spec = {"holderIdentity": "nobody", "leaseDurationSeconds": 3600, "renewTime": f"{datetime.now(UTC):%Y-%m-%dT%H:%M:%S.%fZ}"}
        plane.apply({"apiVersion": "coordination.k8s.io/v1", "kind": "Lease", "metadata": metadata, "spec": spec})


def _decoded(config: Node) -> bytes:
    return base64.b64decode(config.get("caBundle") or "")
