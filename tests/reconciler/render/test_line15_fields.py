"""Every field that only line 1.5 has either acts, in what is rendered, or is told to have no effect."""

import copy
import json
from collections.abc import Iterator
from typing import Any, Final

import pytest

from dynamo_webhooks.api.kinds import list_kind_versions
from dynamo_webhooks.api.line import Line
from dynamo_webhooks.api.schema import SINCE, load_definitions, whole_schema
from tests.cli.conftest import Command, Files
from tests.cli.daemon.processes import CONFIG
from tests.cli.render.test_kinds import IDENTITY, READY
from tests.reconciler.rendering import graph, vllm

Fields = dict[str, Any]
CONFIGURATION: Final = (
    CONFIG.replace("{namespace: dynamo-system}", "{namespace: dynamo-system, version: 1.5.0}")
    + "checkpoint: {enabled: true, storage: {type: pvc, pvc: {pvcName: snaps, basePath: /snaps, create: true, size: 1Gi}}}\n"
    + "requests: {copierImage: copier:1}\n"
)
OVERRIDE: Final = {"apiVersion": "grove.io/v1alpha1", "value": {"topologyConstraint": {"packDomain": "rack"}}}
ROOT: Final = {**OVERRIDE, "value": {"spec": {"template": {"topologyConstraint": {"packDomain": "rack"}}}}}
CHECKPOINT: Final = {"enabled": True, "identity": IDENTITY, "startupPolicy": "Immediate", "deletionPolicy": "Retain"}
WIDE: Final = {"nodeCount": 2}
TOPOLOGY: Final[Fields] = {
    "apiVersion": "grove.io/v1alpha1",
    "kind": "ClusterTopologyBinding",
    "metadata": {"name": "topo"},
    "spec": {"levels": [{"domain": "zone", "key": "example/zone"}, {"domain": "rack", "key": "example/rack"}]},
}
SHARED_MEMORY: Final = "/dev/shm"  # noqa: S108 - a place in a container
ALONE: Final = "only Grove acts on it"
NO_ROLES: Final = "nothing that is rendered depends on roles"
# below the component: value, whether it acts on Grove, and without; "" acts, a text is what is said instead
COMPONENT: Final[dict[str, tuple[Any, str, str]]] = {
    "minAvailable": (2, "", ALONE),
    "runtimeVersionOverride": ("1.5.0", "", ""),
    "providerOverride": (OVERRIDE, "", ALONE),
    "roles": ([{"name": "leader"}, {"name": "worker"}], NO_ROLES, NO_ROLES),
    "experimental.grove": ({"forceScalingGroup": True}, "", ALONE),
    "checkpoint.enabled": (False, "", ""),
    "checkpoint.startupPolicy": ("WaitForCheckpoint", "", ""),
    "checkpoint.deletionPolicy": ("Delete", "", ""),
}
GRAPH: Final[dict[str, tuple[Any, str, str]]] = {
    "providerOverride": (ROOT, "", ALONE),
    "experimental.kvTransferPolicy.clusterTopologyName": ("topo", "", ALONE),
}
STANDALONE: Final = {**COMPONENT, "checkpoint.deletionPolicy": ("Delete", "", "a standalone component makes no checkpoint")}
# fields of a spec, as they are found in the schemas -> where the tables have them
FOUND: Final = {
    "DynamoGraphDeployment.v1beta1": ("spec.components[].", COMPONENT, GRAPH),
    "DynamoGraphDeployment.v1alpha1": ("spec.services{}.", COMPONENT, GRAPH),
    "DynamoComponentDeployment.v1beta1": ("spec.", STANDALONE, {}),
    "DynamoComponentDeployment.v1alpha1": ("spec.", STANDALONE, {}),
    "DynamoGraphDeploymentRequest.v1beta1": ("spec.", {"runtimeVersionOverride": ("1.5.0", "", "")}, {}),
    "DynamoGraphDeploymentRequest.v1alpha1": ("spec.", {"runtimeVersionOverride": ("1.5.0", "", "")}, {}),
}


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


def _cases() -> Iterator[tuple[str, str, bool]]:
    for kind, version in sorted(list_kind_versions()):
        for path in _marked(whole_schema(kind, version)):
            if path.startswith("spec"):
                yield f"{kind}.{version}", path, False
                if kind == "DynamoGraphDeployment":
                    yield f"{kind}.{version}", path, True


def _row(where: str, path: str) -> tuple[str, Any, str, str]:
    """What the tables say of a field: its name, its value, and what is said on Grove and without."""
    prefix, component, whole = FOUND[where]
    below = path.startswith(prefix)
    name = path.removeprefix(prefix if below else "spec.").replace("experimental.checkpoint", "checkpoint")
    return name, *(component if below else whole)[name]


def _put(into: Fields, path: str, value: Any) -> None:
    *steps, last = path.split(".")
    for step in steps:
        into = into.setdefault(step, {})
    into[last] = {**into[last], **value} if isinstance(into.get(last), dict) else value


def _component(version: str, name: str) -> Fields:
    """A worker with what a field needs beside itself."""
    fields: Fields = {"type": "worker", "replicas": 2} if version == "v1beta1" else {"componentType": "worker", "replicas": 2}
    if "multinode" in name or name == "roles":
        fields["multinode"] = dict(WIDE)
    if "checkpoint" in name:
        _put(fields, "experimental.checkpoint" if version == "v1beta1" else "checkpoint", dict(CHECKPOINT))
    main = vllm()["podTemplate"]["spec"]["containers"][0]
    pod: Fields = {"podTemplate": {"spec": {"containers": [main]}}}
    if version == "v1alpha1":
        pod = {"extraPodSpec": {"mainContainer": {name: value for name, value in main.items() if name not in ("name", "resources")}}}
        pod["resources"] = {"limits": {"gpu": "1"}}
    return {**fields, **pod}


def objects(where: str, path: str) -> tuple[Fields, Fields]:
    """An object without the field, and the same with it."""
    kind, _, version = where.partition(".")
    name, value, *_ = _row(where, path)
    spec: Fields = _component(version, name)
    if kind == "DynamoGraphDeploymentRequest":
        hardware = {"gpuSku": "h100_sxm", "vramMb": 81559, "numGpusPerNode": 8, "totalGpus": 8}
        old = {"profilingConfig": {"profilerImage": "p:1.5.0", "config": {"hardware": hardware}}}
        spec = {"model": "m", "backend": "vllm"} | ({"image": "p:1.5.0", "hardware": hardware} if version == "v1beta1" else old)
    if kind == "DynamoGraphDeployment":
        spec = {"components": [{"name": "worker", **spec}]} if version == "v1beta1" else {"services": {"worker": spec}}
    if "kvTransfer" in path:
        spec["experimental"] = {"kvTransferPolicy": {"domain": "rack"}}
    before: Fields = {
        "apiVersion": f"nvidia.com/{version}",
        "kind": kind,
        "metadata": {"name": "g", "namespace": "demo", "annotations": {}},
        "spec": spec,
    }
    after = copy.deepcopy(before)
    at: Fields = after["spec"]
    if path.startswith(FOUND[where][0]):
        at = at["components"][0] if "components" in at else at["services"]["worker"] if "services" in at else at
    _put(at, f"experimental.{name}" if version == "v1beta1" and name.startswith("checkpoint") else name, value)
    return before, after


@pytest.mark.parametrize(("where", "path", "grove"), [*_cases()])
def test_a_field_acts_or_is_told(command: Command, files: Files, where: str, path: str, *, grove: bool) -> None:
    before, after = objects(where, path)
    said = _row(where, path)[2 if grove else 3]
    held: list[Fields] = [TOPOLOGY] if "kvTransfer" in path else []
    held += [READY] if where.startswith("DynamoComponent") and path.endswith("enabled") else []  # else there is nothing to restore from
    files(**{name: json.dumps({"kind": "List", "apiVersion": "v1", "items": [obj, *held]}) for name, obj in (("a", before), ("b", after))})
    files(config=CONFIGURATION)
    version = "1.4.0" if "checkpoint" in path else "1.5.0"  # of the last line with DynamoCheckpoints
    facts = ("--set-fact", f"grove={str(grove).lower()}", "--set-fact", "lws=true", "--set-fact", f"operatorVersion={version}")
    old, new = (command("render", "-q", "-o", "json", *facts, "--config", "config.yaml", name) for name in ("a.yaml", "b.yaml"))
    assert (old.code, old.err) == (0, "")
    assert new.code == 0, new.err
    field = path.partition(".")[2].rpartition("].")[2].rpartition("}.")[2]
    if not said:
        assert new.err == ""
        assert _plain(new.json) != _plain(old.json)
        return
    assert field in new.err
    assert said in new.err
    assert _plain(new.json) == _plain(old.json)


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
        pods = next(one for one in made if one["kind"] == "Deployment")["spec"]["template"]["spec"]
        assert [mount["mountPath"] for mount in pods["containers"][0]["volumeMounts"]][: len(paths) + 1] == [*paths, SHARED_MEMORY]


def _plain(children: Any) -> Any:
    """What runs: objects of components only hold fields, and all workers' generation."""
    text = json.dumps([one for one in children if one["kind"] != "DynamoComponentDeployment"])
    return json.loads(text)


def test_every_field_of_kubernetes_types_is_known() -> None:
    found = {f"{name}.{path}" for name, one in load_definitions().items() for path in _marked(one)}
    assert found == {"io.k8s.api.core.v1.PodSpec.schedulingGroup", "io.k8s.api.core.v1.PodCertificateProjection.userAnnotations"}


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
    request, _ = objects("DynamoGraphDeploymentRequest.v1beta1", "spec.runtimeVersionOverride")
    request["spec"]["overrides"] = {"profilingJob": {"template": {"spec": {**POD, "containers": [{"name": "profiler"}]}}}}
    assert _reached(command, files, request)


def _reached(command: Command, files: Files, obj: Fields, version: str = "1.5.0", *, grove: bool = False) -> bool:
    """Whether a pod of what is rendered has both fields."""
    files(a=json.dumps(obj), config=CONFIGURATION)
    facts = ("--set-fact", f"grove={str(grove).lower()}", "--set-fact", f"operatorVersion={version}")
    ran = command("render", "-q", "-o", "json", *facts, "--config", "config.yaml", "a.yaml")
    assert ran.code == 0, ran.err
    pods = [one for one in _every(ran.json) if one.get("schedulingGroup") == POD["schedulingGroup"]]
    return any(POD["volumes"][0] in one.get("volumes", ()) for one in pods)


def _every(value: Any) -> Iterator[Fields]:
    if isinstance(value, dict):
        yield value
    for one in value.values() if isinstance(value, dict) else value if isinstance(value, list) else ():
        yield from _every(one)


def test_a_topology_that_is_not_in_the_input_is_told(command: Command, files: Files) -> None:
    _, obj = objects("DynamoGraphDeployment.v1beta1", "spec.experimental.kvTransferPolicy.clusterTopologyName")
    other = {**TOPOLOGY, "spec": {"levels": [{"domain": "zone", "key": "z"}, {"domain": "rack"}, None, {"domain": "rack", "key": 7}]}}
    for held in ([], [other], [{**TOPOLOGY, "spec": {"levels": 7}}]):
        files(a=json.dumps({"kind": "List", "apiVersion": "v1", "items": [obj, *held]}), config=CONFIGURATION)
        facts = ("--set-fact", "grove=true", "--set-fact", "operatorVersion=1.5.0")
        ran = command("render", "-q", "-o", "json", *facts, "--config", "config.yaml", "a.yaml")
        assert ran.code == 0
        assert 'no ClusterTopologyBinding "topo" with the domain "rack" is known' in ran.err
