"""What Grove says of a graph: progress of rolls and restarts is that of the cliques, since a set is observed only at the end."""

from typing import Any, Final

from dynamo_webhooks.api.line import Line
from dynamo_webhooks.api.schema import load_schema
from dynamo_webhooks.kube.protocol import Node
from dynamo_webhooks.reconciler.common.resources import CLIQUE_SETS, POD_GANG, POD_GANGS
from dynamo_webhooks.reconciler.graph.clique_status import observe_on_grove, read_grove_status, read_placement
from dynamo_webhooks.reconciler.render.generation import list_restart_marks
from dynamo_webhooks.reconciler.render.graph import Graph, read_graph
from dynamo_webhooks.reconciler.render.objects import make_reference
from tests.reconciler.rendering import graph, stored, vllm
from tests.reconciler.site import NAMESPACE, Site, running
from tests.rows import run_each

ASKED: Final = "r1"


def _graph(kind: str = "Sequential") -> Graph:
    restart = {"id": ASKED, "strategy": {"type": kind, "order": ["b", "a", "c"]}}
    return read_graph(stored(graph(*(vllm(name, replicas=2) for name in "abc"), restart=restart)), line=Line.V1_2)


def _set(**marks: str) -> Node:
    """A set that is being rolled, with the marks of its components."""
    cliques = [
        {
            "name": name,
            "labels": {"nvidia.com/dynamo-component": name},
            "annotations": {"nvidia.com/restartAt": marks[name]} if name in marks else {},
        }
        for name in "abc"
    ]
    status = {"observedGeneration": 1, "updatedReplicas": 0}
    return {
        "kind": "PodCliqueSet",
        "metadata": {"name": "g", "generation": 2},
        "spec": {"replicas": 1, "template": {"cliques": cliques}},
        "status": status,
    }


def _clique(name: str, mark: str = "", *, wanted: str | None = "new", current: str | None = "new", updated: int = 2) -> Node:
    labels = {"nvidia.com/dynamo-component": name} | ({"grove.io/pod-template-hash": wanted} if wanted else {})
    metadata = {"name": f"g-0-{name}", "generation": 1, "labels": labels, "annotations": {"nvidia.com/restartAt": mark} if mark else {}}
    status: Node = {"observedGeneration": 1, "replicas": 2, "updatedReplicas": updated, "readyReplicas": 2}
    status |= {"currentPodTemplateHash": current} if current else {}
    return {"kind": "PodClique", "metadata": metadata, "spec": {"replicas": 2}, "status": status}


@run_each(
    ("cliques", "text"),
    [
        ([_clique("a"), _clique("b", updated=1), _clique("c", current="old")], "performing rolling update: 1 of 3 podcliques are updated"),
        ([_clique("a"), _clique("b"), _clique("c")], "spec not yet processed: generation=2, observedGeneration=1"),
        ([_clique(name, wanted=None, current=None) for name in "abc"], "spec not yet processed: generation=2, observedGeneration=1"),
    ],
)
def test_a_roll_is_reported_by_cliques_that_are_updated(cliques: list[Node], text: str) -> None:
    assert read_grove_status(_graph(), _set(), cliques, line=Line.V1_2).waiting_reasons["g"] == text


def test_a_set_that_has_never_been_observed_does_not_roll() -> None:
    made = _set()
    del made["status"]
    assert read_grove_status(_graph(), made, [_clique("a", updated=0)], line=Line.V1_2).waiting_reasons["g"] == "observedGeneration is nil"


def test_replicas_with_nodes_are_counted_where_grove_counts_them() -> None:
    made, counted = _set(), _clique("a")
    for clique in made["spec"]["template"]["cliques"]:
        env = [{"name": "DYN_NAMESPACE", "value": f"demo-{clique['name']}"}]
        clique["spec"] = {"podSpec": {"containers": [{"name": "main", "env": env}]}}
    counted["status"]["scheduledReplicas"] = 0
    figures = read_grove_status(_graph(), made, [counted, _clique("b")], Line.V1_4).figures
    assert [(entry["runtimeNamespace"], entry.get("scheduledReplicas")) for entry in figures.values()] == [("demo-a", 0), ("demo-b", None)]
    assert {*read_grove_status(_graph(), made, [counted], line=Line.V1_2).figures["a"]}.isdisjoint(
        {"runtimeNamespace", "scheduledReplicas"}
    )


@run_each(
    ("kind", "cliques", "restarted"),
    [
        # its template is Grove's, not yet its pods'
        ("Sequential", [_clique("b", ASKED, current="old")], set()),
        ("Sequential", [_clique("b", "r0")], set()),
        ("Sequential", [_clique("b", ASKED, updated=1)], set()),
        # what Grove doesn't tell of is over when the set is
        ("Sequential", [_clique("b", ASKED, wanted=None, current=None)], set()),
        ("Sequential", [_clique("b", ASKED)], {"b"}),
        ("Parallel", [_clique("a", ASKED, current="old"), _clique("b", ASKED), _clique("c", ASKED)], {"b", "c"}),
    ],
)
def test_a_component_has_restarted_when_its_cliques_are_updated(kind: str, cliques: list[Node], restarted: set[str]) -> None:
    obj = _graph(kind)
    marks = {clique["metadata"]["labels"]["nvidia.com/dynamo-component"]: ASKED for clique in cliques}
    observed = observe_on_grove(obj, [_set(**marks)], cliques)
    assert observed.restarted == restarted
    assert list_restart_marks(obj, observed) == {**marks, **({"a": ASKED} if restarted == {"b"} else {})}


def test_a_component_whose_successor_restarts_has_restarted_though_grove_tells_of_no_templates() -> None:
    cliques = [_clique(name, ASKED, wanted=None, current=None) for name in "ab"]
    observed = observe_on_grove(_graph(), [_set(a=ASKED, b=ASKED)], cliques)
    assert observed.restarted == {"b"}


GANGS = POD_GANGS
SERVED = {"grove.io": frozenset({"v1alpha1"}), GANGS.group: frozenset({"v1alpha1"})}


def _gangs(*scores: float | None) -> list[Node]:
    return [{"kind": POD_GANG, "status": {} if score is None else {"placementScore": score}} for score in scores] + [{"kind": "PodClique"}]


@run_each(
    ("below", "placement"),
    [
        (None, {"state": "Unsupported"}),
        ([], {"state": "Unknown"}),
        (_gangs(None), {"state": "Unknown"}),
        (_gangs(0.75), {"state": "Reported", "score": 0.75}),
        (_gangs(1, 0.5), {"state": "Reported", "score": 0.5}),
        (_gangs(1, None), {"state": "Partial", "score": 1}),
        (_gangs(7), {"state": "Reported", "score": 1}),
    ],
)
@run_each("line", Line)
def test_the_least_score_counts_where_the_definition_has_the_field(below: list[Node] | None, placement: Node, line: Line) -> None:
    fields: Any = load_schema("DynamoGraphDeployment", "v1beta1", line)["properties"]["status"]["properties"]
    assert read_placement(line, below) == (placement if "placement" in fields else {})


def _gang(made: Node, name: str, phase: str, **status: Any) -> Node:
    metadata = {"name": name, "namespace": NAMESPACE, "ownerReferences": [make_reference(made)]}
    return {"apiVersion": GANGS.api_version, "kind": POD_GANG, "metadata": metadata, "spec": {}, "status": {"phase": phase, **status}}


async def _placement(site: Site) -> Any:
    return (await site.graph())["status"].get("placement")


async def test_a_graph_on_grove_follows_the_scores_of_its_gangs() -> None:
    async with running(version="1.5.0", served=SERVED) as site:
        await site.later(40)
        await site.make(graph(vllm("w", main={"image": "img:1.5.0"}, replicas=1)))
        assert await _placement(site) == {"state": "Unknown"}
        made = await site.get(CLIQUE_SETS, "g")
        await site.kubelet.create(GANGS, _gang(made, "g-0", "Running", placementScore=0.5), NAMESPACE)
        await site.create(GANGS, _gang(made, "g-0-w-0", "Pending"))
        assert await _placement(site) == {"state": "Partial", "score": 0.5}
        await site.report(GANGS, "g-0-w-0", {"placementScore": 0.25}, 2)
        assert await _placement(site) == {"state": "Reported", "score": 0.25}
        writes = len(site.cluster.writes)
        await site.report(GANGS, "g-0-w-0", {"phase": "Running"}, 60)
        assert [write for write in site.cluster.writes[writes:] if write[1] != "leases"] == []


async def test_a_graph_off_grove_has_no_score() -> None:
    async with running(graph(vllm("w", main={"image": "img:1.5.0"}, replicas=1)), version="1.5.0") as site:
        assert await _placement(site) == {"state": "Unsupported"}
