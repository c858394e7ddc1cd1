"""How well a graph's pods are placed: the least score of its PodGangs, on lines whose definitions have the field."""

from dataclasses import replace
from typing import Any

import pytest

from dynamo_webhooks.api.line import Line
from dynamo_webhooks.api.schema import load_schema
from dynamo_webhooks.kube.protocol import Node
from dynamo_webhooks.reconciler.common.resources import MADE, OPTIONAL, POD_GANG
from dynamo_webhooks.reconciler.graph.clique_status import read_placement
from tests.reconciler.rendering import graph, vllm
from tests.reconciler.site import NAMESPACE, Site, settings

GANGS = next(one for one, _ in MADE["grove"] if one.kind == POD_GANG)
GROUPS = {"grove.io": frozenset({"v1alpha1"}), GANGS.group: frozenset({"v1alpha1"})}


def _gangs(*scores: float | None) -> list[Node]:
    return [{"kind": POD_GANG, "status": {} if one is None else {"placementScore": one}} for one in scores] + [{"kind": "PodClique"}]


@pytest.mark.parametrize(
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
@pytest.mark.parametrize("line", Line)
def test_the_least_score_counts_where_the_definition_has_the_field(below: list[Node] | None, placement: Node, line: Line) -> None:
    fields: Any = load_schema("DynamoGraphDeployment", "v1beta1", line)["properties"]["status"]["properties"]
    assert read_placement(line, below) == (placement if "placement" in fields else {})


def _site() -> Site:
    found = settings()
    return Site(replace(found, operator=replace(found.operator, version="1.5.0")))


def _gang(made: Node, name: str, phase: str, **status: Any) -> Node:
    owner = {name: made[name] for name in ("apiVersion", "kind")} | {name: made["metadata"][name] for name in ("name", "uid")}
    metadata = {"name": name, "namespace": NAMESPACE, "ownerReferences": [{**owner, "controller": True}]}
    return {"apiVersion": GANGS.api_version, "kind": POD_GANG, "metadata": metadata, "spec": {}, "status": {"phase": phase, **status}}


async def _placement(site: Site) -> Any:
    return (await site.graph())["status"].get("placement")


async def test_a_graph_on_grove_follows_the_scores_of_its_gangs() -> None:
    site = _site()
    for each in (site.cluster, site.user, site.kubelet):
        each.served.update(GROUPS)
    site.start()
    try:
        await site.later(40)
        await site.make(graph(vllm("w", main={"image": "img:1.5.0"}, replicas=1)))
        assert await _placement(site) == {"state": "Unknown"}
        made = await site.user.get(OPTIONAL["grove"], "g", NAMESPACE)
        assert made is not None
        await site.kubelet.create(GANGS, _gang(made, "g-0", "Running", placementScore=0.5), NAMESPACE)
        await site.kubelet.create(GANGS, _gang(made, "g-0-w-0", "Pending"), NAMESPACE)
        await site.rest()
        assert await _placement(site) == {"state": "Partial", "score": 0.5}
        await site.kubelet.merge_patch(GANGS, "g-0-w-0", {"status": {"placementScore": 0.25}}, NAMESPACE)
        await site.later(2)
        assert await _placement(site) == {"state": "Reported", "score": 0.25}
        writes = len(site.cluster.writes)
        await site.kubelet.merge_patch(GANGS, "g-0-w-0", {"status": {"phase": "Running"}}, NAMESPACE)
        await site.later(60)
        assert [one for one in site.cluster.writes[writes:] if one[1] != "leases"] == []
    finally:
        await site.stop()


async def test_a_graph_off_grove_has_no_score() -> None:
    site = _site()
    site.start()
    try:
        await site.make(graph(vllm("w", main={"image": "img:1.5.0"}, replicas=1)))
        assert await _placement(site) == {"state": "Unsupported"}
    finally:
        await site.stop()
