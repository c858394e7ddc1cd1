"""Ten minutes in which users, crashes and the cluster's APIs leave nobody in peace; afterwards everything is as if they had never been."""

import os
import random
import re
import signal
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final, TypeAlias

import pytest

from dynamo_webhooks.reconciler.render.names import WORKER_HASH
from tests.cluster.harness import is_ready
from tests.cluster.objects import foreign
from tests.cluster.planes import Planes
from tests.cluster.processes import wait_until
from tests.cluster.reconciler.grove import CLIQUES, SETS, Grove, definitions
from tests.cluster.reconciling import ACCOUNTS, ADAPTERS, COMPONENTS, DEPLOYMENTS, GRAPHS, NAMESPACE, SERVICES, Reconciled, reconciled
from tests.cluster.rendering import charted
from tests.hostile.settings import SEED
from tests.reconciler.rendering import component, graph, vllm

Node: TypeAlias = dict[str, Any]
SECONDS: Final = float(os.environ.get("STORM_SECONDS") or 600)
PAUSE: Final = (0.0, 2.0)  # seconds between two deeds
REST: Final = 30.0  # seconds in which nothing is written
MAX_GRAPHS: Final = 12
ON_GROVE: Final = 3
JSON_PATCH: Final = "application/json-patch+json"
GIVEN: Final = {"clusterIP", "clusterIPs", "podSpec"}  # by others; a clique keeps the template that it was made with
LATER: Final = {*GIVEN - {"podSpec"}, "replicas"}  # what Grove takes when a set is made
WRITTEN: Final = (GRAPHS, COMPONENTS, ADAPTERS, DEPLOYMENTS, SERVICES, ACCOUNTS, SETS, CLIQUES)
FACTS: Final = (
    foreign("scheduling.run.ai", "Queue", "queues", scope="Cluster", version="v2"),
    foreign("scheduling.volcano.sh", "PodGroup", "podgroups", version="v1beta1"),
    foreign("leaderworkerset.x-k8s.io", "LeaderWorkerSet", "leaderworkersets"),
    foreign("networking.istio.io", "VirtualService", "virtualservices"),
    foreign("inference.networking.k8s.io", "InferencePool", "inferencepools"),
)


class Storm:
    """What happens to a cluster with two reconcilers, drawn from a seed."""

    def __init__(self, site: Reconciled, chooser: random.Random) -> None:
        self.site, self.chooser = site, chooser
        self.graphs: list[str] = []  # namespaces, each with a graph `g`
        self.served: set[int] = set()
        self.done: dict[str, int] = {}
        for number in range(ON_GROVE * 2):
            self.create(grove=number < ON_GROVE)
        for namespace in self.graphs:
            site.ready(namespace)

    def run(self, seconds: float) -> None:
        """Does one thing after the other until the time is up; leaves no fact on."""
        end = time.monotonic() + seconds
        deeds = {self.edit: 12, self.damage: 4, self.create: 2, self.delete: 2, self.kill: 2, self.turn: 2, self.restart: 1}
        while time.monotonic() < end:
            [deed] = self.chooser.choices([*deeds], [*deeds.values()])
            deed()
            self.done[deed.__name__] = self.done.get(deed.__name__, 0) + 1
            time.sleep(self.chooser.uniform(*PAUSE))
        while self.served:
            self.turn(min(self.served))

    def create(self, *, grove: bool = False) -> None:
        """Makes a graph; on Grove only in the beginning, when no fact is on that it would keep."""
        if len(self.graphs) < MAX_GRAPHS:
            namespace = self.site.plane.namespace()
            main = {"image": "img:1", "env": [{"name": "A", "value": "0"}]}
            parts = component("Frontend", "frontend", main, replicas=1), *(vllm(name, replicas=1) for name in ("decode", "prefill"))
            made = graph(*parts, annotations={"nvidia.com/enable-grove": str(grove).lower()})
            self.apply(made, namespace)
            self.graphs.append(namespace)

    def apply(self, made: Node, namespace: str) -> None:
        """Writes a graph into a namespace."""
        self.site.plane.apply({**made, "metadata": {**made["metadata"], "namespace": namespace}})

    def delete(self) -> None:
        """Deletes a graph that is not on Grove."""
        if len(self.graphs) > ON_GROVE * 2:
            namespace = self.graphs.pop(self.chooser.randrange(ON_GROVE, len(self.graphs)))
            assert self.site.plane.request("DELETE", f"{GRAPHS.format(namespace)}/g").status == 200

    def edit(self) -> None:
        """Changes replicas, an image or a variable of a graph."""
        at = f"/spec/components/{self.chooser.randrange(3)}"
        container, value = f"{at}/podTemplate/spec/containers/0", str(self.chooser.randrange(4))
        steps = [
            {"op": "add", "path": f"{at}/replicas", "value": int(value)},
            {"op": "replace", "path": f"{container}/image", "value": f"img:{value}"},
            {"op": "add", "path": f"{container}/env", "value": [{"name": "A", "value": value}]},
        ]
        self.site.patch(GRAPHS, self.chooser.choice(self.graphs), "g", [self.chooser.choice(steps)], JSON_PATCH)

    def damage(self) -> None:
        """Deletes a child of a graph behind the reconciler's back."""
        path, namespace = self.chooser.choice((DEPLOYMENTS, SERVICES, COMPONENTS)), self.chooser.choice(self.graphs)
        if names := sorted(self.site.names(path, namespace)):
            self.site.plane.request("DELETE", f"{path.format(namespace)}/{self.chooser.choice(names)}")

    def kill(self) -> None:
        """Ends one of the reconcilers as a crash does, and starts another."""
        process = self.site.processes.pop(self.chooser.randrange(len(self.site.processes)))
        os.kill(process.pid, signal.SIGKILL)
        process.stop()
        self.site.reconcile()

    def turn(self, which: int | None = None) -> None:
        """Begins to serve an API of a neighbour, or ends it."""
        number = self.chooser.randrange(len(FACTS)) if which is None else which
        if number in self.served:
            name = FACTS[number]["metadata"]["name"]
            path = f"/apis/apiextensions.k8s.io/v1/customresourcedefinitions/{name}"
            assert self.site.plane.request("DELETE", path).status == 200
        else:
            self.site.plane.apply(FACTS[number])
        self.served ^= {number}

    def restart(self) -> None:
        """Ends the API server as a crash does, and starts it again."""
        plane = self.site.plane
        plane.server.kill()
        plane.server = plane.server.again()
        wait_until(lambda: is_ready(plane), "the API server being ready", plane.server)

    def versions(self) -> dict[str, str]:
        """What has been written how often: each object with its version."""
        versions: dict[str, str] = {}
        for path in WRITTEN:
            for obj in self.site.plane.request("GET", path.replace("/namespaces/{}", "")).body["items"]:
                metadata = obj["metadata"]
                versions[f"{path} {metadata['namespace']}/{metadata['name']}"] = metadata["resourceVersion"]
        return versions

    def children(self, namespace: str) -> set[str]:
        """What a graph has come to, a line for each value, without what depends on the namespace and on the order of edits."""
        workers = self.site.plane.request("GET", COMPONENTS.format(namespace)).body["items"]
        generations = {worker["metadata"]["labels"].get(WORKER_HASH, namespace) for worker in workers} - {namespace}
        assert len(generations) < 2, "two generations of workers are left"
        hidden = re.compile("|".join({namespace, *generations}))  # the generation's name counts the namespace
        return {
            hidden.sub("HIDDEN", f"{path} {obj['metadata']['name']}{line}")
            for path in WRITTEN[1:]
            for obj in self.site.plane.request("GET", path.format(namespace)).body["items"]
            for line in _lines(obj.get("spec"), LATER if path == SETS else GIVEN)
        }


def _lines(value: Any, left: set[str]) -> Iterator[str]:
    parts = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for name, part in parts:
        if name not in left:
            yield from (f".{name}{line}" for line in _lines(part, left))
    if not parts:
        yield f" = {value}"


@pytest.fixture
def storm(planes: Planes, tmp_path: Path) -> Iterator[Storm]:
    objects = charted(NAMESPACE, "reconciler.orchestrators=true")
    with reconciled(planes, tmp_path, objects=objects, definitions=definitions()) as site, Grove(site.plane):
        site.reconcile()
        yield Storm(site, random.Random(SEED))  # noqa: S311 - nothing here is a secret


@pytest.mark.nightly
def test_after_a_storm_nothing_is_left_of_it(storm: Storm) -> None:
    site = storm.site
    storm.run(SECONDS)
    print(f"HOSTILE_SEED={SEED}", storm.done)
    try:
        for namespace in storm.graphs:
            site.ready(namespace)
    finally:
        print(*((namespace, site.condition(namespace)) for namespace in storm.graphs), sep="\n")
    time.sleep(REST)
    before = storm.versions()
    time.sleep(REST)
    assert storm.versions() == before, "something is written at rest"
    while site.processes:
        site.processes.pop().stop()
    site.reconcile()
    time.sleep(REST)
    assert storm.versions() == before, "a process that begins anew finds differences"
    for namespace in storm.graphs:
        live, twin = site.get(GRAPHS, namespace, "g"), site.plane.namespace()
        chosen = "nvidia.com/enable-grove"
        metadata = {"name": "g", "annotations": {chosen: live["metadata"]["annotations"][chosen]}}
        storm.apply({**{name: live[name] for name in ("apiVersion", "kind", "spec")}, "metadata": metadata}, twin)
        site.ready(twin)
        differences = sorted(storm.children(namespace) ^ storm.children(twin))
        assert differences == [], "\n".join(differences)
