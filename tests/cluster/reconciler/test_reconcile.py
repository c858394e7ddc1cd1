"""Graphs on a real API server with Kubernetes' own controllers: the reconciler has its account's rights and no others."""

import contextlib
import http.client
import json
import re
import ssl
from typing import Any, Final

from dynamo_webhooks.api.kinds import BETA
from tests.cluster.admission import Admission
from tests.cluster.harness import ADMIN, TOKENS, ControlPlane
from tests.cluster.objects import POD, make, path_of
from tests.cluster.playing import MERGE
from tests.cluster.processes import fetched
from tests.cluster.reconciling import (
    ACCOUNTS,
    BINDINGS,
    COMPONENTS,
    DEPLOYMENTS,
    GRAPHS,
    REPLICA_SETS,
    ROLES,
    SERVICES,
    TEMPLATES,
    Reconciled,
)
from tests.reconciler.rendering import component, graph, vllm

Node = dict[str, Any]
KEPT: Final = "metadata.annotations[nvidia.com/dgd-spec]"


def _disagg(namespace: str, name: str = "g", *, replicas: int = 2, **more: Any) -> Node:
    frontend = component(
        "Frontend", "frontend", {"image": "img:1", "resources": {"limits": {"cpu": "1000m", "memory": "1024Mi"}}}, replicas=1
    )
    made = graph(frontend, vllm("decode", "decode", replicas=replicas, **more), vllm("prefill", "prefill"), name=name)
    made["metadata"]["namespace"] = namespace
    return made


def _workers(site: Reconciled, namespace: str, name: str = "g-decode-") -> set[str]:
    return {worker for worker in site.names(COMPONENTS, namespace) if worker.startswith(name)}


def test_a_disaggregated_graph_runs_says_so_and_is_collected(site: Reconciled) -> None:
    namespace = site.plane.namespace()
    memory: Node = {"experimental": {"gpuMemoryService": {"mode": "IntraPod", "deviceClassName": "gpu.nvidia.com"}}}
    devices = site.plane.has_devices
    site.plane.apply(_disagg(namespace, **(memory if devices else {})))
    site.ready(namespace)
    components = site.names(COMPONENTS, namespace)
    assert len(components) == 3
    assert site.names(DEPLOYMENTS, namespace) == components == site.names(SERVICES, namespace)
    assert len(site.names(REPLICA_SETS, namespace)) == 3
    assert site.names(ACCOUNTS, namespace) == {"g-k8s-service-discovery"}
    assert site.names(ROLES, namespace) == {"g-k8s-service-discovery-role"}
    assert site.names(BINDINGS, namespace) == {"g-k8s-service-discovery-binding"}
    claims = (TEMPLATES,) if devices else ()
    assert [site.names(path, namespace) for path in claims] == [{"g-decode-gpu"} for _ in claims]
    status = site.get(GRAPHS, namespace, "g")["status"]
    assert status["components"]["decode"]["availableReplicas"] == 2
    assert [(row["type"], row["status"], row["reason"]) for row in status["conditions"]] == [("Ready", "True", "all_resources_are_ready")]
    site.told(namespace, "g", ("Normal", "AllResourcesAreReady", ""))
    reply = site.plane.request("DELETE", f"{GRAPHS.format(namespace)}/g")
    assert reply.status == 200
    everything = (COMPONENTS, DEPLOYMENTS, REPLICA_SETS, SERVICES, ACCOUNTS, ROLES, BINDINGS, *claims)
    site.until(lambda: not any(site.names(path, namespace) for path in everything), "everything being collected")


def test_what_is_at_rest_is_not_written_and_a_hand_on_it_is_undone(site: Reconciled) -> None:
    namespace = site.plane.namespace()
    site.plane.apply(_disagg(namespace))
    site.ready(namespace)

    def versions() -> dict[str, str]:
        paths = (GRAPHS, COMPONENTS, SERVICES, ROLES, BINDINGS)
        objects = [obj for path in paths for obj in site.plane.request("GET", path.format(namespace)).body["items"]]
        return {f"{obj['metadata']['name']} {obj['metadata']['uid']}": obj["metadata"]["resourceVersion"] for obj in objects}

    before = versions()
    elsewhere = site.plane.namespace()
    site.plane.apply(_disagg(elsewhere))  # the reconciler is awake and at work meanwhile
    site.ready(elsewhere)
    assert versions() == before
    assert site.plane.kubectl("scale", "-n", namespace, "deployment/g-frontend", "--replicas=3").code == 0
    site.until(lambda: site.get(DEPLOYMENTS, namespace, "g-frontend")["spec"]["replicas"] == 1, "the number being as it was")
    assert site.plane.request("DELETE", f"{SERVICES.format(namespace)}/g-frontend").status == 200
    site.until(lambda: "g-frontend" in site.names(SERVICES, namespace), "the Service being made again")


def test_a_new_generation_comes_up_before_the_old_goes_even_if_the_reconciler_is_killed_meanwhile(site: Reconciled) -> None:
    namespace = site.plane.namespace()
    site.plane.apply(_disagg(namespace))
    site.ready(namespace)
    old = _workers(site, namespace)
    assert len(old) == 1
    [before] = old
    changed = _disagg(namespace, args=("--max-model-len", "4096"))
    from_old = site.get(COMPONENTS, namespace, before)["metadata"]["labels"]["nvidia.com/dynamo-worker-hash"]
    site.pods.held.add("g-decode-")  # no new pod of the component becomes ready
    site.plane.apply(changed)
    site.until(lambda: len(_workers(site, namespace)) == 2, "the new generation being made")
    [after] = _workers(site, namespace) - old
    site.until(
        lambda: site.get(GRAPHS, namespace, "g")["status"].get("rollingUpdate", {}).get("phase") == "InProgress", "the roll being told"
    )
    site.kill()
    site.reconcile()
    assert site.get(DEPLOYMENTS, namespace, before)["status"]["availableReplicas"] == 2
    site.pods.held.clear()
    site.until(lambda: _workers(site, namespace) == {after}, "the old generation being gone")
    site.ready(namespace)
    assert from_old not in after
    assert site.get(GRAPHS, namespace, "g")["status"]["rollingUpdate"]["phase"] == "Completed"
    site.until(lambda: before not in site.names(DEPLOYMENTS, namespace), "its Deployment being collected")


def test_probes_and_metrics_are_served_and_a_successor_need_not_wait_for_an_orderly_end(site: Reconciled) -> None:
    namespace = site.plane.namespace()
    site.plane.apply(_disagg(namespace))
    site.ready(namespace)
    process = site.processes[-1]
    addresses = dict(re.findall(r"^(probes|metrics) http://(\S+)$", process.text(), re.MULTILINE))
    assert fetched(addresses["probes"], "/healthz") == (200, "ok\n")
    _, text = fetched(addresses["metrics"], "/metrics")
    assert "dynamo_webhooks_reconciler_leading 1.0" in text
    for method, code in (("GET", "200"), ("POST", "201"), ("PATCH", "20[01]")):
        pattern = rf'^rest_client_requests_total\{{code="{code}",host="127.0.0.1:{site.plane.port}",method="{method}"\}} [1-9]'
        assert re.search(pattern, text, re.MULTILINE)
    assert re.search(
        r'^dynamo_operator_resources_total\{resource_type="DynamoGraphDeployment",status="successful"\} [1-9]', text, re.MULTILINE
    )
    site.processes.remove(process)
    assert process.stop(patience=60) == 0
    lease = site.plane.request("GET", "/apis/coordination.k8s.io/v1/namespaces/dynamo-system/leases/dynamo-webhooks-reconciler").body
    assert not lease["spec"].get("holderIdentity")
    site.reconcile()
    site.patch(
        GRAPHS, namespace, "g", [{"op": "replace", "path": "/spec/components/0/replicas", "value": 2}], "application/json-patch+json"
    )
    site.ready(namespace)
    assert site.get(DEPLOYMENTS, namespace, "g-frontend")["spec"]["replicas"] == 2


DEPTHS: Final = (900, 1010, 3000, 9000)  # maps within one another; our decoder's bound is 1,024, the API server's 10,000
REFUSAL: Final = "spec: must be nested at most 200 levels deep; flatten the deepest part"


def _graph(namespace: str, name: str, *more: Any) -> dict[str, Any]:
    worker = {"name": "w", "type": "worker", "replicas": 1, "podTemplate": POD}
    return make("DGD", BETA, namespace, {"components": [worker, *more]}, name=name)


def _post_deep(plane: ControlPlane, namespace: str, depth: int) -> int:
    """Creates a graph that is written as text, because json's own encoder has a bound, too."""
    config = {"plugins": [], "schedulingProfiles": [], "more": "DEEP"}
    graph = _graph(namespace, f"deep-{depth}", {"name": "e", "type": "epp", "podTemplate": POD, "eppConfig": {"config": config}})
    text = json.dumps(graph).replace('"DEEP"', '{"x":' * depth + "1" + "}" * depth)
    context = ssl.create_default_context(cafile=str(plane.ca))
    headers = {"Authorization": f"Bearer {TOKENS[ADMIN][0]}", "Content-Type": "application/json"}
    with contextlib.closing(http.client.HTTPSConnection("127.0.0.1", plane.port, context=context)) as connection:
        connection.request("POST", path_of(graph), text, headers)
        response = connection.getresponse()
        response.read()
        return response.status


def test_deep_graphs_are_refused_and_stop_no_other(site: Reconciled) -> None:
    """Nested as deeply as an API server stores them."""
    namespace = site.plane.namespace()
    for depth in DEPTHS:
        assert _post_deep(site.plane, namespace, depth) == 201
    site.plane.request("POST", path_of(_graph(namespace, "good")), _graph(namespace, "good"))
    site.ready(namespace, "good")
    for depth in DEPTHS:
        site.until(lambda depth=depth: _message(site, namespace, depth) == REFUSAL, f"the graph of depth {depth} being refused")  # type: ignore[misc]
    # nor does one that begins anew, and lists them all
    site.kill()
    site.reconcile()
    site.plane.request("POST", path_of(_graph(namespace, "later")), _graph(namespace, "later"))
    site.ready(namespace, "later")


def _message(site: Reconciled, namespace: str, depth: int) -> str:
    """Of the condition of a deep graph, asked for as a table: Python's own decoder doesn't take it either."""
    path = f"{GRAPHS.format(namespace)}/deep-{depth}"
    output = site.plane.kubectl("get", "--raw", path).stdout
    return REFUSAL if REFUSAL in output else ""


def test_what_an_annotation_keeps_for_v1alpha1_is_judged_by_reconciler_and_webhook(site: Reconciled, admission: Admission) -> None:
    ingress = {"enabled": True, "ingressControllerClassName": "nginx", "host": "https://bank.example.com"}
    kept = json.dumps({"version": 1, "spec": {"services": {"Frontend": {"ingress": ingress}}}})
    label = {"dynamo-webhooks.test/kept": "on"}
    namespace = site.plane.namespace(label)
    forged = _disagg(namespace)
    forged["metadata"]["annotations"] = {"nvidia.com/dgd-spec": kept}
    message = "spec.services[Frontend].ingress.host of v1alpha1 must be a host name"
    assert site.plane.request("POST", path_of(forged), forged).status == 201
    site.until(lambda: message in site.condition(namespace).get("message", ""), "the reconciler refusing it")
    assert site.names("/apis/networking.k8s.io/v1/namespaces/{}/ingresses", namespace) == set()
    site.plane.apply(admission.configurations("kept", label)[0])
    other = {**forged, "metadata": {**forged["metadata"], "name": "h"}}

    def refused() -> bool:
        reply = site.plane.request("POST", f"{path_of(other)}?dryRun=All", other)
        return reply.status == 422 and message in reply.body["message"] and reply.causes() == {(KEPT, "FieldValueInvalid")}

    site.until(refused, "the webhook refusing it")
    # what was there before it may be changed elsewhere
    site.plane.request("PATCH", path_of(forged, named=True), {"metadata": {"labels": {"a": "b"}}}, kind=MERGE).done()
