"""Twenty of upstream's graphs on real LeaderWorkerSets, scheduler and simulated nodes: each runs, grows, rolls and goes without a trace."""

from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any, Final

import pytest

from tests.cluster.examples import Example, examples
from tests.cluster.neighbours import SETS, left_over, neighbourhood
from tests.cluster.processes import StartError
from tests.cluster.reconciling import ACCOUNT, ADAPTERS, DEPLOYMENTS, GRAPHS, NAMESPACE, PODS, Reconciled
from tests.golden.upstream import version_of

Node = dict[str, Any]
IMAGE: Final = "registry.test/next:2"
KEPT: Final = {"Secret mpi-run-ssh-secret", "ServiceAccount planner-serviceaccount", "RoleBinding planner-serviceaccount-binding"}
# what the default roles don't give, as docs/reconciler.md says: keys between the nodes of TensorRT-LLM
_KEYS: Final[list[Node]] = [
    {
        "apiVersion": "rbac.authorization.k8s.io/v1",
        "kind": "ClusterRole",
        "metadata": {"name": "keys"},
        "rules": [{"apiGroups": [""], "resources": ["secrets"], "verbs": ["get", "create"]}],
    },
    {
        "apiVersion": "rbac.authorization.k8s.io/v1",
        "kind": "ClusterRoleBinding",
        "metadata": {"name": "keys"},
        "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": "keys"},
        "subjects": [{"kind": "ServiceAccount", "name": ACCOUNT, "namespace": NAMESPACE}],
    },
]


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
        found = self.graph()
        status = found.get("status", {})
        return (status.get("state"), status.get("observedGeneration")) == ("successful", found["metadata"]["generation"])

    def says(self) -> list[str]:
        """How many pods it has, and what it, its sets and pods that aren't ready say."""
        pods = [pod for pod in self.pods() if not _ready(pod)]
        sets = self.site.plane.request("GET", SETS.format(self.namespace)).body["items"]
        said = [f"{one['metadata']['name']}: {one.get('status', {}).get('conditions')}" for one in (self.graph(), *sets, *pods)]
        return [f"{len(self.pods())} of {self.wanted()} pods", *said]

    def pods(self) -> list[Node]:
        """Those that are there to stay."""
        found = self.site.plane.request("GET", PODS.format(self.namespace)).body["items"]
        return [one for one in found if "deletionTimestamp" not in one["metadata"]]

    def runs(self, image: str = "") -> bool:
        """Whether it has as many pods as it asks for, and all are ready; with `image`, those that have been rolled to it."""
        return [_ready(pod) for pod in self.pods() if not image or image in _images(pod)] == [True] * self.wanted()

    def wanted(self) -> int:
        """The pods that the graph asks for: a component's default is one replica on one node."""
        components = self.graph()["spec"]["components"]
        return sum(one.get("replicas", 1) * (one.get("multinode") or {}).get("nodeCount", 1) for one in components)

    def scaled(self) -> Node:
        """The component that is made bigger: one with an adapter, or else on several nodes."""
        components = self.graph()["spec"]["components"]
        return max(components, key=lambda one: ("scalingAdapter" in one, "multinode" in one))

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
def running(assets: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[list[Running]]:
    with neighbourhood(assets, tmp_path_factory.mktemp("examples"), nodes=16) as site:
        if not site.plane.has_devices:
            pytest.skip("some of the graphs claim devices, which this version of Kubernetes doesn't serve in v1")
        site.plane.apply(*_KEYS)
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
        site.until(lambda: all(one.says_ready() for one in running), what)
    except StartError as late:
        raise AssertionError("\n".join(f"{one.example.id} {one.name}: {one.says()}" for one in running if not one.says_ready())) from late
    wrong = [f"{one.example.id} {one.name}: {one.says()}" for one in running if not one.runs(image)]
    assert not wrong, "\n".join(wrong)


def _create(running: list[Running]) -> None:
    for one in running:
        manifest = {**one.example.manifest, "metadata": {"name": one.name, "namespace": one.namespace}}
        one.site.plane.apply(*one.example.beside(one.namespace), manifest)
    _until_all_run(running, "all of them being ready")
    for one in running:
        sets = one.site.plane.request("GET", SETS.format(one.namespace)).body["items"]
        deployments = one.site.names(DEPLOYMENTS, one.namespace)
        assert len(sets) == len([each for each in one.graph()["spec"]["components"] if "multinode" in each]), one.example.id
        assert len(sets) + len(deployments) == len(one.graph()["spec"]["components"])


def _grow(running: list[Running]) -> None:
    for one in running:
        component = one.scaled()
        more = component.get("replicas", 1) + 1
        if "scalingAdapter" in component:
            [adapter] = [name for name in one.site.names(ADAPTERS, one.namespace) if name.endswith(component["name"].lower())]
            resource = f"dynamographdeploymentscalingadapter/{adapter}"
            done = one.site.plane.kubectl("scale", "-n", one.namespace, resource, f"--replicas={more}")
            assert done.code == 0, done.stderr
            one.site.until(partial(one.has, more), "the adapter's number being the graph's")
        else:
            index = [each["name"] for each in one.graph()["spec"]["components"]].index(component["name"])
            change = [{"op": "add", "path": f"/spec/components/{index}/replicas", "value": more}]
            one.site.patch(GRAPHS, one.namespace, one.name, change, "application/json-patch+json")
    _until_all_run(running, "all of them having grown")


def _roll(running: list[Running]) -> None:
    for one in running:
        change = [
            {"op": "add", "path": f"/spec/components/{index}/podTemplate/spec/containers/{place}/image", "value": IMAGE}
            for index, component in enumerate(one.graph()["spec"]["components"])
            for place, container in enumerate(component["podTemplate"]["spec"]["containers"])
            if container["name"] == "main"
        ]
        one.site.patch(GRAPHS, one.namespace, one.name, change, "application/json-patch+json")
    _until_all_run(running, "all of them having rolled", IMAGE)
    running[0].site.until(lambda: all(one.runs() for one in running), "pods of the old generations being gone")


def _delete(running: list[Running]) -> None:
    for one in running:
        path = GRAPHS.format(one.namespace).replace("v1beta1", version_of(one.example.manifest))
        assert one.site.plane.request("DELETE", f"{path}/{one.name}").status == 200
    site = running[0].site
    try:
        site.until(lambda: not any(one.left() for one in running), "nothing being left")
    except StartError as late:
        raise AssertionError({one.example.id: one.left() for one in running if one.left()}) from late
