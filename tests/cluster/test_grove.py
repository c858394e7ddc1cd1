"""Graphs on Grove, whose operator is played: the reconciler has its account's rights, with those for orchestrators."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final, NamedTuple, TypeAlias

import pytest

from dynamo_webhooks.api.kinds import ALPHA, BETA, GROUP
from dynamo_webhooks.conversion.objects import convert_object, target
from tests.cluster.grove import CLIQUES, GROUPS, SETS, Grove, definitions
from tests.cluster.reconciling import ADAPTERS, DEPLOYMENTS, EVENTS, GRAPHS, NAMESPACE, SERVICES, Reconciled, reconciled
from tests.cluster.rendering import charted
from tests.reconciler.rendering import component, graph, vllm

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

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
        found: Node = self.plane.get(GRAPHS, namespace, "g").get("status", {})
        return found

    def condition(self, namespace: str, kind: str = "Ready") -> Node:
        """A condition of the graph `g`; empty when it has none of the type."""
        return next((one for one in self.status(namespace).get("conditions", ()) if one["type"] == kind), {})

    def message(self, namespace: str) -> str:
        """Why the graph `g` is not ready."""
        return str(self.condition(namespace).get("message", ""))

    def scale(self, namespace: str, index: int, replicas: int) -> None:
        """Changes a component of the graph `g` as its author does."""
        step = {"op": "add", "path": f"/spec/components/{index}/replicas", "value": replicas}
        self.plane.patch(GRAPHS, namespace, "g", [step], JSON_PATCH)


@pytest.fixture(scope="module")
def site(assets: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Site]:
    objects = charted(NAMESPACE, "reconciler.orchestrators=true")
    with (
        reconciled(assets, tmp_path_factory.mktemp("grove"), objects=objects, definitions=definitions()) as found,
        Grove(found.plane) as grove,
    ):
        yield Site(found, grove)


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


def test_an_adapter_scales_what_runs(site: Site) -> None:
    namespace = _made(site, vllm("w", replicas=1, scalingAdapter={}))
    done = site.plane.plane.kubectl("scale", "-n", namespace, "dynamographdeploymentscalingadapter/g-w", "--replicas=4")
    assert done.code == 0, done.stderr
    site.plane.until(lambda: site.replicas(CLIQUES, namespace, "g-0-w") == 4, "the clique being scaled")
    site.plane.ready(namespace)
    assert site.plane.get(ADAPTERS, namespace, "g-w")["status"]["replicas"] == 4
    site.scale(namespace, 1, 0)
    site.plane.until(lambda: site.replicas(CLIQUES, namespace, "g-0-w") == 0, "the clique being scaled to nothing")
    site.plane.ready(namespace)


def test_what_grove_makes_late_is_scaled_when_it_appears(site: Site) -> None:
    namespace = site.plane.plane.namespace()
    site.grove.late.add("g-0-slow")
    site.plane.plane.apply(_graph(namespace, vllm("slow", replicas=2)))
    site.plane.until(lambda: "podclique/g-0-slow: resource not found" in site.message(namespace), "the missing clique being told")
    assert "slow" not in site.status(namespace).get("components", {})
    site.scale(namespace, 1, 3)
    site.plane.until(lambda: site.plane.get(GRAPHS, namespace, "g")["status"].get("observedGeneration") == 2, "the new number being seen")
    assert site.plane.get(SETS, namespace, "g")["spec"]["template"]["cliques"][1]["spec"]["replicas"] == 2
    site.grove.late.clear()
    site.plane.until(lambda: "g-0-slow" in site.plane.names(CLIQUES, namespace), "the clique being made")
    site.plane.until(lambda: site.replicas(CLIQUES, namespace, "g-0-slow") == 3, "it being scaled")
    site.plane.ready(namespace)


def test_a_change_keeps_the_order_in_which_grove_holds_the_cliques(site: Site) -> None:
    namespace = _made(site, vllm("a", replicas=2), vllm("b"), vllm("c", multinode={"nodeCount": 2}), vllm("d", multinode={"nodeCount": 2}))
    changed = _graph(
        namespace,
        vllm("d", multinode={"nodeCount": 2}),
        vllm("b"),
        vllm("c", multinode={"nodeCount": 2}),
        vllm("a", main={"image": "img:2"}, replicas=3),
    )
    site.plane.plane.apply(changed)

    def template() -> Node:
        found: Node = site.plane.get(SETS, namespace, "g")["spec"]["template"]
        return found

    site.plane.until(lambda: "img:2" in str(template()), "the new image being passed on")
    assert [one["name"] for one in template()["cliques"]] == ["frontend", "a", "b", "c-ldr", "c-wkr", "d-ldr", "d-wkr"]
    assert [one["name"] for one in template()["podCliqueScalingGroups"]] == ["c", "d"]
    site.plane.until(lambda: site.replicas(CLIQUES, namespace, "g-0-a") == 3, "the clique being scaled")
    assert template()["cliques"][1]["spec"]["replicas"] == 2
    site.plane.ready(namespace)


def test_a_graph_is_ready_when_all_of_its_pods_are(site: Site) -> None:
    site.grove.ready |= {"g-0-big": 17, "g-0-huge": 1}
    namespace = site.plane.plane.namespace()
    site.plane.plane.apply(_graph(namespace, vllm("big", replicas=30), vllm("huge", replicas=2, multinode={"nodeCount": 2})))
    expected = "Resources not ready: pcsg/g-0-huge: desired=2, available=1; podclique/g-0-big: desired=30, ready=17"
    site.plane.until(lambda: site.message(namespace) == expected, "the missing pods being told")
    assert site.plane.get(SETS, namespace, "g")["status"]["availableReplicas"] == 1
    status = site.status(namespace)
    assert (status["state"], status["components"]) == (
        "pending",
        {
            "Frontend": _entry("PodClique", "g-0-frontend", 1, readyReplicas=1),
            "big": _entry("PodClique", "g-0-big", 30, readyReplicas=17),
            "huge": _entry("PodCliqueScalingGroup", "g-0-huge", 2, availableReplicas=1),
        },
    )
    site.grove.ready.clear()
    site.plane.ready(namespace)
    assert site.status(namespace)["components"]["big"]["readyReplicas"] == 30


def _entry(kind: str, name: str, replicas: int, **serving: int) -> Node:
    return {"componentKind": kind, "componentNames": [name], "replicas": replicas, "updatedReplicas": replicas, **serving}


def test_the_place_of_pods_is_told_as_grove_finds_it(site: Site) -> None:
    constraint = {"clusterTopologyName": "t", "packDomain": "rack"}
    namespace = _made(site, vllm("w"), topologyConstraint=constraint)

    def told(status: str, reason: str) -> bool:
        found = site.condition(namespace, "TopologyLevelsAvailable")
        return (found.get("status"), found.get("reason")) == (status, reason)

    site.plane.until(lambda: told("Unknown", "TopologyConditionPending"), "the place being waited for")
    for grove, ours in (
        (("False", "AllClusterTopologyLevelsAvailable"), ("True", "AllTopologyLevelsAvailable")),
        (("True", "ClusterTopologyLevelsUnavailable"), ("False", "TopologyLevelsUnavailable")),
        (("True", "ClusterTopologyNotFound"), ("False", "TopologyDefinitionNotFound")),
    ):
        site.grove.placed["g"] = {"status": grove[0], "reason": grove[1], "message": f"no {grove[1]}"}
        site.plane.until(lambda expected=ours: told(*expected), f"the condition being {ours}")  # type: ignore[misc]
    site.grove.placed.clear()
    events = site.plane.plane.request("GET", EVENTS.format(namespace)).body["items"]
    said = {one["reason"]: (one["type"], one["message"]) for one in events}
    lost = "Topology constraints no longer enforced: no"
    assert said["TopologyLevelsUnavailable"] == ("Warning", f"{lost} ClusterTopologyLevelsUnavailable")
    assert said["TopologyDefinitionNotFound"] == ("Warning", f"{lost} ClusterTopologyNotFound")


def _alpha(namespace: str, services: Node, **metadata: Any) -> Node:
    """A graph as the webhooks store what was written in v1alpha1."""
    made = {
        "apiVersion": f"{GROUP}/{ALPHA}",
        "kind": "DynamoGraphDeployment",
        "metadata": {"name": "g", "namespace": namespace, **metadata},
        "spec": {"services": services},
    }
    return convert_object(made, target(f"{GROUP}/{BETA}")).object


def _vllm(**more: Any) -> Node:
    main = {"image": "img:1", "command": ["python3", "-m", "dynamo.vllm"], "args": ["--model", "m"]}
    return {
        "componentType": "worker",
        "replicas": 1,
        "resources": {"limits": {"gpu": "1"}},
        "extraPodSpec": {"mainContainer": main},
        **more,
    }


def test_a_deprecated_dynamo_namespace_changes_no_labels_and_every_node_has_the_cache(site: Site) -> None:
    namespace = site.plane.plane.namespace()
    cached = {"volumeMounts": [{"name": "cache", "mountPoint": "/cache", "useAsCompilationCache": True}]}
    services = {"w": _vllm(dynamoNamespace="legacy", multinode={"nodeCount": 2}, **cached)}
    site.plane.plane.apply(_alpha(namespace, services))
    site.plane.ready(namespace)
    cliques = site.plane.get(SETS, namespace, "g")["spec"]["template"]["cliques"]
    selector = site.plane.get(SERVICES, namespace, "g-w")["spec"]["selector"]
    assert {one["labels"]["nvidia.com/dynamo-namespace"] for one in cliques} == {f"{namespace}-g"}
    assert selector["nvidia.com/dynamo-namespace"] == f"{namespace}-g"
    for clique in cliques:
        [main] = clique["spec"]["podSpec"]["containers"]
        assert {"name": "VLLM_CACHE_ROOT", "value": "/cache"} in main["env"], clique["name"]
        assert [one["value"] for one in main["env"] if one["name"] == "DYN_NAMESPACE"] == [f"{namespace}-g"]


@pytest.mark.parametrize("kind", ["default", "main"])
def test_a_component_of_a_type_that_only_v1alpha1_has_runs_on_both_pathways(site: Site, kind: str) -> None:
    service = {"componentType": kind, "replicas": 1, "extraPodSpec": {"mainContainer": {"image": "img:1"}}}
    for said in ({"nvidia.com/enable-grove": "false"}, {}):
        namespace = site.plane.plane.namespace()
        site.plane.plane.apply(_alpha(namespace, {"r": service}, annotations=said))
        site.plane.ready(namespace)
        selector = site.plane.get(SERVICES, namespace, "g-r")["spec"]["selector"]
        assert selector["nvidia.com/dynamo-component-type"] == kind
        if said:
            labels = site.plane.get(DEPLOYMENTS, namespace, "g-r")["spec"]["template"]["metadata"]["labels"]
        else:
            [clique] = site.plane.get(SETS, namespace, "g")["spec"]["template"]["cliques"]
            labels = clique["labels"]
        assert labels["nvidia.com/dynamo-component-type"] == kind


def test_pods_of_an_older_release_stay_selected_as_they_are(site: Site) -> None:
    namespace = _made(site, vllm("w", "decode"))
    path = "/spec/template/cliques/1/labels/nvidia.com~1dynamo-component-type"
    site.plane.patch(SETS, namespace, "g", [{"op": "replace", "path": path, "value": "worker"}], JSON_PATCH)

    def selected() -> str:
        return str(site.plane.get(SERVICES, namespace, "g-w")["spec"]["selector"]["nvidia.com/dynamo-component-type"])

    site.plane.until(lambda: selected() == "worker", "the Service following the pods")
    site.plane.ready(namespace)
    labels = site.plane.get(SETS, namespace, "g")["spec"]["template"]["cliques"][1]["labels"]
    assert (labels["nvidia.com/dynamo-component-type"], labels["nvidia.com/dynamo-sub-component-type"]) == ("worker", "decode")


def test_a_component_that_is_not_ready_does_not_hold_up_the_restart_of_others(site: Site) -> None:
    namespace = _made(site, vllm("broken"), vllm("w"))
    site.grove.ready["g-0-broken"] = 0
    site.plane.until(lambda: "podclique/g-0-broken: desired=1, ready=0" in site.message(namespace), "the broken component being told")
    restart = {"id": "r1", "strategy": {"type": "Sequential", "order": ["w", "Frontend", "broken"]}}
    site.plane.patch(GRAPHS, namespace, "g", [{"op": "add", "path": "/spec/restart", "value": restart}], JSON_PATCH)
    waiting = {"observedID": "r1", "phase": "Restarting", "inProgress": ["broken"]}
    site.plane.until(lambda: site.status(namespace).get("restart") == waiting, "the restart of the others being over")
    marks = {
        one["name"]: one.get("annotations", {}).get("nvidia.com/restartAt")
        for one in site.plane.get(SETS, namespace, "g")["spec"]["template"]["cliques"]
    }
    assert marks == {"frontend": "r1", "w": "r1", "broken": "r1"}
    site.grove.ready.clear()
    site.plane.ready(namespace)
    site.plane.until(lambda: site.status(namespace)["restart"]["phase"] == "Completed", "the restart being over")


def test_a_set_of_the_go_operator_is_taken_over_with_what_counts_for_its_pods(site: Site) -> None:
    namespace = site.plane.plane.namespace()
    site.plane.kill()
    site.plane.plane.apply(_graph(namespace, vllm("w", "decode", replicas=2)))
    made = site.plane.get(GRAPHS, namespace, "g")
    owner = {"apiVersion": made["apiVersion"], "kind": made["kind"], "name": "g", "uid": made["metadata"]["uid"], "controller": True}
    labels = {"nvidia.com/dynamo-graph-deployment-name": "g", "nvidia.com/dynamo-component": "w"}
    labels |= {"nvidia.com/dynamo-component-type": "worker", "nvidia.com/dynamo-sub-component-type": "decode"}
    theirs: list[Node] = [{"name": name, "spec": {"roleName": name, "replicas": 7, "minAvailable": 1}} for name in ("w", "frontend")]
    theirs[0] |= {"labels": labels, "annotations": {"nvidia.com/restartAt": "r0"}}
    theirs[1] |= {"labels": {"nvidia.com/dynamo-graph-deployment-name": "g", "nvidia.com/dynamo-component": "Frontend"}}
    foreign = {"apiVersion": "grove.io/v1alpha1", "kind": "PodCliqueSet", "metadata": {"name": "g", "ownerReferences": [owner]}}
    foreign["spec"] = {"replicas": 1, "template": {"cliques": theirs}}
    assert site.plane.plane.request("POST", SETS.format(namespace), foreign).status == 201
    site.plane.reconcile()
    site.plane.ready(namespace)
    cliques = site.plane.get(SETS, namespace, "g")["spec"]["template"]["cliques"]
    assert [(one["name"], one["spec"]["replicas"], "podSpec" in one["spec"]) for one in cliques] == [("w", 7, True), ("frontend", 7, True)]
    assert labels.items() <= cliques[0]["labels"].items()
    assert cliques[0]["annotations"]["nvidia.com/restartAt"] == "r0"
    assert (site.replicas(CLIQUES, namespace, "g-0-w"), site.replicas(CLIQUES, namespace, "g-0-frontend")) == (2, 1)
