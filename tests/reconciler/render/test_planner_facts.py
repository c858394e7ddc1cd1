"""What a status tells planners: the counts of GPUs, the model's name, and more, by which the published packages start and scale.

The readers in the packages `ai-dynamo` 1.6.0, 1.6.1 and 1.7.0.dev were run on such a status, and that of 1.5.0 was read: a pair with
`gpusPerReplica` 0 beside engines with GPUs, or half a pair, ends them, and so does a status of an older generation. 1.6 and 1.7 have no
other source.
"""

from typing import Any, Final

from dynamo_webhooks.api.line import Line
from dynamo_webhooks.api.schema import load_schema
from dynamo_webhooks.kube.protocol import Node
from dynamo_webhooks.kube.resources import CLAIM_TEMPLATES
from dynamo_webhooks.policies.annotations import POWER_LIMIT
from dynamo_webhooks.reconciler.common.resources import CLIQUE_SETS, COMPONENTS, POD_CLIQUES
from dynamo_webhooks.reconciler.render.names import WORKLOAD_PROVIDER
from dynamo_webhooks.reconciler.render.planner_facts import FACTS, read_planner_facts
from dynamo_webhooks.reconciler.render.settings import ClaimDependencies
from tests.cluster.reconciler.grove import make_below
from tests.reconciler.rendering import component, graph, vllm
from tests.reconciler.site import GROVE_API, NAMESPACE, Site, running, settings
from tests.rows import run_each

IMAGE: Final = {"image": "img:1.6.0"}
ONE: Final = {"resources": {"limits": {"nvidia.com/gpu": "1"}}}
CLAIM: Final = {"resourceClaims": [{"name": "gpus", "resourceClaimTemplateName": "eight"}]}
EIGHT: Final = {
    "apiVersion": "resource.k8s.io/v1",
    "kind": "ResourceClaimTemplate",
    "metadata": {"name": "eight", "namespace": NAMESPACE},
    "spec": {"spec": {"devices": {"requests": [{"name": "r", "exactly": {"deviceClassName": "gpu.nvidia.com", "count": 8}}]}}},
}


def _of_roles(leader: str, worker: str) -> Node:
    roles = [{"name": name, "podTemplate": vllm(gpus=gpus)["podTemplate"]} for name, gpus in (("leader", leader), ("worker", worker))]
    return {"name": "w", "type": "worker", "multinode": {"nodeCount": 3}, "roles": roles}


@run_each(
    ("made", "engine", "replica"),
    [
        (vllm(gpus="4"), 4, 4),
        (vllm(gpus="4", multinode={"nodeCount": 2}), 8, 8),
        (vllm(gpus="4", pod={"containers": [{"name": "side", **ONE}]}, multinode={"nodeCount": 2}), 8, 10),
        (vllm(gpus="1", pod={"initContainers": [{"name": "once", "resources": {"limits": {"nvidia.com/gpu": "2"}}}]}), 2, 2),
        (vllm(gpus="1", pod={"initContainers": [{"name": "beside", "restartPolicy": "Always", **ONE}]}), 2, 2),
        (_of_roles("1", "4"), 9, 9),
        (component("w", "worker", {"resources": {"claims": [{"name": "gpus"}]}}, CLAIM), 8, 8),
        # a claim that two containers share counts once
        (component("w", "worker", {"resources": {"claims": [{"name": "gpus"}]}}, {**CLAIM, "containers": [{"name": "s"}]}), 8, 8),
        (vllm(gpus="2", experimental={"gpuMemoryService": {"mode": "InterPod"}}), 2, 2),
        (component("fe", "frontend"), 0, 0),
    ],
)
def test_gpus_are_those_of_an_engine_and_of_all_pods_of_a_replica(made: Node, engine: int, replica: int) -> None:
    facts = read_planner_facts(made, Line.V1_6, ClaimDependencies({"eight": EIGHT}))
    assert (facts["gpusPerEngine"], facts["gpusPerReplica"]) == (engine, replica)


def test_counts_are_told_both_or_not_at_all() -> None:
    claiming = vllm(pod={**CLAIM, "containers": [{"name": "side", "resources": {"claims": [{"name": "gpus"}]}}]})
    assert not {"gpusPerEngine", "gpusPerReplica"} & {*read_planner_facts(claiming, Line.V1_6, ClaimDependencies())}


@run_each(
    ("main", "model"),
    [
        ({"args": ["--model", "Qwen/Q3", "--served-model-name", "q", "other"]}, "q"),
        ({"args": ["--model=Qwen/Q3"]}, "Qwen/Q3"),
        ({"args": ["--model-path", "/models/q"]}, "/models/q"),
        ({"command": ["python3", "-m", "dynamo.mocker"], "args": ["--model-path", "/models/q", "--model-name", "q"]}, "q"),
        ({"command": ["sh", "-c"], "args": ["exec python3 -m dynamo.vllm --model 'Qwen/Q3' --x"]}, "Qwen/Q3"),
        ({"command": ["sh", "-c"], "args": ["echo don't; python3 -m dynamo.vllm --model q"]}, "q"),
        ({"args": ["--model", "$(MODEL)"], "env": [{"name": "MODEL", "value": "q"}]}, "q"),
        ({"command": ["sh", "-c"], "args": ["python3 -m dynamo.vllm --model ${SHARED}"]}, "of-the-graph"),
        ({"args": ["--model", "$(SECRET)"], "env": [{"name": "SECRET", "valueFrom": {"secretKeyRef": {"name": "s", "key": "k"}}}]}, None),
        ({"args": ["--model"]}, None),
        ({"args": []}, None),
    ],
)
def test_the_model_is_the_one_that_the_call_serves(main: Node, model: str | None) -> None:
    made = component("w", "decode", {"command": ["python3", "-m", "dynamo.vllm"], **main})
    assert (
        read_planner_facts(made, Line.V1_6, ClaimDependencies(), [{"name": "SHARED", "value": "of-the-graph"}]).get("servedModelName")
        == model
    )


@run_each(("endpoint", "called"), [("dyn://demo.mine.generate", "mine"), ("demo.mine.generate", "mine"), ("mine", None)])
def test_the_runtime_s_name_is_that_of_the_endpoint(endpoint: str, called: str | None) -> None:
    assert read_planner_facts(vllm(args=("--endpoint", endpoint)), Line.V1_6, ClaimDependencies()).get("runtimeComponentName") == called


@run_each(("limit", "watts"), [("300", 300), ("0", None), ("300W", None)])
def test_the_power_limit_is_a_number_of_watts(limit: str, watts: int | None) -> None:
    made = vllm(podTemplate={"metadata": {"annotations": {POWER_LIMIT: limit}}})
    assert read_planner_facts(made, Line.V1_6, ClaimDependencies()).get("gpuPowerLimitWatts") == watts


def test_only_workers_serve_a_model() -> None:
    assert read_planner_facts(component("p", "planner", {"args": ["--model", "m"]}), Line.V1_6, ClaimDependencies()) == {
        "gpusPerEngine": 0,
        "gpusPerReplica": 0,
    }


@run_each("line", Line)
@run_each(("kind", "path"), [("DynamoGraphDeployment", "components"), ("DynamoComponentDeployment", "component")])
def test_facts_are_written_as_far_as_the_definition_has_them(kind: str, path: str, line: Line) -> None:
    fields: Any = load_schema(kind, "v1beta1", line)["properties"]["status"]["properties"][path]
    fields = fields.get("additionalProperties", fields)["properties"]
    made = vllm(args=("--endpoint", "a.b.c"), podTemplate={"metadata": {"annotations": {POWER_LIMIT: "300"}}})
    assert {*read_planner_facts(made, line, ClaimDependencies())} == {*FACTS} & {*fields}


async def test_a_graph_tells_its_planner_of_the_spec_that_it_has_seen() -> None:
    async with running(graph(vllm("w", gpus="4", main=IMAGE)), version="1.6.0") as site:
        assert _facts(await site.graph()) == {"gpusPerEngine": 4, "gpusPerReplica": 4, "servedModelName": "m"}
        [worker] = (await site.all(COMPONENTS)).values()
        assert worker["status"]["component"]["gpusPerEngine"] == 4
        site.newcomers = 0
        async with site.editing() as obj:  # a rolling update begins, and the old workers are still the ones that run
            obj["spec"]["components"][0]["podTemplate"]["spec"]["containers"][0] |= {"args": [], "resources": {}}
        assert _facts(await site.graph()) == {"gpusPerEngine": 0, "gpusPerReplica": 0}


async def test_a_graph_on_grove_tells_the_same_by_its_claims() -> None:
    made = component("w", "worker", {**IMAGE, "resources": {"claims": [{"name": "gpus"}]}, "args": ["--model", "m"]}, CLAIM)
    site = Site(settings(version="1.6.0")).serve(GROVE_API)
    await site.user.create(CLAIM_TEMPLATES, EIGHT, NAMESPACE)
    async with site.running(graph(made, annotations={WORKLOAD_PROVIDER: "grove"})):
        [live] = (await site.all(CLIQUE_SETS)).values()
        await site.create(POD_CLIQUES, next(make_below(live)), 5)
        assert _facts(await site.graph()) == {"gpusPerEngine": 8, "gpusPerReplica": 8, "servedModelName": "m"}


def _facts(obj: Node) -> Node:
    assert obj["status"]["observedGeneration"] == obj["metadata"]["generation"]
    return {name: value for name, value in obj["status"]["components"]["w"].items() if name in FACTS}
