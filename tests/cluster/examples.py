"""Twenty of upstream's graphs with components on several nodes, from the recorded objects, and what each expects of its cluster.

Each was recorded as upstream has it or with a few fields changed. They are named by file, kind and case.
"""

import copy
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Final, TypeAlias

from dynamo_webhooks.reconciler.render.children import render
from dynamo_webhooks.reconciler.render.settings import Settings
from tests.golden.corpus import cases
from tests.reconciler.rendering import VERSION, stored

Node: TypeAlias = dict[str, Any]
CASES: Final = {
    ("golden.ndjson.gz", "convert"): (
        "v1-1594",  # vllm-agg: replicas of four nodes
        "v1-1903",  # vllm-disagg, v1beta1
        "v1-2191",  # sglang-disagg-multinode, v1alpha1
        "v1-2202",  # sglang-disagg-multinode, v1beta1
        "v1-2678",  # vllm-agg on SGLang, v1beta1
        "v1-2742",  # trtllm-disagg-tp8, v1beta1
    ),
    ("golden.ndjson.gz", "admit"): (
        "a1-355",  # trtllm-disagg-multinode: replicas of eight nodes
        "a1-592",  # the same with a scaling adapter
        "a1-887",  # vllm-agg, which claims devices
        "a1-1132",  # nemotron-omni-vllm-agg, which claims devices
        "a1-1157",  # qwen3-32b-fp8-vllm-disagg: replicas of three nodes, long names
        "a1-1499",  # kimi-k25-agg-rr-eagle
        "a1-2400",  # sglang-dsv4-pro-agg
    ),
    ("convert15.ndjson.gz", "convert"): (
        "v1-40",  # kimi-k3-disagg
        "v1-708",  # sglang-dsv4-pro-agg, with a scaling adapter
        "v1-893",  # sglang-qwen38max-agg
        "v1-986",  # kimi-k25-agg-kv-eagle
        "v1-999",  # vllm-dsr1, which asks for a volume, with a scaling adapter
        "v1-2288",  # sgl-dsr1-16gpu: a component with no replicas
    ),
    ("render.ndjson.gz", "render"): ("r1-54",),  # agg-round-robin-dsv32-nvfp4
}
CHANNELS: Final = "compute-domain-default-channel.nvidia.com"  # the device class of NVIDIA's compute domains


@dataclass(frozen=True)
class Example:
    """A manifest, and the pod templates and volume claims that it comes to."""

    id: str
    manifest: Node
    templates: list[Node]
    claims: dict[str, Node]  # name -> the claim as rendered; without a spec, somebody else makes it

    def beside(self, namespace: str) -> Iterator[Node]:
        """What must be in the cluster: volumes, claims that the graph doesn't make, and templates of claims for devices."""
        for name, claim in self.claims.items():
            spec = claim.get("spec") or {"accessModes": ["ReadWriteMany"], "resources": {"requests": {"storage": "1Ti"}}}
            class_name = spec.get("storageClassName") or ""
            yield _volume(namespace, name, class_name, spec["accessModes"])
            if not claim:
                metadata = {"name": name, "namespace": namespace}
                yield {"apiVersion": "v1", "kind": "PersistentVolumeClaim", "metadata": metadata, "spec": {**spec, "storageClassName": ""}}
        named = {one.get("resourceClaimTemplateName") for found in self.templates for one in found["spec"].get("resourceClaims") or []}
        for name in sorted(named - {None} - {one["metadata"]["name"] for one in self.made("ResourceClaimTemplate")}):
            request = {"name": "channel", "exactly": {"deviceClassName": CHANNELS}}
            metadata = {"name": name, "namespace": namespace}
            spec = {"spec": {"devices": {"requests": [request]}}}
            yield {"apiVersion": "resource.k8s.io/v1", "kind": "ResourceClaimTemplate", "metadata": metadata, "spec": spec}

    def made(self, kind: str) -> list[Node]:
        """Its own children of a kind."""
        return [one for one in _children(self.manifest) if one["kind"] == kind]


def examples() -> Iterator[Example]:
    """All of them, in the order above."""
    for (file, kind), wanted in CASES.items():
        left = {*wanted}
        for case in cases(file, kind):
            if case["id"] in left:
                left.remove(case["id"])
                yield _example(case["id"], case["request"]["object"] if kind == "admit" else case["object"])
        assert not left, f"{file} lacks {left}"


def _example(id_: str, obj: Node) -> Example:
    metadata = {"name": obj["metadata"]["name"], "namespace": "demo"}
    manifest = {"apiVersion": obj["apiVersion"], "kind": obj["kind"], "metadata": metadata, "spec": _without_nulls(obj["spec"])}
    children = _children(manifest)
    templates = [one["spec"]["template"] for one in children if one["kind"] == "Deployment"]
    for one in children:
        if one["kind"] == "LeaderWorkerSet":
            templates += [one["spec"]["leaderWorkerTemplate"][f"{role}Template"] for role in ("leader", "worker")]
    volumes = [volume for found in templates for volume in found["spec"].get("volumes") or []]
    claims: dict[str, Node] = {one["persistentVolumeClaim"]["claimName"]: {} for one in volumes if "persistentVolumeClaim" in one}
    claims |= {one["metadata"]["name"]: one for one in children if one["kind"] == "PersistentVolumeClaim"}
    return Example(id_, manifest, templates, claims)


def _without_nulls(value: Any) -> Any:
    """A client in Go wrote null for lists that it hadn't; a manifest says nothing there."""
    if isinstance(value, dict):
        return {name: _without_nulls(one) for name, one in value.items() if one is not None}
    return [_without_nulls(one) for one in value] if isinstance(value, list) else value


def _children(manifest: Node) -> list[Node]:
    facts: Node = {
        "grove": False,
        "lws": True,
        "dra": True,
        "inferencePool": True,
        "clusterTopologies": {"default": ("zone", "rack", "host")},
    }
    done = render(stored(copy.deepcopy(manifest), **facts), Settings(operator_version=VERSION, grove=False, lws=True))
    assert not done.problems, [str(one) for one in done.problems]
    return done.children


def _volume(namespace: str, name: str, class_name: str, modes: list[str]) -> Node:
    spec = {
        "capacity": {"storage": "100Ti"},
        "accessModes": modes,
        "storageClassName": class_name,
        "hostPath": {"path": "/models"},
        "claimRef": {"namespace": namespace, "name": name},
        "persistentVolumeReclaimPolicy": "Retain",
    }
    return {"apiVersion": "v1", "kind": "PersistentVolume", "metadata": {"name": f"{namespace}-{name}"}, "spec": spec}
