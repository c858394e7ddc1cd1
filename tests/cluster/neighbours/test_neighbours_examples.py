"""Twenty of upstream's graphs on real LeaderWorkerSets, scheduler and simulated nodes: each runs, grows, rolls and goes without a trace."""

import copy
from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial
from typing import Any, Final, TypeAlias

import pytest

from dynamo_webhooks.reconciler.render.children import render
from dynamo_webhooks.reconciler.render.settings import Settings
from tests.cluster.neighbours.neighbourhood import CHANNELS, SETS, left_over, neighbourhood
from tests.cluster.planes import Planes
from tests.cluster.processes import StartError
from tests.cluster.reconciling import ADAPTERS, DEPLOYMENTS, GRAPHS, PODS, Reconciled
from tests.golden.corpus import cases
from tests.laws.laws import version_of
from tests.reconciler.rendering import VERSION, stored

Node: TypeAlias = dict[str, Any]
CASES: Final = {
    ("golden.ndjson.gz", "convert"): (
        "v1-1594",  # vllm-agg: replicas of four nodes
        "v1-1903",  # vllm-disagg, v1beta1
        "v1-2191",  # sglang-disagg-multinode, v1alpha1
        "v1-2202",  # sglang-disagg-multinode, v1beta1
        "v1-2678",  # vllm-agg on SGLang, v1beta1
        "v1-2742",  # trtllm-disagg-tp8, v1beta1
    ),
    ("golden.ndjson.gz", "admit"): (
        "a1-355",  # trtllm-disagg-multinode: replicas of eight nodes
        "a1-592",  # the same with a scaling adapter
        "a1-887",  # vllm-agg, which claims devices
        "a1-1132",  # nemotron-omni-vllm-agg, which claims devices
        "a1-1157",  # qwen3-32b-fp8-vllm-disagg: replicas of three nodes, long names
        "a1-1499",  # kimi-k25-agg-rr-eagle
        "a1-2400",  # sglang-dsv4-pro-agg
    ),
    ("convert15.ndjson.gz", "convert"): (
        "v1-40",  # kimi-k3-disagg
        "v1-708",  # sglang-dsv4-pro-agg, with a scaling adapter
        "v1-893",  # sglang-qwen38max-agg
        "v1-986",  # kimi-k25-agg-kv-eagle
        "v1-999",  # vllm-dsr1, which asks for a volume, with a scaling adapter
        "v1-2288",  # sgl-dsr1-16gpu: a component with no replicas
    ),
    ("render.ndjson.gz", "render"): ("r1-54",),  # agg-round-robin-dsv32-nvfp4
}


@dataclass(frozen=True)
class Example:
    """A manifest, and the pod templates and volume claims that it comes to."""

    id: str
    manifest: Node
    templates: list[Node]
    claims: dict[str, Node]  # name -> the claim as rendered; without a spec, somebody else makes it

    def beside(self, namespace: str) -> Iterator[Node]:
        """What must be in the cluster: volumes, claims that the graph doesn't make, and templates of claims for devices."""
        for name, claim in self.claims.items():
            spec = claim.get("spec") or {"accessModes": ["ReadWriteMany"], "resources": {"requests": {"storage": "1Ti"}}}
            class_name = spec.get("storageClassName") or ""
            yield _volume(namespace, name, class_name, spec["accessModes"])
            if not claim:
                metadata = {"name": name, "namespace": namespace}
                yield {"apiVersion": "v1", "kind": "PersistentVolumeClaim", "metadata": metadata, "spec": {**spec, "storageClassName": ""}}
        named = {entry.get("resourceClaimTemplateName") for pod in self.templates for entry in pod["spec"].get("resourceClaims") or []}
        for name in sorted(named - {None} - {child["metadata"]["name"] for child in self.made("ResourceClaimTemplate")}):
            request = {"name": "channel", "exactly": {"deviceClassName": CHANNELS}}
            metadata = {"name": name, "namespace": namespace}
            spec = {"spec": {"devices": {"requests": [request]}}}
            yield {"apiVersion": "resource.k8s.io/v1", "kind": "ResourceClaimTemplate", "metadata": metadata, "spec": spec}

    def made(self, kind: str) -> list[Node]:
        """Its own children of a kind."""
        return [child for child in _children(self.manifest) if child["kind"] == kind]


def examples() -> Iterator[Example]:
    """All of them, in the order above."""
    for (file, kind), wanted in CASES.items():
        left = {*wanted}
        for case in cases(file, kind):
            if case["id"] in left:
                left.remove(case["id"])
                yield _example(case["id"], case["request"]["object"] if kind == "admit" else case["object"])
        assert not left, f"{file} lacks {left}"


def _example(id_: str, obj: Node) -> Example:
    metadata = {"name": obj["metadata"]["name"], "namespace": "demo"}
    manifest = {"apiVersion": obj["apiVersion"], "kind": obj["kind"], "metadata": metadata, "spec": _without_nulls(obj["spec"])}
    children = _children(manifest)
    templates = [child["spec"]["template"] for child in children if child["kind"] == "Deployment"]
    for child in children:
        if child["kind"] == "LeaderWorkerSet":
            templates += [child["spec"]["leaderWorkerTemplate"][f"{role}Template"] for role in ("leader", "worker")]
    volumes = [volume for template in templates for volume in template["spec"].get("volumes") or []]
    claims: dict[str, Node] = {volume["persistentVolumeClaim"]["claimName"]: {} for volume in volumes if "persistentVolumeClaim" in volume}
    claims |= {claim["metadata"]["name"]: claim for claim in children if claim["kind"] == "PersistentVolumeClaim"}
    return Example(id_, manifest, templates, claims)


def _without_nulls(value: Any) -> Any:
    """A client in Go wrote null for lists that it hadn't; a manifest says nothing there."""
    if isinstance(value, dict):
        return {name: _without_nulls(item) for name, item in value.items() if item is not None}
    return [_without_nulls(item) for item in value] if isinstance(value, list) else value


def _children(manifest: Node) -> list[Node]:
    facts: Node = {
        "grove": False,
        "lws": True,
        "dra": True,
        "inferencePool": True,
        "clusterTopologies": {"default": ("zone", "rack", "host")},
    }
    done = render(stored(copy.deepcopy(manifest), **facts), Settings(operator_version=VERSION, grove=False, lws=True))
    assert not done.problems, [str(problem) for problem in done.problems]
    return done.children


def _volume(namespace: str, name: str, class_name: str, modes: list[str]) -> Node:
    spec = {
        "capacity": {"storage": "100Ti"},
        "accessModes": modes,
        "storageClassName": class_name,
        "hostPath": {"path": "/models"},
        "claimRef": {"namespace": namespace, "name": name},
        "persistentVolumeReclaimPolicy": "Retain",
    }
    return {"apiVersion": "v1", "kind": "PersistentVolume", "metadata": {"name": f"{namespace}-{name}"}, "spec": spec}


IMAGE: Final = "registry.test/next:2"
KEPT: Final = {"Secret mpi-run-ssh-secret", "ServiceAccount planner-serviceaccount", "RoleBinding planner-serviceaccount-binding"}


@dataclass
class Running:
    """An example in a namespace of its own."""

    site: Reconciled
    example: Example
    namespace: str

    @property
    def name(self) -> str:
        return str(self.example.manifest["metadata"]["name"])

    def graph(self) -> Node:
        """The graph, in v1beta1."""
        return self.site.get(GRAPHS, self.namespace, self.name)

    def says_ready(self) -> bool:
        graph = self.graph()
        status = graph.get("status", {})
        return (status.get("state"), status.get("observedGeneration")) == ("successful", graph["metadata"]["generation"])

    def says(self) -> list[str]:
        """How many pods it has, and what it, its sets and pods that aren't ready say."""
        pods = [pod for pod in self.pods() if not _ready(pod)]
        sets = self.site.plane.request("GET", SETS.format(self.namespace)).body["items"]
        lines = [f"{obj['metadata']['name']}: {obj.get('status', {}).get('conditions')}" for obj in (self.graph(), *sets, *pods)]
        return [f"{len(self.pods())} of {self.wanted()} pods", *lines]

    def pods(self) -> list[Node]:
        """Those that are there to stay."""
        pods = self.site.plane.request("GET", PODS.format(self.namespace)).body["items"]
        return [pod for pod in pods if "deletionTimestamp" not in pod["metadata"]]

    def runs(self, image: str = "") -> bool:
        """Whether it has as many pods as it asks for, and all are ready; with `image`, those that have been rolled to it."""
        return [_ready(pod) for pod in self.pods() if not image or image in _images(pod)] == [True] * self.wanted()

    def wanted(self) -> int:
        """The pods that the graph asks for: a component's default is one replica on one node."""
        components = self.graph()["spec"]["components"]
        return sum(component.get("replicas", 1) * (component.get("multinode") or {}).get("nodeCount", 1) for component in components)

    def scaled(self) -> Node:
        """The component that is made bigger: one with an adapter, or else on several nodes."""
        components = self.graph()["spec"]["components"]
        return max(components, key=lambda component: ("scalingAdapter" in component, "multinode" in component))

    def has(self, replicas: int) -> bool:
        """Whether that component has a number of replicas."""
        return bool(self.scaled()["replicas"] == replicas)

    def left(self) -> list[str]:
        """What is left of it but for what the test brought, and what is kept: it holds data or is the next graph's, too."""
        beside = {*self.example.claims, *(each["metadata"]["name"] for each in self.example.beside(self.namespace))}
        return [each for each in left_over(self.site, self.namespace) if each not in KEPT and each.partition(" ")[2] not in beside]


def _ready(pod: Node) -> bool:
    return any(each["type"] == "Ready" and each["status"] == "True" for each in pod["status"].get("conditions", []))


def _images(pod: Node) -> set[str]:
    return {each["image"] for each in pod["spec"]["containers"] if each["name"] == "main"}


@pytest.fixture(scope="module")
def running(planes: Planes, tmp_path_factory: pytest.TempPathFactory) -> Iterator[list[Running]]:
    with neighbourhood(planes, tmp_path_factory.mktemp("examples"), "components/mpi-keys", nodes=16) as site:
        if not site.plane.has_devices:
            pytest.skip("some of the graphs claim devices, which this version of Kubernetes doesn't serve in v1")
        yield [Running(site, example, site.plane.namespace()) for example in examples()]


def test_twenty_graphs_run_grow_roll_and_go(running: list[Running]) -> None:
    assert len(running) == 20
    _create(running)
    _grow(running)
    _roll(running)
    _delete(running)


def _until_all_run(running: list[Running], what: str, image: str = "") -> None:
    """Waits until all graphs say that they are ready. Then all of their pods must be."""
    site = running[0].site
    try:
        site.until(lambda: all(run.says_ready() for run in running), what)
    except StartError as late:
        raise AssertionError("\n".join(f"{run.example.id} {run.name}: {run.says()}" for run in running if not run.says_ready())) from late
    wrong = [f"{run.example.id} {run.name}: {run.says()}" for run in running if not run.runs(image)]
    assert not wrong, "\n".join(wrong)


def _create(running: list[Running]) -> None:
    for run in running:
        manifest = {**run.example.manifest, "metadata": {"name": run.name, "namespace": run.namespace}}
        run.site.plane.apply(*run.example.beside(run.namespace), manifest)
    _until_all_run(running, "all of them being ready")
    for run in running:
        sets = run.site.plane.request("GET", SETS.format(run.namespace)).body["items"]
        deployments = run.site.names(DEPLOYMENTS, run.namespace)
        assert len(sets) == len([each for each in run.graph()["spec"]["components"] if "multinode" in each]), run.example.id
        assert len(sets) + len(deployments) == len(run.graph()["spec"]["components"])


def _grow(running: list[Running]) -> None:
    for run in running:
        component = run.scaled()
        more = component.get("replicas", 1) + 1
        if "scalingAdapter" in component:
            [adapter] = [name for name in run.site.names(ADAPTERS, run.namespace) if name.endswith(component["name"].lower())]
            resource = f"dynamographdeploymentscalingadapter/{adapter}"
            done = run.site.plane.kubectl("scale", "-n", run.namespace, resource, f"--replicas={more}")
            assert done.code == 0, done.stderr
            run.site.until(partial(run.has, more), "the adapter's number being the graph's")
        else:
            index = [each["name"] for each in run.graph()["spec"]["components"]].index(component["name"])
            change = [{"op": "add", "path": f"/spec/components/{index}/replicas", "value": more}]
            run.site.patch(GRAPHS, run.namespace, run.name, change, "application/json-patch+json")
    _until_all_run(running, "all of them having grown")


def _roll(running: list[Running]) -> None:
    for run in running:
        change = [
            {"op": "add", "path": f"/spec/components/{index}/podTemplate/spec/containers/{place}/image", "value": IMAGE}
            for index, component in enumerate(run.graph()["spec"]["components"])
            for place, container in enumerate(component["podTemplate"]["spec"]["containers"])
            if container["name"] == "main"
        ]
        run.site.patch(GRAPHS, run.namespace, run.name, change, "application/json-patch+json")
    _until_all_run(running, "all of them having rolled", IMAGE)
    running[0].site.until(lambda: all(run.runs() for run in running), "pods of the old generations being gone")


def _delete(running: list[Running]) -> None:
    for run in running:
        path = GRAPHS.format(run.namespace).replace("v1beta1", version_of(run.example.manifest))
        assert run.site.plane.request("DELETE", f"{path}/{run.name}").status == 200
    site = running[0].site
    try:
        site.until(lambda: not any(run.left() for run in running), "nothing being left")
    except StartError as late:
        raise AssertionError({run.example.id: run.left() for run in running if run.left()}) from late
