"""Pods after they are made: the label of their place, and restored ones whose GPU memory service has restarted."""

import contextlib
from collections.abc import AsyncIterator
from typing import Any, Final

from dynamo_webhooks.kube.errors import ForbiddenError
from dynamo_webhooks.kube.protocol import Node
from dynamo_webhooks.kube.resources import NODES, PODS
from dynamo_webhooks.reconciler.pod.decide import PodChange, decide, find_missing_label, trim_pod
from dynamo_webhooks.reconciler.render.names import RESTORE_TARGET, TARGET_CONTAINERS, TOPOLOGY_LABEL
from tests.reconciler.rendering import graph, vllm
from tests.reconciler.site import NAMESPACE, Site, running
from tests.rows import run_each

OWNER: Final = {"apiVersion": "apps/v1", "kind": "ReplicaSet", "name": "r", "uid": "r", "controller": True}
ZONE: Final = "topology.kubernetes.io/zone"
LABELS: Final = {"nvidia.com/dynamo-graph-deployment-name": "g", "nvidia.com/dynamo-component": "worker"}
POLICY: Final = {"kvTransferPolicy": {"labelKey": ZONE, "domain": "zone", "enforcement": "required"}}


def _pod(name: str = "p", node: str = "n", key: str = ZONE, **labels: str) -> Node:
    metadata: Node = {"name": name, "namespace": NAMESPACE, "labels": {**LABELS, **labels}}
    metadata["annotations"] = {TOPOLOGY_LABEL: key} if key else {}
    return {"apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": {"nodeName": node} if node else {}}


def _node(name: str = "n", **labels: str) -> Node:
    return {"apiVersion": "v1", "kind": "Node", "metadata": {"name": name, "labels": labels}}


def test_a_scheduled_pod_gets_the_one_label_that_it_names() -> None:
    assert decide(_pod(), _node(**{ZONE: "a", "other": "x"})) == PodChange(labels={ZONE: "a"})


GOES: Final = {**_pod(), "metadata": {**_pod()["metadata"], "deletionTimestamp": "2026-01-01T00:00:00Z"}}


@run_each("pod", [_pod(node=""), _pod(key=""), _pod(**{ZONE: "b"}), _pod() | {"spec": None}, GOES])
def test_other_pods_get_none(pod: Node) -> None:
    assert find_missing_label(pod) == ""
    assert decide(pod, _node(**{ZONE: "a"})) == PodChange()


def test_a_node_without_the_label_is_told_of() -> None:
    assert ZONE in decide(_pod(), _node()).lacking
    assert decide(_pod(), None) == PodChange()


def _restored(server: str = "2026-01-01T00:00:20Z", restarts: int = 1, *, started: bool = True, target: str = "true") -> Node:
    pod = _pod(key="", **{RESTORE_TARGET: target})
    pod["metadata"] |= {"annotations": {TARGET_CONTAINERS: "main", "more": "x"}, "ownerReferences": [OWNER]}
    main = {"name": "main", "started": started, "state": {"running": {"startedAt": "2026-01-01T00:00:10Z"}}, "image": "i"}
    sidecar = {"name": "gms-server", "restartCount": restarts, "state": {"running": {"startedAt": server}}}
    pod["status"] = {"containerStatuses": [main, {"name": "side", "started": True}], "initContainerStatuses": [sidecar]}
    return pod


def test_a_restored_pod_whose_server_restarted_is_replaced() -> None:
    pod = _restored()
    assert "gms-server" in decide(pod, None).broken
    trim_pod(pod)
    assert "gms-server" in decide(pod, None).broken
    assert "more" not in pod["metadata"]["annotations"]


@run_each(
    "pod",
    [
        _restored(restarts=0),
        _restored("2026-01-01T00:00:05Z"),
        _restored(started=False),
        _restored(target="false"),
        _restored() | {"status": {}},
        _restored("") | {"status": {"initContainerStatuses": "damaged"}},
    ],
    ids=["never restarted", "restarted before", "not restored yet", "not restored", "no status", "damaged"],
)
def test_another_pod_stays(pod: Node) -> None:
    assert decide(pod, None) == PodChange()


@contextlib.asynccontextmanager
async def _site(*denied: tuple[str, str], **experimental: Any) -> AsyncIterator[Site]:
    async with running(graph(vllm("worker"), experimental=experimental), denied=denied) as site:
        await site.later(10)
        yield site


async def _labels(site: Site, name: str = "p") -> dict[str, str]:
    labels: dict[str, str] = (await site.all(PODS))[name]["metadata"]["labels"]
    return labels


async def test_pods_are_labelled_once_they_have_a_node_and_that_the_label() -> None:
    async with _site(**POLICY) as site:
        await site.user.create(NODES, _node())
        await site.create(PODS, _pod(node=""), 2)
        assert ZONE not in await _labels(site)
        await site.patch(PODS, "p", {"spec": {"nodeName": "n"}}, 2)
        assert "TopologyLabelMissing" in await site.reasons()
        await site.user.merge_patch(NODES, "n", {"metadata": {"labels": {ZONE: "b"}}})
        await site.later(65)
        assert (await _labels(site))[ZONE] == "b"
        assert (await site.condition(kind="FieldsIgnored")) == {}
        before = (await site.all(PODS))["p"]["metadata"]["resourceVersion"]
        await site.later(300)
        assert (await site.all(PODS))["p"]["metadata"]["resourceVersion"] == before


async def test_a_refused_label_is_told_of_with_a_remedy_and_tried_again() -> None:
    async with _site(**POLICY) as site:
        await site.user.create(NODES, _node(**{ZONE: "a"}))
        mend = site.refuse(ForbiddenError(403, "Forbidden", "admission webhook denied the request"), "merge_patch", PODS)
        await site.create(PODS, _pod(), 2)
        [text] = {text for _, reason, text in await site.events() if reason == "TopologyLabelRefused"}
        assert text.startswith("admission webhook denied the request; if Grove's authorizer refuses it")
        mend()
        await site.later(65)
        assert (await _labels(site))[ZONE] == "a"


async def test_without_the_permission_the_graph_says_that_its_policy_has_no_effect() -> None:
    async with _site(("get", "nodes"), **POLICY) as site:
        await site.create(PODS, _pod(), 5)
        assert ZONE not in await _labels(site)
        condition = await site.condition(kind="FieldsIgnored")
        assert "components/topology-labels" in condition["message"]
        assert "spec.experimental.kvTransferPolicy" in condition["message"]


@run_each("owners", [None, [], [{**OWNER, "controller": False}]])
def test_a_pod_that_only_bears_our_labels_stays(owners: Any) -> None:
    pod = _restored()
    pod["metadata"]["ownerReferences"] = owners
    assert decide(pod, None) == PodChange()
    trim_pod(pod)
    assert decide(pod, None) == PodChange()


async def test_a_broken_pod_is_deleted_where_that_is_permitted() -> None:
    for denied, left in (((), []), ((("delete", "pods"),), ["p"])):
        async with _site(*denied) as site:
            pod, stays = _restored(), {**OWNER, "uid": (await site.graph())["metadata"]["uid"]}
            pod["metadata"]["ownerReferences"] = [stays]
            await site.kubelet.create(PODS, pod, NAMESPACE)
            await site.report(PODS, "p", _restored()["status"], 5)
            assert [*await site.all(PODS)] == left
            assert ("RestoredPodReplaced" in await site.reasons()) is not bool(left)
