"""Graphs on Grove, whose operator is played: the reconciler has its account's rights, with those for orchestrators."""

import time
from collections.abc import Iterator
from typing import Any, Final, NamedTuple, TypeAlias

import pytest

from tests.cluster.planes import Planes
from tests.cluster.reconciler.grove import CLIQUES, GROUPS, INDEX_LABEL, PODS, SETS, Grove, definitions
from tests.cluster.reconciling import GRAPHS, NAMESPACE, Reconciled, reconciled
from tests.cluster.rendering import charted
from tests.reconciler.rendering import component, graph, vllm

Node: TypeAlias = dict[str, Any]
JSON_PATCH: Final = "application/json-patch+json"


class Site(NamedTuple):
    """A cluster with Grove."""

    plane: Reconciled
    grove: Grove

    def replicas(self, path: str, namespace: str, name: str) -> int:
        """What an object of Grove asks for."""
        return int(self.plane.get(path, namespace, name)["spec"]["replicas"])

    def status(self, namespace: str) -> Node:
        """The status of the graph `g`."""
        status: Node = self.plane.get(GRAPHS, namespace, "g").get("status", {})
        return status

    def pods(self, namespace: str, clique: str) -> list[Node]:
        """The pods of a clique that are not being deleted, by index."""
        pods = self.plane.plane.request("GET", f"{PODS.format(namespace)}?labelSelector=grove.io/podclique%3D{clique}").body["items"]
        alive = [pod for pod in pods if "deletionTimestamp" not in pod["metadata"]]
        return sorted(alive, key=lambda pod: int(pod["metadata"]["labels"][INDEX_LABEL]))

    def scale(self, namespace: str, index: int, replicas: int) -> None:
        """Changes a component of the graph `g` as its author does."""
        step = {"op": "add", "path": f"/spec/components/{index}/replicas", "value": replicas}
        self.plane.patch(GRAPHS, namespace, "g", [step], JSON_PATCH)


@pytest.fixture(scope="module")
def site(planes: Planes, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Site]:
    objects = charted(NAMESPACE, "reconciler.orchestrators=true", "reconciler.podReplacement=true")
    with (
        reconciled(planes, tmp_path_factory.mktemp("grove"), objects=objects, definitions=definitions()) as plane,
        Grove(plane.plane) as grove,
    ):
        yield Site(plane, grove)


def _graph(namespace: str, *components: Node, **spec: Any) -> Node:
    made = graph(component("Frontend", "frontend", {"image": "img:1"}, replicas=1), *components, **spec)
    made["metadata"]["namespace"] = namespace
    return made


def _made(site: Site, *components: Node, **spec: Any) -> str:
    """The namespace of a new graph that is ready."""
    namespace = site.plane.plane.namespace()
    site.plane.plane.apply(_graph(namespace, *components, **spec))
    site.plane.ready(namespace)
    return namespace


def test_changed_replicas_reach_what_grove_has_made(site: Site) -> None:
    namespace = _made(site, vllm("w", replicas=2), vllm("wide", replicas=1, multinode={"nodeCount": 2}))
    before = site.plane.get(SETS, namespace, "g")["spec"]
    site.scale(namespace, 1, 5)
    site.scale(namespace, 2, 3)
    site.plane.until(lambda: site.replicas(CLIQUES, namespace, "g-0-w") == 5, "the clique being scaled")
    site.plane.until(lambda: site.replicas(GROUPS, namespace, "g-0-wide") == 3, "the group being scaled")
    site.plane.ready(namespace)
    assert site.plane.get(SETS, namespace, "g")["spec"] == before
    assert {name for name in site.plane.names(CLIQUES, namespace) if "-wide-2-" in name} == {"g-0-wide-2-wide-ldr", "g-0-wide-2-wide-wkr"}


def test_a_group_of_no_replicas_is_made_and_comes_when_scaled_up(site: Site) -> None:
    """Grove takes no set with one, so that the group is made first."""
    namespace = _made(site, vllm("w", replicas=1), vllm("wide", replicas=0, multinode={"nodeCount": 2}))
    assert site.replicas(GROUPS, namespace, "g-0-wide") == 0
    assert (len(site.pods(namespace, "g-0-frontend")), len(site.pods(namespace, "g-0-w"))) == (1, 1)
    site.plane.until(lambda: not [name for name in site.plane.names(CLIQUES, namespace) if "-wide-" in name], "the group having no pods")
    assert site.status(namespace)["components"]["wide"]["replicas"] == 0
    before = site.plane.get(SETS, namespace, "g")["spec"]
    site.scale(namespace, 2, 2)
    site.plane.until(lambda: site.replicas(GROUPS, namespace, "g-0-wide") == 2, "the group being scaled")
    site.plane.ready(namespace)
    assert {len(site.pods(namespace, f"g-0-wide-{replica}-wide-{role}")) for replica in range(2) for role in ("ldr", "wkr")} == {1}
    assert site.plane.get(SETS, namespace, "g")["spec"] == before


def test_the_place_of_pods_is_told_as_grove_finds_it(site: Site) -> None:
    constraint = {"clusterTopologyName": "t", "packDomain": "rack"}
    namespace = _made(site, vllm("w"), topologyConstraint=constraint)

    def told(status: str, reason: str) -> bool:
        condition = site.plane.condition(namespace, kind="TopologyLevelsAvailable")
        return (condition.get("status"), condition.get("reason")) == (status, reason)

    site.plane.until(lambda: told("Unknown", "TopologyConditionPending"), "the place being waited for")
    for grove, ours in (
        (("False", "AllClusterTopologyLevelsAvailable"), ("True", "AllTopologyLevelsAvailable")),
        (("True", "ClusterTopologyLevelsUnavailable"), ("False", "TopologyLevelsUnavailable")),
        (("True", "ClusterTopologyNotFound"), ("False", "TopologyDefinitionNotFound")),
    ):
        site.grove.placed["g"] = {"status": grove[0], "reason": grove[1], "message": f"no {grove[1]}"}
        site.plane.until(lambda expected=ours: told(*expected), f"the condition being {ours}")  # type: ignore[misc]
    site.grove.placed.clear()
    lost = "Topology constraints no longer enforced: no"
    levels = ("Warning", "TopologyLevelsUnavailable", f"{lost} ClusterTopologyLevelsUnavailable")
    site.plane.told(namespace, "g", levels, ("Warning", "TopologyDefinitionNotFound", f"{lost} ClusterTopologyNotFound"))


def test_grove_that_goes_is_missed_within_half_a_minute(site: Site) -> None:
    namespace = _made(site, vllm("w"))
    names = [definition["metadata"]["name"] for definition in definitions()]
    assert site.plane.plane.kubectl("delete", "crd", *names).code == 0
    began = time.monotonic()
    text = "the graph runs on Grove, which is not served by the cluster, and is left alone"
    site.plane.until(lambda: text in site.plane.condition(namespace, kind="Orchestrator").get("message", ""), "Grove being missed")
    assert time.monotonic() - began < 30
    assert (site.plane.condition(namespace)["status"], site.plane.condition(namespace)["reason"]) == ("Unknown", "orchestrator_not_served")
    site.plane.plane.apply(*definitions())
    site.plane.ready(namespace)
