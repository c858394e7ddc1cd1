"""Components whose replicas span several nodes: what each framework is told, and what can't be made."""

from typing import Any

import pytest

from dynamo_webhooks.reconciler.render.component import set_name
from dynamo_webhooks.reconciler.render.multinode.gpus import count_gpus_per_node
from dynamo_webhooks.reconciler.render.multinode.role import MAX_NODES
from dynamo_webhooks.reconciler.render.multinode.vllm import uses_processes
from dynamo_webhooks.reconciler.render.names import ORIGIN_VERSION, VLLM_EXECUTOR
from tests.reconciler.rendering import alpha, children, component, env_of, graph, rendered, vllm
from tests.rows import run_each

Fields = dict[str, Any]
WIDE = ("--tensor-parallel-size", "16")
PROBES = {"livenessProbe", "readinessProbe", "startupProbe"}


def _templates(obj: Fields) -> tuple[Fields, Fields]:
    """The pods of leader and worker of the only set."""
    template = children(obj, lws=True)["LeaderWorkerSet g-w-0"]["spec"]["leaderWorkerTemplate"]
    return template["leaderTemplate"], template["workerTemplate"]


def _containers(obj: Fields) -> tuple[Fields, Fields]:
    leader, worker = _templates(obj)
    return leader["spec"]["containers"][0], worker["spec"]["containers"][0]


def _wide(*args: str, nodes: int = 2, gpus: str = "8", **fields: Any) -> Fields:
    return vllm("w", gpus=gpus, args=args, multinode={"nodeCount": nodes}, **fields)


@pytest.fixture(autouse=True)
def _plain_names(monkeypatch: pytest.MonkeyPatch) -> None:
    """Sets are called by the generation in the middle of their name; here it is left out."""
    monkeypatch.setattr("dynamo_webhooks.reconciler.render.names.component_name", lambda graph, name, _="": f"{graph}-{name.lower()}")


@run_each(
    ("hints", "processes"),
    [
        ({}, False),
        ({ORIGIN_VERSION: "1.0.0"}, True),
        ({ORIGIN_VERSION: "v1.0.0+build"}, True),
        ({ORIGIN_VERSION: "1.0.0-rc1"}, False),
        ({ORIGIN_VERSION: "1.0.1-rc1"}, True),
        ({ORIGIN_VERSION: "0.9.9"}, False),
        ({ORIGIN_VERSION: "10.0.0"}, True),
        ({ORIGIN_VERSION: "latest"}, False),
        ({ORIGIN_VERSION: "1.2.0", VLLM_EXECUTOR: "RAY"}, False),
        ({ORIGIN_VERSION: "0.1.0", VLLM_EXECUTOR: "Mp"}, True),
        ({ORIGIN_VERSION: "1.2.0", VLLM_EXECUTOR: "other"}, True),
    ],
)
def test_nodes_are_joined_by_processes_since_1_0_or_as_said(hints: dict[str, str], *, processes: bool) -> None:
    assert uses_processes(hints) is processes


@run_each(
    ("resources", "count"),
    [
        ({}, 0),
        ({"limits": {"nvidia.com/gpu": "8"}}, 8),
        ({"limits": {"nvidia.com/gpu": "8"}, "requests": {"nvidia.com/gpu": 4}}, 4),
        ({"limits": {"amd.com/gpu": "2", "nvidia.com/gpu": "8"}}, 8),
        ({"limits": {"nvidia.com/mig-1g.5gb": "3"}}, 3),
        ({"limits": {"gpu": "1", "cpu": "64"}}, 1),
        ({"limits": {"cpu": "64", "memory": "1Gi"}}, 0),
        ({"limits": {"nvidia.com/gpu": "500m"}}, 0),
        ({"limits": {"nvidia.com/gpu": "x"}}, 0),
    ],
)
def test_gpus_of_a_node(resources: Fields, count: int) -> None:
    assert count_gpus_per_node({"resources": resources}) == count


def test_without_gpus_in_the_request_nothing_is_decided() -> None:
    """Grove takes what a LeaderWorkerSet refuses: a worker whose GPUs nobody counts."""
    cliques = children(graph(_wide(*WIDE, gpus="0")), grove=True)["PodCliqueSet g"]["spec"]["template"]["cliques"]
    assert [clique["spec"]["podSpec"]["containers"][0]["args"] for clique in cliques] == [["--model", "m", *WIDE]] * 2


def test_an_annotation_of_a_v1alpha1_service_chooses_ray() -> None:
    main = {"image": "i", "command": ["python3", "-m", "dynamo.vllm"], "args": [*WIDE]}
    service = {"annotations": {VLLM_EXECUTOR: "ray"}, "multinode": {"nodeCount": 2}, "resources": {"limits": {"gpu": "8"}}}
    obj = alpha("w", "worker", **service, extraPodSpec={"mainContainer": main})
    leader, worker = _containers(obj)
    assert leader["args"][0].startswith("ray start --head --port=6379 && python3 -m dynamo.vllm")
    assert worker["args"] == ["ray start --address=$(LWS_LEADER_ADDRESS):6379 --block"]
    assert "VLLM_NIXL_SIDE_CHANNEL_HOST" not in env_of(leader)


def test_a_component_without_framework_keeps_probes_on_all_nodes() -> None:
    main = {"command": ["x"], "resources": {"limits": {"nvidia.com/gpu": "1"}}}
    leader, worker = _containers(graph(component("w", "worker", main, multinode={"nodeCount": 3})))
    assert leader == worker
    assert worker.keys() >= PROBES


@run_each("length", [47, 48, 49, 55])
def test_a_set_has_a_name_that_its_workers_can_carry(length: int) -> None:
    """Their StatefulSet, named after the set and an index of a group, labels them with its name, a dash and ten characters."""
    component = "g" * length
    name = set_name(component)
    assert len(f"{name}-0-0123456789") <= 63
    assert (name == f"{component}-0") == (length <= 48)
    assert name != set_name(component + "g")


def test_the_graph_may_live_where_the_keys_do() -> None:
    done = rendered(graph(_wide()), lws=True, ssh_secret_namespace="demo")  # noqa: S106 - the name of a namespace
    assert len([child for child in done.children if child["kind"] == "Secret"]) == 1


@run_each(
    ("off", "text"),
    [
        (set(), ", or Grove, to span several nodes; the cluster serves neither"),
        ({"lws"}, " to span several nodes, which are switched off in the operator; the cluster does not serve Grove"),
        ({"grove"}, " to span several nodes, which the cluster does not serve; Grove is switched off in the operator"),
        ({"grove", "lws"}, " to span several nodes, which are switched off in the operator; Grove is switched off in the operator"),
    ],
)
def test_without_an_orchestrator_the_component_is_a_problem_and_the_rest_is_made(off: set[str], text: str) -> None:
    done = rendered(graph(_wide(), component("fe", "frontend")), switched_off=frozenset(off))
    assert [str(fault) for fault in done.problems] == [f"spec.components[0].multinode: needs LeaderWorkerSets together with Volcano{text}"]
    assert [child["metadata"]["name"] for child in done.children if child["kind"] == "Deployment"] == ["g-fe"]


def test_where_grove_is_there_but_not_for_the_component_it_is_told_why() -> None:
    start = "multinode: needs LeaderWorkerSets together with Volcano to span several nodes, which the cluster does not serve; "
    kept = rendered(graph(_wide(), annotations={"nvidia.com/enable-grove": "false"}), grove=True)
    assert [str(problem) for problem in kept.problems] == [
        f"spec.components[0].{start}the annotation nvidia.com/enable-grove keeps the graph from Grove"
    ]
    metadata = {"name": "w", "namespace": "demo"}
    alone = {"apiVersion": "nvidia.com/v1beta1", "kind": "DynamoComponentDeployment", "metadata": metadata, "spec": _wide()}
    assert [str(problem) for problem in rendered(alone, grove=True).problems] == [f"spec.{start}Grove runs whole graphs only"]


@run_each(
    ("worker", "text"),
    [
        (_wide(gpus="0"), "podTemplate.spec.containers[0].resources.limits.nvidia.com/gpu: must be more than 0"),
        (component("w", "worker", multinode={"nodeCount": 2}), "podTemplate.spec.containers[0]: must have a container main with command"),
        (_wide(nodes=MAX_NODES + 1), f"multinode.nodeCount: must be at most {MAX_NODES}"),
        (_wide(nodes=2**31 - 1), f"multinode.nodeCount: must be at most {MAX_NODES}"),
    ],
    ids=["no GPUs", "no command", "too many", "far too many"],
)
def test_what_a_leader_worker_set_can_not_run_is_a_problem(worker: Fields, text: str) -> None:
    done = rendered(graph(worker), lws=True)
    assert len(done.problems) == 1
    assert text in str(done.problems[0])


def test_engines_are_not_doubled_in_a_leader_worker_set() -> None:
    worker = _wide(*WIDE, experimental={"gpuMemoryService": {}, "failover": {}})
    done = rendered(graph(worker, annotations={"nvidia.com/dynamo-kube-discovery-mode": "container"}), lws=True)
    assert "must not double the engine" in str(done.problems[0])


@run_each(
    ("command", "args", "started"),
    [
        (["python3", "-m", "dynamo.trtllm"], ["--x", "it's"], """trtllm-llmapi-launch python3 -m dynamo.trtllm --x "it'"'"'s"'"""),
        (["/bin/sh", "-c"], ["python3 -m dynamo.trtllm --x 1"], "trtllm-llmapi-launch python3 -m dynamo.trtllm --x 1'"),
        (["run", "dynamo"], [], "trtllm-llmapi-launch run dynamo'"),
    ],
)
def test_mpi_starts_what_the_user_wrote(command: list[str], args: list[str], started: str) -> None:
    main = {"command": command, "args": args, "resources": {"limits": {"nvidia.com/gpu": "8"}}, "env": [{"name": "MINE", "value": "1"}]}
    leader, worker = _containers(graph(component("w", "worker", main, multinode={"nodeCount": 2}), backendFramework="trtllm"))
    line = leader["args"][0]
    assert line.endswith(f" -x USER bash -c '{started}")
    assert " -n 16 -H $(LWS_LEADER_ADDRESS),$(echo" in line
    assert " -x MINE " in line
    assert worker["readinessProbe"]["tcpSocket"] == {"port": 2222}
    assert {"livenessProbe", "startupProbe"}.isdisjoint(worker)
