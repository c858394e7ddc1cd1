"""Generations of workers: what makes a new one, the steps from one to the next, and which components carry the mark of a restart."""

from typing import Any

from dynamo_webhooks.api.line import Line
from dynamo_webhooks.reconciler.render.children import compute_worker_hash
from dynamo_webhooks.reconciler.render.generation import RollSizes, count_held_back, list_restart_marks, next_sizes, order, share
from dynamo_webhooks.reconciler.render.graph import Graph, read_graph
from dynamo_webhooks.reconciler.render.observed import NOTHING, ObservedState
from tests.reconciler.rendering import children, component, graph, stored, vllm
from tests.rows import run_each

Fields = dict[str, Any]


def _hash(obj: Fields, line: Line = Line.V1_2) -> str:
    return compute_worker_hash(read_graph(stored(obj), line), line)


def _graph(**worker: Any) -> Fields:
    return graph(vllm(**worker), component("fe", "frontend"))


BASE = _hash(_graph())

ROLLING: dict[str, Fields] = {
    "arguments": _graph(args=("--x",)),
    "image": _graph(main={"image": "img:2"}),
    "GPUs": _graph(gpus="2"),
    "sidecar": _graph(pod={"containers": [{"name": "s", "image": "s:1"}]}),
    "pod label": _graph(podTemplate={"metadata": {"labels": {"a": "b"}}}),
    "graph variable": {**_graph(), "spec": {**_graph()["spec"], "env": [{"name": "A", "value": "b"}]}},
    "graph label": {**_graph(), "spec": {**_graph()["spec"], "labels": {"a": "b"}}},
    "model": _graph(modelRef={"name": "m"}),
    "discovery": graph(vllm(), component("fe", "frontend"), annotations={"nvidia.com/dynamo-discovery-backend": "etcd"}),
    "another worker": graph(vllm(), vllm("second"), component("fe", "frontend")),
}
QUIET: dict[str, Fields] = {
    "replicas": _graph(replicas=7),
    "adapter": _graph(scalingAdapter={}),
    "frontend": graph(vllm(), component("fe", "frontend", {"image": "fe:2"})),
    "order": graph(component("fe", "frontend"), vllm()),
    "restart": {**_graph(), "spec": {**_graph()["spec"], "restart": {"id": "r1"}}},
    "name of pods": _graph(podTemplate={"metadata": {"name": "n", "namespace": "n", "finalizers": ["a/b"]}}),
    "topology off Grove": _graph(topologyConstraint={"packDomain": "rack"}),
    "annotation of the graph": graph(vllm(), component("fe", "frontend"), annotations={"team": "a"}),
}


@run_each("what", ROLLING)
def test_a_change_of_what_workers_run_makes_a_new_generation(what: str) -> None:
    assert _hash(ROLLING[what]) != BASE


@run_each("what", QUIET)
def test_a_change_of_anything_else_keeps_the_generation(what: str) -> None:
    assert _hash(QUIET[what]) == BASE


def test_a_revision_and_the_pod_that_takes_a_checkpoint_keep_the_generation() -> None:
    assert _hash(_graph(modelRef={"name": "m", "revision": "r"})) == _hash(ROLLING["model"])
    block = {"enabled": True, "identity": {"model": "m", "backendFramework": "vllm"}}
    job = {"mode": "Manual", "job": {"podTemplate": {"metadata": {"labels": {"a": "b"}}}}}
    with_job, without = ({**_graph(experimental={"checkpoint": fields})} for fields in (block | job, block))
    assert _hash(with_job) == _hash(without) != BASE


def test_the_generation_of_a_graph_never_changes_between_releases() -> None:
    """Another value here means that an upgrade restarts every worker of every graph: don't adapt it, find out why."""
    assert BASE == "789e610f"


def test_workers_carry_their_generation_and_others_none() -> None:
    made = children(_graph())
    assert made["Deployment g-worker"]["metadata"]["name"] == f"g-worker-{BASE}"
    assert made["Deployment g-fe"]["metadata"]["name"] == "g-fe"
    assert "nvidia.com/dynamo-worker-hash" not in made["Deployment g-fe"]["metadata"]["labels"]


@run_each(
    ("sizes", "surge", "unavailable", "targets"),
    [
        # desired, old, old available, new, new available -> old, new
        ((4, 4, 4, 0, 0), "", "", (3, 1)),
        ((4, 3, 3, 1, 0), "", "", (3, 2)),
        ((4, 3, 3, 2, 1), "", "", (2, 2)),
        ((4, 2, 2, 2, 2), "", "", (1, 3)),
        ((4, 1, 1, 3, 2), "", "", (1, 4)),
        ((4, 1, 1, 4, 3), "", "", (0, 4)),
        ((4, 0, 0, 4, 4), "", "", (0, 4)),
        # old pods that never came up go at once
        ((4, 3, 0, 3, 3), "0", "1", (0, 3)),
        ((4, 3, 3, 3, 3), "0", "1", (0, 3)),
        ((4, 3, 3, 3, 0), "0", "1", (3, 3)),
        # a roll that may neither add nor remove adds one
        ((2, 2, 2, 0, 0), "0", "0", (2, 1)),
        ((2, 2, 2, 0, 0), "0%", "0%", (2, 1)),
    ],
)
def test_a_roll_goes_step_by_step(sizes: tuple[int, ...], surge: str, unavailable: str, targets: tuple[int, int]) -> None:
    assert next_sizes(RollSizes(*sizes), surge, unavailable) == targets


@run_each("desired", range(9))
@run_each(("surge", "unavailable"), [("", ""), ("1", "0"), ("0", "1"), ("100%", "0"), ("3", "50%")])
def test_a_roll_ends_and_never_has_too_few(desired: int, surge: str, unavailable: str) -> None:
    """Pods that are asked for come up one step later; every step keeps what may be missing, and few steps are enough."""
    old, new, coming = desired, 0, 0
    missing = int(unavailable) if unavailable.isdigit() else desired * int((unavailable or "25%").rstrip("%")) // 100
    for _ in range(40):
        if (old, new) == (0, desired):
            return
        next_old, next_new = next_sizes(RollSizes(desired, old, old, new, new - coming), surge, unavailable)
        assert next_old + new - coming >= desired - missing
        old, coming, new = next_old, max(0, next_new - new), next_new
    raise AssertionError((old, new))


@run_each("desired", [(1, 1), (1, 4), (4, 1), (2, 3), (8, 5, 3), (2, 0)])
@run_each(("surge", "unavailable"), [("", ""), ("1", "0"), ("0", "1"), ("100%", "0"), ("3", "50%"), ("0", "50%")])
@run_each("broken", [True, False])
def test_components_roll_together(desired: tuple[int, ...], surge: str, unavailable: str, broken: bool) -> None:
    """Of each component something serves in one generation at every step; with a `broken` first component the old one stays."""
    old, new, ready = [*desired], [0] * len(desired), [0] * len(desired)
    needed = [index for index, count in enumerate(desired) if count]
    for step in range(60):
        sizes = {str(index): RollSizes(count, old[index], old[index], new[index], ready[index]) for index, count in enumerate(desired)}
        targets = {name: next_sizes(roll, surge, unavailable) for name, roll in sizes.items()}
        held = {name: count_held_back(name, sizes, surge, unavailable) for name in sizes}
        old = [max(targets[str(index)][0], held[str(index)]) for index in range(len(desired))]
        new = [targets[str(index)][1] for index in range(len(desired))]
        if surge != "0":
            assert all(old[index] for index in needed) or all(ready[index] for index in needed), (step, old, ready)
        if (sum(old), new) == (0, [*desired]):
            break
        ready = [0 if broken and index == 0 else new[index] for index in range(len(desired))]
    assert sum(old) == 0 or broken


@run_each(
    ("text", "value"),
    [
        ("2", 2),
        ("0", 0),
        (" 3 ", 3),
        ("50%", "50%"),
        ("", "25%"),
        ("-1", "25%"),
        ("x%", "25%"),
        ("1.5", "25%"),
        ("٣", "25%"),
        ("9" * 30, "25%"),
    ],
)
def test_a_share_is_a_number_a_percentage_or_the_default(text: str, value: int | str) -> None:
    assert share(text) == value


def _restarting(status: dict[str, Any] | None = None, **restart: Any) -> Graph:
    components = (component(name, "frontend") for name in ("b", "a", "c"))
    obj = graph(*components)
    if restart:
        obj["spec"]["restart"] = restart
    return read_graph({**stored(obj), **({"status": {"restart": status}} if status else {})}, line=Line.V1_2)


ASKED = _restarting(id="r")
IN_ORDER = _restarting(id="r", strategy={"type": "Sequential", "order": ["c", "a", "b"]})
OLD = {"a": "old"}


@run_each(
    ("wanted", "observed", "marks"),
    [
        (_restarting(), NOTHING, {}),
        (ASKED, NOTHING, {"a": "r"}),
        (ASKED, ObservedState(restart_at={"a": "r"}, restarted=frozenset("a")), {"a": "r", "b": "r"}),
        (ASKED, ObservedState(restarted=frozenset("abc")), dict.fromkeys("abc", "r")),
        (IN_ORDER, ObservedState(restarted=frozenset("c")), {"c": "r", "a": "r"}),
        # a mark stays when the request is gone
        (_restarting(), ObservedState(restart_at=OLD), OLD),
        # no restart begins during a roll
        (ASKED, ObservedState(restart_at=OLD, rolling=True), OLD),
        (_restarting({"observedID": "r", "phase": "Superseded"}, id="r"), NOTHING, {}),
        (_restarting({"observedID": "r", "phase": "Completed"}, id="r"), NOTHING, dict.fromkeys("abc", "r")),
    ],
)
def test_components_restart_one_by_one_in_the_order_of_names_or_that_is_said(wanted: Graph, observed: ObservedState, marks: Fields) -> None:
    assert list_restart_marks(wanted, observed) == marks
    assert order(ASKED) == ["a", "b", "c"]
