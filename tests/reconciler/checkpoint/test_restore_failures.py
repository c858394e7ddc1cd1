"""Pods that their agent can't restore wait for ever: they are told of, and after some of them pods start cold."""

import contextlib
from collections.abc import AsyncIterator
from typing import Any

from dynamo_webhooks.kube.protocol import Node
from dynamo_webhooks.kube.resources import CLAIMS, PODS
from dynamo_webhooks.reconciler.checkpoint.restore_condition import FAILURE_KEY, FailedPod, annotation_of, find_failed_pods
from dynamo_webhooks.reconciler.common.resources import CLIQUE_SETS, COMPONENTS, POD_CLIQUES
from dynamo_webhooks.reconciler.render.checkpoint.restore import Restore
from dynamo_webhooks.reconciler.render.checkpoint.storage import Storage
from dynamo_webhooks.reconciler.render.names import ARTIFACT_VERSION
from tests.cluster.reconciler.grove import make_below
from tests.reconciler.checkpoint.objects import HASH, JOB, TAKEN
from tests.reconciler.checkpoint.test_checkpoint import Scene
from tests.reconciler.checkpoint.test_snapshots import RESTORING, _is_restored, _told, _worker, scene
from tests.reconciler.pod.test_pods import OWNER
from tests.reconciler.rendering import graph, vllm
from tests.reconciler.site import NAMESPACE
from tests.rows import run_each

STATUS = "nvidia.com/snapshot-restore-status."


def _graph(replicas: int) -> Node:
    return graph(vllm("worker", replicas=replicas, experimental={"checkpoint": {"checkpointRef": "ck"}}))


def _pod(template: Node, name: str, *, failed: bool = True) -> Node:
    """A pod of a template, which its agent has looked at."""
    metadata = template["metadata"]
    annotations = {**metadata["annotations"], f"{STATUS}main": "failed" if failed else "completed"}
    own = {"name": name, "namespace": NAMESPACE, "labels": metadata["labels"], "annotations": annotations}
    return {"apiVersion": "v1", "kind": "Pod", "metadata": own, "spec": {}}


async def _make(site: Scene, pod: Node) -> None:
    """Makes a pod, as a controller does that stays."""
    pod["metadata"]["ownerReferences"] = [{**OWNER, "uid": (await site.graph())["metadata"]["uid"]}]
    await site.kubelet.create(PODS, pod, NAMESPACE)


async def _held(site: Scene, replicas: int) -> Node:
    """The pods of the worker, which don't become ready."""
    site.held[(await _worker(site))["metadata"]["name"]] = 0
    await site.edit("g", 0, replicas=replicas, seconds=65)
    template: Node = (await _worker(site))["spec"]["template"]
    return template


@contextlib.asynccontextmanager
async def _failing(more: str = RESTORING) -> AsyncIterator[Scene]:
    """A worker whose only pod can't be restored, a minute later."""
    async with scene(_graph(1), more, TAKEN) as site:
        template = await _held(site, 1)
        await _make(site, _pod(template, "p"))
        await site.later(65)
        yield site


async def test_after_three_failures_pods_start_cold() -> None:
    async with scene(_graph(4), RESTORING, TAKEN) as site:
        template = await _held(site, 5)
        for number in range(2):
            await _make(site, _pod(template, f"p{number}"))
        await _make(site, _pod(template, "fine", failed=False))
        await site.later(65)
        assert await _told(site) == ("False", "RestoreFailed")
        message = (await site.condition(kind="Restore"))["message"]
        assert "could not restore p0 (container main), p1 (container main), which wait for ever" in message
        assert "RestoreFailed" in await site.reasons()
        assert await _is_restored(site)
        await _make(site, _pod(template, "p2"))
        await site.later(65)
        assert not await _is_restored(site)
        [component] = (await site.all(COMPONENTS)).values()
        assert component["metadata"]["annotations"][FAILURE_KEY] == f"{HASH}/1"
        assert await _told(site) == ("False", "RestoreFailed")
        await site.patch(COMPONENTS, component["metadata"]["name"], {"metadata": {"annotations": {FAILURE_KEY: None}}}, 5)
        assert await _told(site) == ("False", "RestoreAvailable")


async def test_one_replica_that_fails_is_enough_the_claim_is_made_and_another_version_is_tried() -> None:
    async with _failing(RESTORING.replace("pvcName: snaps", "pvcName: made, create: true, size: 1Gi")) as site:
        assert "made" in await site.all(CLAIMS)
        assert not await _is_restored(site)
        await site.annotate(ARTIFACT_VERSION, "2")
        second = JOB.removesuffix("-1") + "-2"
        await site.mark("completed", second)
        await site.end("Complete", second)
        await site.later(5)
        assert await _told(site) == ("False", "RestoreAvailable")


async def test_with_fallback_off_it_is_only_told() -> None:
    more = RESTORING.replace("enabled: true", "enabled: true, fallback: false")
    async with _failing(more) as site:
        assert await _is_restored(site)
        assert await _told(site) == ("False", "RestoreFailed")
        assert (await site.condition(kind="Restore"))["message"].endswith("checkpoint.fallback is false")


async def test_on_grove_the_graph_remembers_it() -> None:
    grove, clique = CLIQUE_SETS, POD_CLIQUES
    async with scene(_graph(1), RESTORING, TAKEN, grove=True) as site:
        [made] = (await site.all(grove)).values()
        [wanted] = make_below(made)
        await site.kubelet.create(clique, wanted, NAMESPACE)
        await _make(site, _pod({"metadata": {name: wanted["metadata"][name] for name in ("labels", "annotations")}}, "p"))
        await site.later(65)
        assert await _told(site) == ("False", "RestoreFailed")
        assert (await site.graph())["metadata"]["annotations"][f"{FAILURE_KEY}.worker"] == f"{HASH}/1"
        [made] = (await site.all(grove)).values()
        assert made["spec"]["template"]["cliques"][0]["spec"]["podSpec"]["containers"][0]["command"] != ["sleep", "infinity"]


LABELS = {"nvidia.com/snapshot-is-restore-target": "true", "nvidia.com/snapshot-checkpoint-id": "h"}
MARKED = {"nvidia.com/snapshot-artifact-version": "1", f"{STATUS}main": "failed"}


@run_each(
    ("labels", "annotations", "counts"),
    [
        ({}, {}, True),
        ({"nvidia.com/snapshot-checkpoint-id": "other"}, {}, False),
        ({"nvidia.com/snapshot-is-restore-target": "false"}, {}, False),
        ({}, {"nvidia.com/snapshot-artifact-version": "2"}, False),
        ({}, {f"{STATUS}main": "completed"}, False),
        ({}, {f"{STATUS}main": None, STATUS: "failed"}, False),
        ({}, {f"{STATUS}main": 7, f"{STATUS}engine-1": "failed"}, True),
    ],
)
def test_only_pods_of_this_snapshot_count(labels: Node, annotations: Node, *, counts: bool) -> None:
    pod: Node = {"metadata": {"name": "p", "labels": {**LABELS, **labels}, "annotations": {**MARKED, **annotations}}}
    pod["metadata"]["ownerReferences"] = [OWNER]
    failures = find_failed_pods([pod, {"metadata": {"name": "odd", "labels": None}}], Restore("h", "1", Storage("c", "/c"), ""))
    assert bool(failures) is counts
    assert all(isinstance(failure, FailedPod) and failure.pod == "p" for failure in failures)


@run_each("owners", [None, [], [{**OWNER, "controller": False}]])
def test_pods_that_nothing_controls_neither_end_restoring_nor_are_deleted(owners: Any) -> None:
    stray = {"metadata": {"name": "p", "labels": LABELS, "annotations": MARKED, "ownerReferences": owners}}
    assert find_failed_pods([stray] * 9, Restore("h", "1", Storage("c", "/c"), "")) == []


def test_the_annotation_of_a_long_name_is_a_key_that_kubernetes_takes() -> None:
    key = annotation_of({"kind": "DynamoGraphDeployment", "spec": {"name": "W" * 39 + "-orker"}})
    assert key == f"{FAILURE_KEY}.{'w' * 39}"
    assert len(key.partition("/")[2]) <= 63
