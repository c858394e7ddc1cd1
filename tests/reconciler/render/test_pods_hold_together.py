"""What an API server asks of every pod holds for all that is rendered: names once, mounts with volumes, probes with one handler."""

import itertools
import json
import re
from collections.abc import Iterator, Sequence
from typing import Any

from dynamo_webhooks.api.line import Line
from dynamo_webhooks.api.paths import format_path
from dynamo_webhooks.api.schema import load_definitions
from dynamo_webhooks.api.walk.correlate import list_errors
from dynamo_webhooks.conversion.objects import convert_object, target
from dynamo_webhooks.policies.pods import list_template_mistakes
from dynamo_webhooks.reconciler.render.children import render
from dynamo_webhooks.reconciler.render.names import ORIGIN_VERSION, VLLM_EXECUTOR
from dynamo_webhooks.reconciler.render.settings import Settings
from tests.laws.dice import Dice
from tests.reconciler.render.golden import load_case, names, render_case
from tests.reconciler.rendering import component, walk
from tests.reconciler.rendering import graph as make_graph
from tests.rows import run_each

Fields = dict[str, Any]
POD = load_definitions()["io.k8s.api.core.v1.PodSpec"]
COMBINATIONS = 240  # each takes some ten milliseconds
ORCHESTRATORS: tuple[Fields, ...] = ({}, {"lws": True}, {"grove": True}, {"grove": True, "kai": True, "discovery": "etcd"})
COMMANDS: tuple[tuple[list[str], list[str]], ...] = (
    (["python3", "-m", "dynamo.FRAMEWORK"], ["--model", "m's"]),
    (["/bin/sh", "-c"], ["cd /x && python3 -m dynamo.FRAMEWORK --model m | tee /log"]),
    ([], ["python3 -m dynamo.FRAMEWORK"]),
    (["run"], []),
)
FLAGS: tuple[tuple[str, ...], ...] = (
    (),
    ("--tensor-parallel-size", "16"),
    ("--data-parallel-size", "16", "--tensor-parallel-size", "2"),
    ("--enable-elastic-ep",),
    ("--distributed-executor-backend", "mp", "--master-port", "1"),
    ("--load-format", "x"),
)
EXPERIMENTS: tuple[Fields, ...] = (
    {},
    {"gpuMemoryService": {}},
    {"gpuMemoryService": {}, "failover": {}},
    {"gpuMemoryService": {"mode": "InterPod"}},
    {"gpuMemoryService": {"mode": "InterPod"}, "failover": {"mode": "InterPod", "numShadows": 1}},
)
MARKS: tuple[Fields, ...] = ({}, {ORIGIN_VERSION: "1.2.0"}, {ORIGIN_VERSION: "1.2.0", VLLM_EXECUTOR: "ray"})
EXTRAS: tuple[Fields, ...] = (
    {},
    {"volumes": [{"name": name, "emptyDir": {}} for name in ("shared-memory", "wait-leader-script", "gms-shared", "mpi-run-ssh-secret")]},
    {"initContainers": [{"name": "mine", "image": "i"}], "containers": [{"name": "side", "image": "i"}]},
)


def _faults(spec: Fields) -> Iterator[str]:
    yield from (f"{format_path(path)}: {wrong}" for path, wrong in list_template_mistakes({"spec": spec}, frozenset()))
    yield from (f"{error.field}: {error.message}" for error in list_errors(spec, POD))
    yield from (f"$$ in {text[:60]!r}" for text in re.findall(r'"[^"]*\$\$[^"]*"', json.dumps(spec)))  # Kubernetes would take one away


def _all_faults(children: list[Fields]) -> list[str]:
    pods = [(child, pod) for child in children for pod in walk(child) if isinstance(pod.get("containers"), list) and "restartPolicy" in pod]
    return [f"{child['kind']} {child['metadata']['name']}: {fault}" for child, spec in pods for fault in _faults(spec)]


@run_each("name", names())
def test_pods_of_golden_cases_hold_together(name: str) -> None:
    assert _all_faults([child for child in render_case(load_case(name)).children if child["kind"] != "DynamoComponentDeployment"]) == []


def _one(draw: Dice, options: Sequence[Any]) -> Any:
    return options[draw(len(options))]


def _worker(number: int) -> Fields:
    draw = Dice("pods", number)
    command, args = _one(draw, COMMANDS)
    framework = _one(draw, ["vllm", "sglang", "trtllm"])
    main = {
        "image": "i",
        "command": [word.replace("FRAMEWORK", framework) for word in command],
        "args": [word.replace("FRAMEWORK", framework) for word in [*args, *_one(draw, FLAGS)]],
        "resources": {"limits": {"nvidia.com/gpu": "8"}},
        "env": [{"name": name, "value": "mine"} for name in ("GMS_SOCKET_DIR", "ENGINE_ID", "VLLM_NIXL_SIDE_CHANNEL_HOST")],
    }
    nodes, experiment = _one(draw, [1, 2, 3]), _one(draw, EXPERIMENTS)
    fields: Fields = {"multinode": {"nodeCount": nodes}} if nodes > 1 else {}
    if experiment:
        fields["experimental"] = experiment
    worker = component("w", _one(draw, ["worker", "prefill"]), main, dict(_one(draw, EXTRAS)), **fields)
    return make_graph(worker, component("fe", "frontend"), annotations=dict(_one(draw, MARKS)))


def test_pods_of_all_frameworks_layouts_and_orchestrators_hold_together() -> None:
    made = 0
    for number, orchestrator in zip(range(COMBINATIONS), itertools.cycle(ORCHESTRATORS), strict=False):
        graph, settings = _worker(number), Settings(operator_version="1.2.0", **orchestrator)
        done = render(graph, settings)
        children = [child for child in done.children if child["kind"] != "DynamoComponentDeployment"]
        assert _all_faults(children) == [], f"{number}: {json.dumps(graph)}"
        other = convert_object(graph, target("nvidia.com/v1alpha1", line=Line.V1_2)).object
        assert json.dumps(render(other, settings).children) == json.dumps(done.children), f"{number}: {json.dumps(graph)}"
        made += any(child["kind"] in ("LeaderWorkerSet", "PodCliqueSet") for child in children)
    assert made > COMBINATIONS / 4, "too few of these have several nodes, or are on Grove"
