"""What once was accepted and dropped: it acts where it can, and otherwise is told, by both the status and `check`."""

from typing import Any

from dynamo_webhooks.reconciler.render.children import render
from dynamo_webhooks.reconciler.render.settings import Settings
from tests.reconciler.rendering import VERSION, alpha, children, component, graph, pod_of, stored, vllm
from tests.rows import run_each

Fields = dict[str, Any]
SHARED = {"name": "shared-memory", "mountPath": "/dev/shm"}  # noqa: S108 - a place in a container
STRATEGY = "nvidia.com/grove-update-strategy"


def _told(obj: Fields, **settings: Any) -> list[str]:
    done = render(stored(obj), Settings(operator_version=VERSION, **settings))
    assert done.problems == []
    return [str(note) for note in done.notes]


@run_each("strategy", ["RollingRecreate", "OnDelete"])
def test_the_annotation_is_the_update_strategy_of_the_set(strategy: str) -> None:
    obj = graph(vllm(), annotations={STRATEGY: strategy})
    assert children(obj, grove=True)["PodCliqueSet g"]["spec"]["updateStrategy"] == {"type": strategy}
    assert _told(obj, grove=True) == []
    assert _told(obj) == [f"metadata.annotations[{STRATEGY}]: has no effect: the graph does not run on Grove"]


def test_an_unknown_update_strategy_does_not_cost_the_graph_its_set() -> None:
    obj = graph(vllm(), annotations={STRATEGY: "Recreate"})
    assert "updateStrategy" not in children(obj, grove=True)["PodCliqueSet g"]["spec"]
    assert _told(obj, grove=True) == [f'metadata.annotations[{STRATEGY}]: has no effect: it must be "RollingRecreate" or "OnDelete"']


def test_pods_off_grove_have_the_priority_class_of_their_graph_or_their_own() -> None:
    made = children(graph(vllm(), vllm("mine", pod={"priorityClassName": "own"}), component("fe"), priorityClassName="high"))
    classes = {name: pod_of(made[f"Deployment g-{name}"])["priorityClassName"] for name in ("worker", "mine", "fe")}
    assert classes == {"worker": "high", "mine": "own", "fe": "high"}


def test_what_shared_memory_replaces_is_told_unless_there_is_none() -> None:
    main = {"volumeMounts": [{**SHARED, "name": "mine"}]}
    pod = {"volumes": [{"name": "mine", "emptyDir": {}}, {"name": "shared-memory", "emptyDir": {}}]}
    paths = [note.partition(": ")[0] for note in _told(graph(vllm(main=main, pod=pod)))]
    inner = "spec.components[0].podTemplate.spec"
    assert paths == [f"{inner}.containers[0].volumeMounts[0]", f"{inner}.volumes[1]"]
    assert _told(graph(vllm(main=main, pod=pod, sharedMemorySize="0"))) == []


def test_labels_of_an_ingress_and_names_that_nothing_reads_are_told_in_the_words_of_v1alpha1() -> None:
    way = {"enabled": True, "host": "h", "ingressControllerClassName": "nginx", "labels": {"a": "b"}, "annotations": {"a/b": "c"}}
    obj = alpha("fe", "frontend", ingress=way, serviceName="mine", extraPodSpec={"mainContainer": {"name": "mine"}})
    paths = [note.partition(": ")[0].removeprefix("spec.services[fe].") for note in _told(obj)]
    assert paths == ["serviceName", "extraPodSpec.mainContainer.name", "ingress.labels", "ingress.annotations"]


def test_what_only_deployments_do_is_told_on_grove() -> None:
    name = "nvidia.com/deployment-strategy"
    template = {"metadata": {"annotations": {name: "Recreate"}}}
    [note] = _told(graph(vllm(podTemplate=template)), grove=True)
    assert note.startswith(f"spec.components[0].podTemplate.metadata.annotations[{name}]: has no effect")
    assert _told(graph(vllm(podTemplate=template))) == []
    assert _told(graph(vllm(podTemplate=template, multinode={"nodeCount": 2})), lws=True) == [
        note.replace("the graph runs on Grove", "a LeaderWorkerSet runs the pods")
    ]


def test_a_standalone_component_makes_no_checkpoint_that_goes_with_it() -> None:
    block = {"enabled": True, "identity": {"model": "m", "backendFramework": "vllm"}, "deletionPolicy": "Delete"}
    alone = {"apiVersion": "nvidia.com/v1beta1", "kind": "DynamoComponentDeployment", "metadata": {"name": "c", "namespace": "demo"}}
    notes = render({**alone, "spec": vllm(experimental={"checkpoint": block})}, Settings(operator_version="1.4.0")).notes
    text = "spec.experimental.checkpoint.deletionPolicy: has no effect: a standalone component makes no checkpoint"
    assert [str(note).startswith(text) for note in notes] == [True]
