"""Admission as users of an API server see it: what refuses a write and how kubectl shows it, what is stored, and what is never judged.

What is said of which object is compared in test_check_agrees.py, what is stored of it without webhooks in test_cel.py.
"""

import re
from typing import Any, TypeAlias

import pytest

from tests.cluster.admission import SELECTED, Admission, wait_until_asked
from tests.cluster.harness import ControlPlane, Reply
from tests.cluster.objects import DISCOVERY, ORIGIN, graph, path_of
from tests.cluster.playing import MERGE

Node: TypeAlias = dict[str, Any]


def _thrice_wrong(namespace: str) -> Node:
    return graph(
        namespace, spec={"restart": {"id": "r", "strategy": {"order": ["x"]}}, "pvcs": [{"name": ""}]}, annotations={DISCOVERY: "Pod"}
    )


def _rules(reply: Reply) -> set[str]:
    """The names of our rules among the causes; schema causes carry none."""
    causes = (reply.body.get("details") or {}).get("causes", [])
    return {name for cause in causes for name in re.findall(r"\[([a-z0-9-]+)\]$", cause["message"])}


def _create(plane: ControlPlane, obj: Node, query: str = "") -> Reply:
    return plane.request("POST", path_of(obj) + query, obj)


def _stored(plane: ControlPlane, obj: Node) -> Node:
    return plane.request("POST", path_of(obj), obj).done()


def _patch(plane: ControlPlane, obj: Node, change: Node, subresource: str = "") -> Reply:
    return plane.request("PATCH", path_of(obj, named=True) + subresource, change, kind=MERGE)


def test_all_causes_are_in_the_status(guarded_alpha: ControlPlane, guarded: str) -> None:
    reply = _create(guarded_alpha, _thrice_wrong(guarded))
    assert (reply.status, reply.body["reason"]) == (422, "Invalid")
    assert 'admission webhook "vdynamographdeployment.kb.io" denied the request' in reply.body["message"]
    assert {"dgd-annotation-discovery-mode", "restart-order-unknown", "pvc-name-required"} <= _rules(reply)
    assert {f"metadata.annotations[{DISCOVERY}]", "spec.pvcs[0].name"} <= {field for field, _ in reply.causes()}
    details = reply.body["details"]
    assert (details["name"], details["group"], details["kind"]) == ("t", "nvidia.com", "DynamoGraphDeployment")
    assert _create(guarded_alpha, _thrice_wrong(guarded), "?dryRun=All").body == reply.body


@pytest.mark.parametrize("command", ["create", "apply", "apply --server-side", "apply --dry-run=server"])
def test_all_causes_are_visible_in_kubectl(guarded_alpha: ControlPlane, guarded: str, command: str) -> None:
    done = guarded_alpha.kubectl(*command.split(), "-f", "-", input=_thrice_wrong(guarded), user="author")
    assert done.code == 1
    for words in ("dgd-annotation-discovery-mode", "restart-order-unknown", "pvc-name-required", "spec.pvcs[0].name"):
        assert words in done.stderr, done.stderr


def test_warnings_are_printed_and_do_not_refuse(guarded_alpha: ControlPlane, guarded: str) -> None:
    obj = graph(guarded, {"w": {"autoscaling": {"enabled": False}, "dynamoNamespace": "old"}})
    done = guarded_alpha.kubectl("create", "-f", "-", input=obj)
    assert done.code == 0, done.stderr
    ours = [line for line in done.stderr.splitlines() if line.startswith("Warning: spec.services[w]")]
    assert any("[warn-autoscaling]" in line for line in ours), done.stderr
    assert any("dynamoNamespace" in line for line in ours), done.stderr


def _judge(plane: ControlPlane, admission: Admission, namespace: str) -> None:
    """Has a namespace, whose objects no webhook judged so far, judged from now on."""
    plane.request("PATCH", f"/api/v1/namespaces/{namespace}", {"metadata": {"labels": SELECTED}}, kind=MERGE).done()
    wait_until_asked(plane, admission, namespace)


def test_what_was_stored_before_us_may_be_labelled_reported_on_and_deleted(guarded_alpha: ControlPlane, admission: Admission) -> None:
    """Promise 4: an update is not refused for what it did not touch; status writes are never judged, nor is an object on its way out."""
    namespace = guarded_alpha.namespace()
    illegal = graph(namespace, spec={"pvcs": [{"name": ""}]}, annotations={DISCOVERY: "Pod"}, finalizers=["example.com/hold"])
    path = path_of(_stored(guarded_alpha, illegal), named=True)
    _judge(guarded_alpha, admission, namespace)
    guarded_alpha.kubectl("label", "dgd", "t", "-n", namespace, "team=a", user="author").done()
    current = guarded_alpha.request("GET", path).body
    assert current["metadata"]["labels"] == {"team": "a"}
    status = {"state": "failed", "rollingUpdate": {"phase": "InProgress"}}
    reply = guarded_alpha.request("PUT", path + "/status", {**current, "status": status})
    assert (reply.status, reply.body.get("status")) == (200, status), reply.body
    assert _create(guarded_alpha, graph(namespace, name="u", annotations={DISCOVERY: "Pod"})).status == 422

    assert guarded_alpha.request("DELETE", path).status == 200
    leaving = _patch(guarded_alpha, illegal, {"spec": {"services": {"w": None}}, "metadata": {"annotations": {DISCOVERY: "Worse"}}})
    assert leaving.status == 200, leaving.body
    assert _patch(guarded_alpha, illegal, {"metadata": {"finalizers": None}}).status == 200
    assert guarded_alpha.request("GET", path).status == 404


def test_a_graph_gets_replicas_and_its_origin_by_every_write(guarded_alpha: ControlPlane, guarded: str) -> None:
    """And nothing else, where the specs of 1.2 got a dozen zero values with it; replicas that an update leaves out come back."""
    shown = guarded_alpha.kubectl("create", "--dry-run=server", "-o", "json", "-f", "-", input=graph(guarded, {"a": {}})).json()
    assert shown["spec"] == {"services": {"a": {"replicas": 1}}}
    assert guarded_alpha.request("GET", path_of(shown, named=True)).status == 404
    stored = _stored(guarded_alpha, graph(guarded, {"a": {}}))
    assert stored["spec"] == {"services": {"a": {"replicas": 1}}}
    assert stored["metadata"]["annotations"] == {ORIGIN: "1.2.0"}
    assert "status" not in stored
    del stored["spec"]["services"]["a"]["replicas"]
    reply = guarded_alpha.request("PUT", path_of(stored, named=True), stored)
    assert (reply.status, reply.body["spec"]) == (200, {"services": {"a": {"replicas": 1}}}), reply.body
    apply = ("apply", "--server-side", "-o", "json", "-f", "-")
    first, again = (guarded_alpha.kubectl(*apply, input=graph(guarded, name="u")).json() for _ in range(2))
    assert first["spec"]["services"]["w"]["replicas"] == 1
    assert again["metadata"]["resourceVersion"] == first["metadata"]["resourceVersion"]
