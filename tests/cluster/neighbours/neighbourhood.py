"""A control plane with what a cluster for graphs has beside us: the controller of LeaderWorkerSets, kube-scheduler, and nodes with GPUs.

The programs are real, built by `assets/build.py`. Nodes and kubelets are kwok's: a pod that was scheduled becomes ready. Our server
converts and judges in both versions, and the reconciler runs with its account's rights.
"""

import base64
import contextlib
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final, TypeAlias

import trustme
import yaml

from dynamo_webhooks.api.crd import build as crd
from dynamo_webhooks.api.line import Line
from tests.cluster import conversion
from tests.cluster.admission import FACTS, register, serving
from tests.cluster.assets.build import KWOK, LWS, LWS_0_9, SCHEDULER
from tests.cluster.assets.wanted import wanted
from tests.cluster.definitions import install
from tests.cluster.harness import ControlPlane, controllers
from tests.cluster.planes import Planes
from tests.cluster.processes import Process, fetched, free_ports, running, wait_until
from tests.cluster.reconciling import ACCOUNT, NAMESPACE, Pods, Reconciled, install_accounts
from tests.cluster.rendering import composed

Node: TypeAlias = dict[str, Any]
SETS: Final = "/apis/leaderworkerset.x-k8s.io/v1/namespaces/{}/leaderworkersets"
DISAGGREGATED: Final = "/apis/disaggregatedset.x-k8s.io/v1/namespaces/{}/disaggregatedsets"
CHANNELS: Final = "compute-domain-default-channel.nvidia.com"  # the device class of NVIDIA's compute domains
GPUS: Final = 64  # of a node, so that a roll of all graphs at once has room
DEVICES: Final = {"gpu.nvidia.com": "gpu.nvidia.com", CHANNELS: "compute-domain.nvidia.com"}  # class -> driver
_LABELS: Final = {"kubernetes.io/os": "linux", "nvidia.com/gpu.present": "true", "nvidia.com/gpu.product": "NVIDIA-GB300"}
_HAS: Final = {"cpu": "1k", "memory": "20Ti", "ephemeral-storage": "20Ti", "pods": "250", "nvidia.com/gpu": str(GPUS), "rdma/ib": "1k"}
SERVED: Final = {**FACTS, "grove": False, "lws": True, "operatorPrincipal": f"system:serviceaccount:{NAMESPACE}:{ACCOUNT}"}
_PODS_OF_SETS: Final = {"matchExpressions": [{"key": "leaderworkerset.sigs.k8s.io/name", "operator": "Exists"}]}


@contextlib.contextmanager
def neighbourhood(planes: Planes, home: Path, *components: str, nodes: int = 4, line: Line = Line.V1_2) -> Iterator[Reconciled]:
    """Runs everything, with `orchestrators.lws.enabled: true`, because Volcano is not there; its `pods` do nothing: kubelets are kwok's."""
    version = f"{line}.0"
    sets = LWS if line < Line.V1_7 else LWS_0_9  # the first release with DisaggregatedSets
    built = [wanted(program) for program in (sets, SCHEDULER, KWOK)]
    with contextlib.ExitStack() as stack:
        admission = stack.enter_context(serving(home / "serve", {**SERVED, "operatorVersion": version}))
        plane = stack.enter_context(planes.lend())
        install(plane, *(crd(kind, conversion=admission.stanza(), line=line) for kind in conversion.KINDS))
        install(
            plane,
            *(crd(kind, versions=["v1alpha1"], line=line) for kind in ("DynamoModel", "DynamoCheckpoint", "DynamoWorkerMetadata")),
        )
        register(plane, admission, "dynamo")
        install_accounts(plane, home, composed(home / "rendered", "self-signed", "components/orchestrators", *components))
        change_configuration(home, orchestrators={"lws": {"enabled": True}}, operator={"version": version})
        site = Reconciled(plane, home, Pods(plane))
        site.neighbours.append(stack.enter_context(controllers(plane)))
        for runs, where in zip((leader_worker_sets, scheduler, kubelets), built, strict=True):
            site.neighbours.append(stack.enter_context(runs(plane, where)))
        add_nodes(plane, nodes)
        site.reconcile()
        try:
            yield site
        finally:
            for process in [*site.processes]:
                process.stop()


def change_configuration(home: Path, **sections: Node) -> None:
    """Changes sections of the reconciler's configuration, which it reads when it starts."""
    file = home / "config.yaml"
    written = yaml.safe_load(file.read_text())
    for name, section in sections.items():
        written[name] = {**(written.get(name) or {}), **section}
    file.write_text(yaml.safe_dump(written))


@contextlib.contextmanager
def leader_worker_sets(plane: ControlPlane, built: Path) -> Iterator[Process]:
    """Runs the controller of LeaderWorkerSets with its webhooks and without gang scheduling, which needs Volcano."""
    home = Path(tempfile.mkdtemp(prefix="lws-", dir=plane.home))  # a plane may be lent again
    webhook, health = free_ports(2)
    authority = trustme.CA()
    pair = authority.issue_cert("127.0.0.1")
    pair.cert_chain_pems[0].write_to_path(home / "tls.crt")
    pair.private_key_pem.write_to_path(home / "tls.key")
    settings = {
        "apiVersion": "config.lws.x-k8s.io/v1alpha1",
        "kind": "Configuration",
        "internalCertManagement": {"enable": False},
        "leaderElection": {"leaderElect": False},
        "webhook": {"host": "127.0.0.1", "port": webhook, "certDir": str(home)},
        "metrics": {"bindAddress": "0"},
        "health": {"healthProbeBindAddress": f"127.0.0.1:{health}"},
    }
    (home / "config.yaml").write_text(yaml.safe_dump(settings))
    definitions = [yaml.safe_load(file.read_text()) for file in sorted((built / "config/crd/bases").glob("*.yaml"))]
    plane.apply(*definitions)
    # its controller looks for the kind when it starts, and again ten seconds later
    groups = [f"/apis/{definition['spec']['group']}/v1" for definition in definitions]
    wait_until(lambda: all(map(plane.serves, groups)), f"{' and '.join(groups)} being discovered", plane.server)
    command: list[str | Path] = [built / "lws", "--config", home / "config.yaml", "--kubeconfig", plane.kubeconfig]
    with running(Process("lws", command, home / "lws.log")) as process:
        wait_until(
            lambda: fetched(f"127.0.0.1:{health}", "/readyz", 5)[0] == 200, "the controller of LeaderWorkerSets being ready", process
        )
        url, bundle = f"https://127.0.0.1:{webhook}", authority.cert_pem.bytes()
        plane.apply(*_registered(yaml.safe_load_all((built / "config/webhook/manifests.yaml").read_text()), url, bundle))
        yield process


def _registered(configurations: Iterator[Node], url: str, bundle: bytes) -> Iterator[Node]:
    """Webhook configurations by URL; those of pods ask only for pods of sets, as upstream's patches of these files have it."""
    for configuration in configurations:
        configuration["metadata"]["name"] = f"lws-{configuration['metadata']['name']}"
        for entry in configuration["webhooks"]:
            path = entry["clientConfig"]["service"]["path"]
            entry["clientConfig"] = {"url": f"{url}{path}", "caBundle": base64.b64encode(bundle).decode()}
            if entry["rules"][0]["resources"] == ["pods"]:
                entry["objectSelector"] = _PODS_OF_SETS
        yield configuration


@contextlib.contextmanager
def scheduler(plane: ControlPlane, built: Path) -> Iterator[Process]:
    """Runs kube-scheduler alone, so that nothing needs electing."""
    [port] = free_ports(1)
    flags = ["--leader-elect=false", "--bind-address=127.0.0.1", f"--secure-port={port}", f"--cert-dir={plane.home / 'scheduler'}"]
    command: list[str | Path] = [built / "kube-scheduler", f"--kubeconfig={plane.kubeconfig}", *flags]
    with running(Process("kube-scheduler", command, plane.home / "kube-scheduler.log")) as process:
        yield process


@contextlib.contextmanager
def kubelets(plane: ControlPlane, built: Path) -> Iterator[Process]:
    """Runs kwok, which plays every node and its pods. It renews leases, without which busy nodes turn unready and stay so."""
    [port] = free_ports(1)
    flags = ["--manage-all-nodes=true", "--node-lease-duration-seconds=40", f"--server-address=127.0.0.1:{port}"]
    environment = {"HOME": str(plane.home)}
    command: list[str | Path] = [built / "kwok", f"--kubeconfig={plane.kubeconfig}", *flags]
    with running(Process("kwok", command, plane.home / "kwok.log", environment)) as process:
        yield process


def add_nodes(plane: ControlPlane, count: int) -> None:
    """Adds nodes with GPUs, of two architectures by turns, whose drivers offer GPUs and channels of compute domains by claims, too."""
    names = [f"node-{number}" for number in range(count)]
    if plane.has_devices:
        classes = ({"apiVersion": "resource.k8s.io/v1", "kind": "DeviceClass", "metadata": {"name": kind}, "spec": {}} for kind in DEVICES)
        plane.apply(*classes, *(_devices(name, driver) for name in names for driver in DEVICES.values()))
    for number, name in enumerate(names):
        labels = {**_LABELS, "kubernetes.io/hostname": name, "kubernetes.io/arch": ("arm64", "amd64")[number % 2]}
        node = {"apiVersion": "v1", "kind": "Node", "metadata": {"name": name, "labels": labels}}
        reply = plane.request("POST", "/api/v1/nodes", {**node, "status": {"allocatable": _HAS, "capacity": _HAS}})
        assert reply.status == 201, reply.body


def _devices(node: str, driver: str) -> Node:
    spec = {
        "driver": driver,
        "nodeName": node,
        "pool": {"name": node, "generation": 1, "resourceSliceCount": 1},
        "devices": [{"name": f"device-{number}"} for number in range(GPUS)],
    }
    return {"apiVersion": "resource.k8s.io/v1", "kind": "ResourceSlice", "metadata": {"name": f"{node}-{driver}"}, "spec": spec}


def left_over(site: Reconciled, namespace: str) -> list[str]:
    """Kinds and names of everything in a namespace, but for Events and what each namespace has from the start."""
    listed = site.plane.kubectl("api-resources", "--verbs=list", "--namespaced", "-o", "name")
    assert listed.code == 0, listed.stderr
    kinds = [name for name in listed.stdout.split() if not name.startswith("events")]
    items = site.plane.kubectl("get", ",".join(kinds), "-n", namespace, "-o", "json").json()["items"]
    named = (f"{obj['kind']} {obj['metadata']['name']}" for obj in items if obj["metadata"]["name"] not in ("default", "kube-root-ca.crt"))
    return sorted(named)
