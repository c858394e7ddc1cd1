"""What only line 1.5 has, through the command: fields of Kubernetes' own types, mounts in both places, topologies, images of requests."""

import json
from collections.abc import Iterator
from typing import Any, Final

import pytest

from dynamo_webhooks.api.line import Line
from dynamo_webhooks.api.schema import SINCE, load_definitions
from tests.cli.conftest import Command, Files, Ran
from tests.cli.daemon.processes import CONFIG
from tests.cli.render.test_kinds import IDENTITY
from tests.reconciler.rendering import graph, vllm, walk
from tests.reconciler.request.asked import asked

Fields = dict[str, Any]
CONFIGURATION: Final = (
    CONFIG.replace("{namespace: dynamo-system}", "{namespace: dynamo-system, version: 1.5.0}")
    + "checkpoint: {enabled: true}\n"
    + "requests: {copierImage: copier:1}\n"
)
TOPOLOGY: Final[Fields] = {
    "apiVersion": "grove.io/v1alpha1",
    "kind": "ClusterTopologyBinding",
    "metadata": {"name": "topo"},
    "spec": {"levels": [{"domain": "zone", "key": "example/zone"}, {"domain": "rack", "key": "example/rack"}]},
}
SHARED_MEMORY: Final = "/dev/shm"  # noqa: S108 - a place in a container


def _marked(node: Any, path: str = "") -> Iterator[str]:
    """The paths of fields that line 1.5 has and line 1.2 lacks; Kubernetes' own types are not entered."""
    if not isinstance(node, dict):
        return
    if Line.V1_2 < node.get(SINCE, Line.V1_2) <= Line.V1_5:
        yield path
    for name, value in (node.get("properties") or {}).items():
        yield from _marked(value, f"{path}.{name}".lstrip("."))
    yield from _marked(node.get("items"), f"{path}[]")
    yield from _marked(node.get("additionalProperties"), f"{path}{{}}")


def test_every_field_of_kubernetes_types_is_known() -> None:
    fields = {f"{name}.{path}" for name, definition in load_definitions().items() for path in _marked(definition)}
    assert fields == {"io.k8s.api.core.v1.PodSpec.schedulingGroup", "io.k8s.api.core.v1.PodCertificateProjection.userAnnotations"}


def _ran(command: Command, files: Files, obj: Fields, version: str = "1.5.0", *, grove: bool = False) -> Ran:
    """What the command renders of an object by the configuration."""
    files(a=json.dumps(obj), config=CONFIGURATION)
    facts = ("--set-fact", f"grove={str(grove).lower()}", "--set-fact", f"operatorVersion={version}")
    return command("render", "-q", "-o", "json", *facts, "--config", "config.yaml", "a.yaml")


@pytest.mark.parametrize("kind", ["DynamoGraphDeployment", "DynamoComponentDeployment"])
def test_mounts_in_both_places_of_v1alpha1_are_rendered_as_the_line_converts_them(command: Command, files: Files, kind: str) -> None:
    main = {"image": "p:1.5.0", "volumeMounts": [{"name": "b", "mountPath": "/b"}]}
    pod = {"volumes": [{"name": "b", "emptyDir": {}}], "mainContainer": main}
    worker: Fields = {"componentType": "worker", "volumeMounts": [{"name": "a", "mountPoint": "/a"}], "extraPodSpec": pod}
    spec = {"services": {"worker": worker}} if kind == "DynamoGraphDeployment" else worker
    metadata = {"name": "g", "namespace": "demo"}
    files(a=json.dumps({"apiVersion": "nvidia.com/v1alpha1", "kind": kind, "metadata": metadata, "spec": spec}))
    for version, paths in (("1.2.0", ["/b"]), ("1.5.0", ["/b", "/a"])):
        facts = ("--set-fact", "grove=false", "--set-fact", "lws=false", "--set-fact", f"operatorVersion={version}")
        made = command("render", "-q", "-o", "json", *facts, "a.yaml").json
        pods = next(child for child in made if child["kind"] == "Deployment")["spec"]["template"]["spec"]
        assert [mount["mountPath"] for mount in pods["containers"][0]["volumeMounts"]][: len(paths) + 1] == [*paths, SHARED_MEMORY]


POD: Final[Fields] = {
    "schedulingGroup": {"podGroupName": "pods"},
    "volumes": [
        {
            "name": "certificate",
            "projected": {"sources": [{"podCertificate": {"keyType": "ED25519", "signerName": "a/b", "userAnnotations": {"a/b": "c"}}}]},
        }
    ],
}


@pytest.mark.parametrize("grove", [False, True])
def test_fields_of_pods_reach_the_pods_of_graphs(command: Command, files: Files, *, grove: bool) -> None:
    assert _reached(command, files, graph(vllm(pod=POD)), grove=grove)


def test_fields_of_pods_reach_the_jobs_of_checkpoints_and_requests(command: Command, files: Files) -> None:
    template = {"spec": {**POD, "containers": [{"name": "main", "image": "i:1.5.0", "command": ["x"]}]}}
    checkpoint = {"identity": IDENTITY, "job": {"podTemplateSpec": template}}
    head = {"metadata": {"name": "g", "namespace": "demo"}}
    assert _reached(command, files, {"apiVersion": "nvidia.com/v1alpha1", "kind": "DynamoCheckpoint", **head, "spec": checkpoint}, "1.4.0")
    template = {"spec": {**POD, "containers": [{"name": "profiler"}]}}
    assert _reached(command, files, asked(image="p:1.5.0", overrides={"profilingJob": {"template": template}}))


def _reached(command: Command, files: Files, obj: Fields, version: str = "1.5.0", *, grove: bool = False) -> bool:
    """Whether a pod of what is rendered has both fields."""
    ran = _ran(command, files, obj, version, grove=grove)
    assert ran.code == 0, ran.err
    pods = [pod for pod in walk(ran.json) if pod.get("schedulingGroup") == POD["schedulingGroup"]]
    return any(POD["volumes"][0] in pod.get("volumes", ()) for pod in pods)


def test_a_topology_that_is_not_in_the_input_is_told(command: Command, files: Files) -> None:
    obj = graph(vllm(), experimental={"kvTransferPolicy": {"domain": "rack", "clusterTopologyName": "topo"}})
    other = {**TOPOLOGY, "spec": {"levels": [{"domain": "zone", "key": "z"}, {"domain": "rack"}, None, {"domain": "rack", "key": 7}]}}
    for held in ([], [other], [{**TOPOLOGY, "spec": {"levels": 7}}], [TOPOLOGY]):
        ran = _ran(command, files, {"kind": "List", "apiVersion": "v1", "items": [obj, *held]}, grove=True)
        assert (ran.code, "example/rack" in ran.out) == (0, held == [TOPOLOGY])
        assert ('no ClusterTopologyBinding "topo" with the domain "rack" is known' in ran.err) == (held != [TOPOLOGY])


def test_the_runtime_of_a_request_may_be_another_than_its_image_says(command: Command, files: Files) -> None:
    made = []
    for version in (None, "1.5.0"):
        ran = _ran(command, files, asked(image="p:1.5.0", runtimeVersionOverride=version))
        assert (ran.code, ran.err) == (0, "")
        made.append(ran.json)
    assert made[0] != made[1]


@pytest.mark.parametrize("grove", [False, True])
def test_there_are_no_pods_until_their_checkpoint_is_ready(command: Command, files: Files, *, grove: bool) -> None:
    block = {"identity": IDENTITY, "startupPolicy": "WaitForCheckpoint"}
    ran = _ran(command, files, graph(vllm(replicas=2, experimental={"checkpoint": block})), "1.4.0", grove=grove)
    made = {child["kind"]: child.get("spec") for child in ran.json}
    assert (made["PodCliqueSet"]["template"]["cliques"][0]["spec"] if grove else made["Deployment"])["replicas"] == 0
