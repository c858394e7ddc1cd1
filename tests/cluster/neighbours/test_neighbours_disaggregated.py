"""A graph of operator 1.7 as a DisaggregatedSet, beside its real controller: it starts, scales, rolls all roles together and goes."""

from collections.abc import Iterator
from typing import Any, Final

import pytest

from dynamo_webhooks.api.line import Line
from dynamo_webhooks.reconciler.render.names import ENABLE_GROVE, WORKLOAD_PROVIDER
from tests.cluster.neighbours.neighbourhood import DISAGGREGATED, SETS, left_over, neighbourhood
from tests.cluster.planes import Planes
from tests.cluster.reconciling import GRAPHS, Reconciled
from tests.reconciler.rendering import component, graph, vllm

pytestmark = pytest.mark.cluster
Node = dict[str, Any]
OF_VERSION: Final[Node] = {"runtimeVersionOverride": "1.7.0"}
ASKED: Final = {ENABLE_GROVE: "false", "nvidia.com/enable-disaggregatedset": "true"}
SERVICES: Final = "/api/v1/namespaces/{}/services"
REVISION: Final = "disaggregatedset.x-k8s.io/revision"
NAME: Final = "llama-70b-disaggregated-serving"  # as long as a set's name may be


@pytest.fixture(scope="module")
def site(planes: Planes, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Reconciled]:
    with neighbourhood(planes, tmp_path_factory.mktemp("sets"), line=Line.V1_7) as started:
        yield started


def _graph(namespace: str) -> Node:
    frontend = component("Frontend", "frontend", {"image": "img:1"}, replicas=1, **OF_VERSION)
    prefill = vllm("prefill", "prefill", gpus="8", replicas=1, multinode={"nodeCount": 2}, **OF_VERSION)
    decode = vllm("decode", "decode", gpus="8", replicas=1, multinode={"nodeCount": 3}, **OF_VERSION)
    made = graph(frontend, prefill, decode, name=NAME, annotations=ASKED)
    made["metadata"]["namespace"] = namespace
    return made


def _ready(site: Reconciled, namespace: str) -> bool:
    return bool(site.condition(namespace, NAME).get("status") == "True")


def _uids(site: Reconciled, namespace: str) -> set[str]:
    """The pods of a namespace."""
    return {pod["metadata"]["uid"] for pod in site.plane.request("GET", f"/api/v1/namespaces/{namespace}/pods").body["items"]}


def _revisions(site: Reconciled, namespace: str) -> dict[str, str]:
    """The Services of roles, with the revision that each selects; the set's controller has others of its own."""
    selectors = {name: site.get(SERVICES, namespace, name)["spec"].get("selector") or {} for name in site.names(SERVICES, namespace)}
    return {name: selector[REVISION] for name, selector in selectors.items() if REVISION in selector and not name.endswith("-prv")}


def _change(site: Reconciled, namespace: str, change: Any) -> None:
    made = site.get(GRAPHS, namespace, NAME)
    change(made["spec"]["components"][2])
    path = f"{GRAPHS.format(namespace)}/{NAME}"
    reply = site.plane.request("PUT", path, made)
    assert reply.status == 200, reply.body


def test_a_graph_runs_as_a_set_scales_rolls_and_goes(site: Reconciled) -> None:
    """E32, E42, E43."""
    namespace = site.plane.namespace()
    site.plane.apply(_graph(namespace))
    site.until(lambda: _ready(site, namespace), "the graph being ready")
    status = site.get(GRAPHS, namespace, NAME)
    assert status["metadata"]["annotations"][WORKLOAD_PROVIDER] == "disaggregatedset"
    decode = status["status"]["components"]["decode"]
    assert (decode["componentKind"], decode["replicas"], decode["readyReplicas"]) == ("LeaderWorkerSet", 1, 1)
    assert len(site.names(SETS, namespace)) == 2
    first = _revisions(site, namespace)
    assert len(first) == 2
    pods = _uids(site, namespace)

    _change(site, namespace, lambda role: role.update(replicas=2))
    site.until(lambda: site.get(GRAPHS, namespace, NAME)["status"]["components"]["decode"].get("readyReplicas") == 2, "two replicas")
    site.until(lambda: _ready(site, namespace), "the graph being ready with two replicas")
    assert pods < _uids(site, namespace)  # no pod was made anew
    assert _revisions(site, namespace) == first

    _change(site, namespace, lambda role: role["podTemplate"]["spec"]["containers"][0].update(image="img:2"))
    site.until(lambda: not _ready(site, namespace), "the roll being seen")
    site.until(lambda: _ready(site, namespace) and len(_revisions(site, namespace)) == 2, "the graph being ready after the roll")
    then = _revisions(site, namespace)
    assert {*then}.isdisjoint(first)
    assert {*then.values()}.isdisjoint(first.values())

    assert site.plane.request("DELETE", f"{GRAPHS.format(namespace)}/{NAME}").status == 200
    site.until(lambda: not left_over(site, namespace), "everything being collected")


def test_a_graph_that_no_set_can_run_says_so(site: Reconciled) -> None:
    """E34: the webhooks accept it, its condition tells."""
    namespace = site.plane.namespace()
    made = _graph(namespace)
    del made["spec"]["components"][2]
    site.plane.apply(made)
    site.until(lambda: site.condition(namespace, NAME).get("reason") == "disaggregated_set_intent_unsupported", "the graph saying why")
    assert site.names(DISAGGREGATED, namespace) == set()
