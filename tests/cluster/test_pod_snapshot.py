"""PodSnapshots on a real API server: graphs of line 1.5 name one, which the reconciler may read with the overlay of checkpoints alone."""

from pathlib import Path
from typing import Any, Final

from dynamo_webhooks.api.crd import build as crd
from dynamo_webhooks.api.line import Line
from tests.cluster.objects import foreign
from tests.cluster.reconciling import GRAPHS, controllers, installed
from tests.cluster.rendering import composed
from tests.reconciler.rendering import graph, vllm

Node = dict[str, Any]
SNAPSHOTS: Final = "/apis/nvidia.com/v1alpha1/namespaces/{}/podsnapshots"


def _definition() -> Node:
    """As much of it as is known: a pod and one of its containers."""
    found = foreign("nvidia.com", "PodSnapshot", "podsnapshots", version="v1alpha1")
    containers = {"type": "array", "minItems": 1, "maxItems": 1, "items": {"type": "string"}}
    schema: Node = {"type": "object", "properties": {"containers": containers}}
    for name in ("podRef", "source", "spec"):
        schema = {"type": "object", "properties": {name: schema}}
    found["spec"]["versions"][0]["schema"] = {"openAPIV3Schema": schema}
    return found


def _graph(namespace: str, name: str, snapshot: str) -> Node:
    wanted = {"enabled": True, "checkpointRef": snapshot, "startupPolicy": "WaitForCheckpoint"}
    made = graph(vllm(main={"image": "img:1.5.0"}, experimental={"checkpoint": wanted}), name=name)
    made["metadata"]["namespace"] = namespace
    return made


def test_a_graph_reads_the_snapshot_that_it_names_and_starts_cold(assets: Path, tmp_path: Path) -> None:
    objects = composed(tmp_path / "rendered", "self-signed", "../checkpoints")
    kinds = ("DynamoGraphDeployment", "DynamoComponentDeployment")
    definitions = [_definition(), *(crd(kind, versions=["v1beta1"], line=Line.V1_5) for kind in kinds)]
    with installed(assets, tmp_path, objects=objects, definitions=definitions) as site, controllers(site.plane), site.pods:
        config = tmp_path / "config.yaml"
        config.write_text(f"{config.read_text()}\noperator: {{version: 1.5.0}}\ncheckpoint: {{enabled: true}}\n")
        site.reconcile()
        namespace = site.plane.namespace()
        spec = {"source": {"podRef": {"containers": ["main"]}}}
        metadata = {"name": "snap", "namespace": namespace}
        site.plane.apply({"apiVersion": "nvidia.com/v1alpha1", "kind": "PodSnapshot", "metadata": metadata, "spec": spec})
        before = site.get(SNAPSHOTS, namespace, "snap")
        site.plane.apply(_graph(namespace, "g", "snap"), _graph(namespace, "h", "other"))

        def restore(name: str) -> str:
            conditions = site.get(GRAPHS, namespace, name).get("status", {}).get("conditions", ())
            return next((f"{one['reason']}: {one['message']}" for one in conditions if one["type"] == "Restore"), "")

        site.until(lambda: restore("g").startswith("RestoreUnavailable: worker: PodSnapshot snap is there"), "the snapshot being read")
        site.until(
            lambda: restore("h") == "CheckpointMissing: worker: PodSnapshot other is not there; pods start cold", "the other one missing"
        )
        for name in ("g", "h"):
            site.ready(namespace, name)
        assert site.get(SNAPSHOTS, namespace, "snap") == before
