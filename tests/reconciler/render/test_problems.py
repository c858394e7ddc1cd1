"""What can't be rendered is told with its field, and the rest is made."""

from typing import Any

from dynamo_webhooks.reconciler.render.children import render
from dynamo_webhooks.reconciler.render.settings import Settings
from tests.reconciler.rendering import component, graph, rendered, stored, vllm
from tests.rows import run_each

Fields = dict[str, Any]
_CHECKPOINT = {"identity": {"model": "m", "backendFramework": "vllm"}}


def _config(text: str) -> Fields:
    return component("w", main={"env": [{"name": "DYN_DEPLOYMENT_CONFIG", "value": text}]})


CASES: dict[str, tuple[Fields, str]] = {
    "framework": (
        graph(vllm("w"), backendFramework="sglang"),
        'spec.components[0].podTemplate: must run what backendFramework says, "sglang"; its command calls dynamo.vllm',
    ),
    "several frameworks": (
        graph(component("w", "worker", {"args": ["python3 -m dynamo.vllm && python3 -m dynamo.sglang"]})),
        "spec.backendFramework: must run one framework, its command calls vllm and sglang; say in backendFramework which counts",
    ),
    "cache": (
        graph(component("w", compilationCache={"pvcName": "c"})),
        "spec.components[0].compilationCache.mountPath: must say where the cache is mounted; only vLLM has a usual place",
    ),
    "mount": (
        graph(component("w", main={"volumeMounts": [{"name": "", "mountPath": "/x"}]})),
        "spec.components[0].podTemplate.spec.containers[0].volumeMounts[0].name: must not be empty in a mount of the main container",
    ),
    "sidecar": (
        graph(component("w", frontendSidecar="fe")),
        "spec.components[0].frontendSidecar: must be the name of a container of the pod template, got 'fe'",
    ),
    "failover": (
        graph(component("w", "worker", experimental={"gpuMemoryService": {}, "failover": {}})),
        "spec.components[0].experimental.failover: needs vLLM, which the command doesn't call",
    ),
    "GPUs": (
        graph(vllm("w", gpus="500m", experimental={"gpuMemoryService": {}})),
        "spec.components[0].podTemplate.spec.containers[0].resources.limits: must ask for whole GPUs to share them, got '500m'",
    ),
    "picker": (
        graph(component("w", "epp")),
        "spec.components[0].eppConfig: must hold config or name a ConfigMap in configMapRef",
    ),
    "checkpoint": (
        graph(vllm("w", experimental={"checkpoint": {"mode": "Auto"}})),
        "spec.components[0].experimental.checkpoint.identity: must be given where checkpointRef names no checkpoint",
    ),
    "target": (
        graph(vllm("w", experimental={"checkpoint": {**_CHECKPOINT, "targetContainerName": "x"}})),
        "spec.components[0].experimental.checkpoint.targetContainerName: must be the name of a container of the pod template, got 'x'",
    ),
    "overlay": (
        graph(vllm("w", experimental={"checkpoint": {**_CHECKPOINT, "job": {"podTemplate": {"spec": {"containers": [{"name": {}}]}}}}})),
        "spec.components[0].experimental.checkpoint.job.podTemplate.spec.containers[0].name: must be a string, got object",
    ),
    "no overlay": (
        graph(vllm("w", experimental={"checkpoint": {**_CHECKPOINT, "job": {"podTemplate": {"spec": ["x"]}}}})),
        "spec.components[0].experimental.checkpoint.job.podTemplate.spec: must be an object, got list",
    ),
    "no JSON": (
        graph(_config("{")),
        "spec.components[0].podTemplate.spec.containers[0].env[0].value: "
        "DYN_DEPLOYMENT_CONFIG of the main container must be a JSON object keyed by component",
    ),
    "no quantity": (
        graph(_config('{"w": {"ServiceArgs": {"resources": {"cpu": "lots"}}}}')),
        "spec.components[0].podTemplate.spec.containers[0].env[0].value: "
        "DYN_DEPLOYMENT_CONFIG of the main container must hold quantities, got 'lots' for cpu",
    ),
}


@run_each("name", CASES)
def test_a_problem_names_its_field(name: str) -> None:
    obj, text = CASES[name]
    assert [str(problem) for problem in rendered(obj).problems] == [text]


def test_a_variable_of_the_graph_is_told_where_it_stands() -> None:
    obj = graph(component("w"), env=[{"name": "DYN_DEPLOYMENT_CONFIG", "value": "{"}])
    assert [problem.path for problem in rendered(obj).problems] == [("spec", "env")]


def test_the_main_container_is_told_by_its_place() -> None:
    """With it a field is found in the other version, too."""
    sided = vllm("w", gpus="500m", experimental={"gpuMemoryService": {}})
    sided["podTemplate"]["spec"]["containers"].insert(0, {"name": "side"})
    [problem] = rendered(graph(sided)).problems
    assert problem.path[2:] == (0, "podTemplate", "spec", "containers", 1, "resources", "limits")


def test_layouts_between_and_within_pods_are_not_mixed() -> None:
    """Admission refuses it; an update of an older graph may get through."""
    obj = graph(vllm("w", experimental={"gpuMemoryService": {"mode": "InterPod"}, "failover": {"mode": "IntraPod"}}))
    done = rendered(obj, grove=True)
    assert [str(problem) for problem in done.problems] == [
        "spec.components[0].experimental.failover.mode: must be InterPod where gpuMemoryService.mode is; use one mode for both"
    ]
    assert any(child["kind"] == "Service" for child in done.children)


def test_what_several_children_stumble_over_is_told_once() -> None:
    obj = graph(vllm("w", experimental={"checkpoint": _CHECKPOINT}), backendFramework="sglang")
    assert len(rendered(obj).problems) == 1


def test_the_other_components_are_made() -> None:
    done = rendered(graph(component("bad", frontendSidecar="x"), component("good", "frontend")))
    assert [child["metadata"]["name"] for child in done.children if child["kind"] == "Deployment"] == ["g-good"]
    assert len(done.problems) == 1


def test_claims_of_devices_need_a_cluster_that_has_them() -> None:
    done = render(stored(graph(vllm("w", experimental={"gpuMemoryService": {}}))), Settings(dra=False))
    assert [problem.path for problem in done.problems] == [("spec", "components", 0, "experimental", "gpuMemoryService")]
    assert any(child["kind"] == "Deployment" for child in done.children)


@run_each(
    ("changes", "text"),
    [
        ({"metadata": {"generateName": "g-", "namespace": "demo"}}, "metadata.name: "),
        ({"spec": []}, "spec: must be an object, got list"),
        ({"apiVersion": "example.com/v1"}, "kind: "),
    ],
)
def test_of_an_object_of_another_shape_nothing_is_made(changes: Fields, text: str) -> None:
    done = render({**graph(vllm()), **changes}, Settings())
    assert [str(problem)[: len(text)] for problem in done.problems] == [text]
    assert done.children == []
