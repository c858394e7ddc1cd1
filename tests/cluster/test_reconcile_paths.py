"""Running graphs on a real API server: neither rolls, nor deletions of other graphs, nor optional APIs take away what serves."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from dynamo_webhooks.api.crd import build as crd
from tests.cluster.grove import SETS, Grove, definitions
from tests.cluster.reconciling import (
    ACCOUNTS,
    BINDINGS,
    COMPONENTS,
    DEPLOYMENTS,
    EVENTS,
    GRAPHS,
    NAMESPACE,
    PODS,
    ROLES,
    SERVICES,
    Reconciled,
    reconciled,
)
from tests.cluster.rendering import charted, of_kind
from tests.reconciler.rendering import component, graph, vllm

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

Node = dict[str, Any]
CHECKPOINTS = "/apis/nvidia.com/v1alpha1/namespaces/{}/dynamocheckpoints"
MODEL = "dynamo-model-fb68f5a6"


def _disagg(namespace: str, name: str = "g", *args: str, replicas: int = 2) -> Node:
    """A graph whose two sorts of workers serve one model."""
    model: Node = {"modelRef": {"name": "Qwen/Qwen3-0.6B"}, "replicas": replicas, "args": args}
    frontend = component("Frontend", "frontend", {"image": "img:1"}, replicas=1)
    made = graph(frontend, vllm("decode", "decode", **model), vllm("prefill", "prefill", **model), name=name)
    made["metadata"]["namespace"] = namespace
    return made


def _uid(site: Reconciled, path: str, namespace: str, name: str) -> str:
    return str(site.get(path, namespace, name)["metadata"]["uid"])


def _available(site: Reconciled, namespace: str, name: str) -> int:
    if name not in site.names(DEPLOYMENTS, namespace):
        return 0
    return int(site.get(DEPLOYMENTS, namespace, name).get("status", {}).get("availableReplicas", 0))


def test_a_roll_whose_decode_never_comes_up_leaves_prefill_and_decode_together(site: Reconciled) -> None:
    namespace = site.plane.namespace()
    site.plane.apply(_disagg(namespace))
    site.ready(namespace)
    model = _uid(site, SERVICES, namespace, MODEL)
    old = site.names(COMPONENTS, namespace) - {"g-frontend"}
    [generation] = {name.rpartition("-")[2] for name in old}
    site.pods.held.add("g-decode-")  # none that is made from now on
    site.plane.apply(_disagg(namespace, "g", "--new"))
    site.until(lambda: len(site.names(COMPONENTS, namespace)) == 5, "the new generation being made")
    [prefill] = [name for name in site.names(COMPONENTS, namespace) - old if "prefill" in name]
    site.until(lambda: _available(site, namespace, prefill) >= 1, "new prefill being ready")
    elsewhere = site.plane.namespace()
    site.plane.apply(_disagg(elsewhere, "z"))  # the reconciler is awake and at work meanwhile
    site.ready(elsewhere, "z")
    for name in ("decode", "prefill"):
        assert _available(site, namespace, f"g-{name}-{generation}") >= 1
    site.pods.held.clear()
    site.until(lambda: not old & site.names(COMPONENTS, namespace), "the old generation being gone")
    site.ready(namespace)
    found = site.get(SERVICES, namespace, MODEL)["metadata"]
    assert (found["uid"], [one["kind"] for one in found["ownerReferences"]]) == (model, ["DynamoGraphDeployment"])


def test_the_service_of_a_model_serves_two_graphs_until_the_last_is_gone(site: Reconciled) -> None:
    namespace = site.plane.namespace()
    site.plane.apply(_disagg(namespace))
    site.ready(namespace)
    site.plane.apply(_disagg(namespace, "h"))
    site.ready(namespace, "h")
    uid = _uid(site, SERVICES, namespace, MODEL)
    assert site.plane.request("DELETE", f"{GRAPHS.format(namespace)}/g").status == 200

    def owners() -> list[tuple[str, bool]]:
        found = site.get(SERVICES, namespace, MODEL)["metadata"]
        assert found["uid"] == uid
        return [(one["name"], one.get("controller", False)) for one in found["ownerReferences"]]

    site.until(lambda: owners() == [("h", True)], "the other graph having taken it over")
    assert site.plane.request("DELETE", f"{GRAPHS.format(namespace)}/h").status == 200
    site.until(lambda: MODEL not in site.names(SERVICES, namespace), "it being collected")


def test_a_graph_deleted_without_its_children_takes_them_up_again(site: Reconciled) -> None:
    namespace = site.plane.namespace()
    site.plane.apply(_disagg(namespace))
    site.ready(namespace)
    kinds = (COMPONENTS, DEPLOYMENTS, SERVICES, ACCOUNTS, ROLES, BINDINGS)

    def uids() -> dict[str, str]:
        return {f"{path} {name}": _uid(site, path, namespace, name) for path in kinds for name in site.names(path, namespace)}

    before = uids()
    done = site.plane.kubectl("delete", "dynamographdeployment/g", "-n", namespace, "--cascade=orphan")
    assert done.code == 0, done.stderr
    site.plane.apply(_disagg(namespace))
    site.ready(namespace)
    assert uids() == before
    graph_uid = _uid(site, GRAPHS, namespace, "g")
    for name in site.names(COMPONENTS, namespace):
        assert [one["uid"] for one in site.get(COMPONENTS, namespace, name)["metadata"]["ownerReferences"]] == [graph_uid]


def test_old_pods_keep_their_rights_until_they_have_ended(site: Reconciled) -> None:
    namespace = site.plane.namespace()
    site.plane.apply(_disagg(namespace))
    site.ready(namespace)
    site.pods.held |= {"g-decode-", "g-prefill-"}
    changed = _disagg(namespace)
    changed["metadata"]["annotations"] = {"nvidia.com/dynamo-discovery-backend": "etcd"}
    site.plane.apply(changed)
    site.until(lambda: len(site.names(COMPONENTS, namespace)) == 5, "the new generation being made")
    site.until(lambda: site.state(namespace) == "pending", "the roll being told")
    assert site.names(ACCOUNTS, namespace) == {"g-k8s-service-discovery"}
    assert len(site.names(ROLES, namespace)) == len(site.names(BINDINGS, namespace)) == 1
    site.pods.held.clear()
    site.ready(namespace)
    kinds = (ACCOUNTS, ROLES, BINDINGS)
    site.until(lambda: not any(site.names(path, namespace) for path in kinds), "rights that nobody needs being gone")


def test_a_graph_that_is_not_ready_says_why_its_pods_wait(site: Reconciled) -> None:
    namespace = site.plane.namespace()
    site.pods.held.add("stuck-")
    site.plane.apply(_disagg(namespace, "stuck"))
    site.until(lambda: len(site.names(PODS, namespace)) == 5, "pods being made")
    [pod, *_] = sorted(name for name in site.names(PODS, namespace) if "decode" in name)
    condition = {"type": "PodScheduled", "status": "False", "reason": "Unschedulable", "message": "0/3 nodes are available"}
    condition["lastTransitionTime"] = "2026-01-01T00:00:00Z"
    site.patch(PODS, namespace, f"{pod}/status", {"status": {"conditions": [condition]}})
    told = f". Pods wait: {pod}: Unschedulable: 0/3 nodes are available"
    site.until(lambda: _condition(site, namespace, "stuck").get("message", "").endswith(told), "the reason being told")


def test_an_object_that_no_controller_acts_on_says_so(site: Reconciled) -> None:
    namespace = site.plane.namespace()
    site.plane.install(crd("DynamoCheckpoint", versions=["v1alpha1"]))
    identity = {"model": "Qwen/Qwen3-0.6B", "backendFramework": "vllm"}
    template = {"spec": {"containers": [{"name": "main", "image": "img:1"}]}}
    made = {"apiVersion": "nvidia.com/v1alpha1", "kind": "DynamoCheckpoint", "metadata": {"name": "m", "namespace": namespace}}
    site.plane.apply({**made, "spec": {"identity": identity, "job": {"podTemplateSpec": template}}})
    worker = vllm("worker", experimental={"checkpoint": {"identity": identity}})
    warm = graph(component("Frontend", "frontend", {"image": "img:1"}), worker, name="warm")
    site.plane.apply({**warm, "metadata": {"name": "warm", "namespace": namespace}})
    site.ready(namespace, "warm")
    told = _condition(site, namespace, "warm", "Restore")
    assert (told["status"], told["reason"]) == ("False", "Forbidden")
    assert "add the component overlays/checkpoints" in told["message"]
    site.until(lambda: bool(site.get(CHECKPOINTS, namespace, "m").get("status")), "the checkpoint saying that nobody acts on it")
    [condition] = site.get(CHECKPOINTS, namespace, "m")["status"]["conditions"]
    assert (condition["type"], condition["reason"]) == ("Reconciled", "Forbidden")
    events = site.plane.request("GET", EVENTS.format(namespace)).body["items"]
    assert [one["reason"] for one in events if one["involvedObject"]["name"] == "m"] == ["Forbidden"]


@pytest.fixture
def bare(assets: Any, tmp_path: Path) -> Iterator[Reconciled]:
    """A cluster of its own, to which Grove comes and from which it goes."""
    with reconciled(assets, tmp_path) as found:
        yield found


def _again(site: Reconciled) -> None:
    """Another process, which asks at once what the cluster serves."""
    assert site.processes.pop().stop(patience=60) == 0
    site.reconcile()


def _condition(site: Reconciled, namespace: str, name: str = "g", kind: str = "Ready") -> Node:
    found = site.get(GRAPHS, namespace, name).get("status", {}).get("conditions", ())
    return next((one for one in found if one["type"] == kind), {})


def test_a_graph_stays_where_it_runs_until_its_owner_moves_it(bare: Reconciled) -> None:
    site, namespace = bare, bare.plane.namespace()
    site.plane.apply(_disagg(namespace))
    site.ready(namespace)
    deployments = {name: _uid(site, DEPLOYMENTS, namespace, name) for name in site.names(DEPLOYMENTS, namespace)}
    service, model = (_uid(site, SERVICES, namespace, name) for name in ("g-frontend", MODEL))

    # the API appears, first without permissions and then with them
    site.plane.apply(*definitions())
    _again(site)
    site.plane.apply(_disagg(namespace, "later"))
    site.until(lambda: "lacks a permission" in _condition(site, namespace, "later").get("message", ""), "Grove being noticed")
    site.plane.apply(*of_kind(charted(NAMESPACE, "reconciler.orchestrators=true"), "ClusterRole", "ClusterRoleBinding"))
    _again(site)
    with Grove(site.plane):
        site.ready(namespace, "later")
        assert site.names(SETS, namespace) == {"later"}
        site.ready(namespace)
        assert {name: _uid(site, DEPLOYMENTS, namespace, name) for name in deployments} == deployments

        # its owner asks for Grove
        site.patch(GRAPHS, namespace, "g", {"metadata": {"annotations": {"nvidia.com/enable-grove": "true"}}})
        site.until(lambda: "g" in site.names(SETS, namespace), "the graph being on Grove")
        assert not deployments.keys() & site.names(DEPLOYMENTS, namespace)
        assert not any(name.startswith(("g-decode", "g-prefill", "g-frontend")) for name in site.names(PODS, namespace))
        site.ready(namespace)
        assert (_uid(site, SERVICES, namespace, "g-frontend"), _uid(site, SERVICES, namespace, MODEL)) == (service, model)

        # and back, and what the API made is gone before
        site.patch(GRAPHS, namespace, "g", {"metadata": {"annotations": {"nvidia.com/enable-grove": "false"}}})
        site.until(lambda: bool(deployments.keys() & site.names(DEPLOYMENTS, namespace)), "the graph being on Deployments again")
        assert site.names(SETS, namespace) == {"later"}
        site.ready(namespace)
        assert (_uid(site, SERVICES, namespace, "g-frontend"), _uid(site, SERVICES, namespace, MODEL)) == (service, model)

    # the API vanishes
    for one in definitions():
        assert (
            site.plane.request("DELETE", f"/apis/apiextensions.k8s.io/v1/customresourcedefinitions/{one['metadata']['name']}").status == 200
        )
    site.until(lambda: site.plane.request("GET", SETS.format(namespace)).status == 404, "the kind being gone")
    _again(site)
    reason = "GroveNotServed"
    site.until(lambda: _condition(site, namespace, "later", "Orchestrator").get("reason") == reason, "the graph being left alone")
    assert (site.state(namespace, "later"), _condition(site, namespace, "later")["status"]) == ("pending", "Unknown")
    assert not any(name.startswith("later") for name in site.names(COMPONENTS, namespace))
    site.ready(namespace)
