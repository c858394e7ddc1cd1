"""Admission as users of an API server see it: what refuses a write and how kubectl shows it, what is stored, and what is never judged.

What is said of which object is compared in test_check_agrees.py, what is stored of it in test_line15.py.
"""

import re
from typing import Any, TypeAlias

import pytest

from dynamo_webhooks.api.kinds import ALPHA, BETA
from tests.cluster.admission import SELECTED, Admission, wait_until_asked
from tests.cluster.harness import ControlPlane, Reply
from tests.cluster.objects import DISCOVERY, ORIGIN, graph, make, path_of
from tests.cluster.playing import MERGE
from tests.conversion.test_bounds import noise

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
    reply = plane.request("POST", path_of(obj), obj)
    assert reply.status == 201, reply.body
    return reply.body


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
    label = plane.request("PATCH", f"/api/v1/namespaces/{namespace}", {"metadata": {"labels": SELECTED}}, kind=MERGE)
    assert label.status == 200, label.body
    wait_until_asked(plane, admission, namespace)


def test_what_was_stored_before_us_may_be_labelled_reported_on_and_deleted(guarded_alpha: ControlPlane, admission: Admission) -> None:
    """Promise 4: an update is not refused for what it did not touch; status writes are never judged, nor is an object on its way out."""
    namespace = guarded_alpha.namespace()
    illegal = graph(namespace, spec={"pvcs": [{"name": ""}]}, annotations={DISCOVERY: "Pod"}, finalizers=["example.com/hold"])
    path = path_of(_stored(guarded_alpha, illegal), named=True)
    _judge(guarded_alpha, admission, namespace)
    done = guarded_alpha.kubectl("label", "dgd", "t", "-n", namespace, "team=a", user="author")
    assert done.code == 0, done.stderr
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


def test_what_is_too_long_for_the_other_version_is_refused_unless_it_is_stored(guarded_alpha: ControlPlane, admission: Admission) -> None:
    """Its update is a warning; kubectl shows the field and the size in either case."""
    namespace = guarded_alpha.namespace()
    long = graph(namespace, {"w": {"annotations": {"a": noise(300_000)}}})
    _stored(guarded_alpha, long)
    _judge(guarded_alpha, admission, namespace)
    done = guarded_alpha.kubectl("label", "dgd", "t", "-n", namespace, "team=a", user="author")
    assert done.code == 0, done.stderr
    field = "spec.services[w].annotations[a]: must be smaller:"
    assert f"Warning: {field} 294 of 256 KiB of annotations in v1beta1; read-only there" in done.stderr
    long["metadata"]["name"] = "u"
    done = guarded_alpha.kubectl("create", "-f", "-", input=long, user="author")
    assert done.code == 1
    assert f"{field} in v1beta1 it needs 294 of 256 KiB of annotations [long-remainder]" in done.stderr


def test_replicas_belong_to_the_adapter(guarded_alpha: ControlPlane, guarded: str) -> None:
    """In the version that is served today: refused to people, the planner's account may."""
    stored = _stored(guarded_alpha, graph(guarded, {"w": {"replicas": 1, "scalingAdapter": {"enabled": True}}}))
    scale = ("patch", "dgd", "t", "-n", guarded, "--type=merge", "-p", '{"spec":{"services":{"w":{"replicas":3}}}}')
    refused = guarded_alpha.kubectl(*scale, user="author")
    assert refused.code == 1
    assert "scaling-adapter-owns-replicas" in refused.stderr
    planner = f"system:serviceaccount:{guarded}:planner-serviceaccount"
    done = guarded_alpha.kubectl(*scale, "--as", planner, "--as-group", "authors")
    assert done.code == 0, done.stderr
    assert guarded_alpha.request("GET", path_of(stored, named=True)).body["spec"]["services"]["w"]["replicas"] == 3


def test_an_adapter_is_judged_by_its_schema_alone(guarded_alpha: ControlPlane, guarded: str) -> None:
    """Scaling it through the subresource and pointing it elsewhere both pass."""
    stored = _stored(guarded_alpha, make("DGDSA", ALPHA, guarded, {"replicas": 1, "dgdRef": {"name": "g", "serviceName": "w"}}))
    done = guarded_alpha.kubectl("scale", "dgdsa", "t", "-n", guarded, "--replicas=5", user="author")
    assert done.code == 0, done.stderr
    moved = _patch(guarded_alpha, stored, {"spec": {"dgdRef": {"name": "h"}}})
    assert (moved.status, moved.body["spec"]["replicas"]) == (200, 5)


def _created(plane: ControlPlane, obj: Node) -> Node:
    """Creates through kubectl and returns what is stored."""
    done = plane.kubectl("create", "-f", "-", "-o", "json", input=obj)
    assert done.code == 0, done.stderr
    return plane.request("GET", path_of(done.json(), named=True)).body


def test_a_graph_gets_replicas_and_its_origin_by_every_write(guarded_alpha: ControlPlane, guarded: str) -> None:
    """And nothing else, where the specs of 1.2 got a dozen zero values with it; replicas that an update leaves out come back."""
    shown = guarded_alpha.kubectl("create", "--dry-run=server", "-o", "json", "-f", "-", input=graph(guarded, {"a": {}})).json()
    assert shown["spec"] == {"services": {"a": {"replicas": 1}}}
    assert guarded_alpha.request("GET", path_of(shown, named=True)).status == 404
    stored = _created(guarded_alpha, graph(guarded, {"a": {}}))
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


def test_a_component_is_named_after_its_object(guarded_beta: ControlPlane) -> None:
    """The same without a spec at all."""
    namespace = guarded_beta.namespace(SELECTED)
    stored = _created(guarded_beta, make("DCD", BETA, namespace, {}))
    assert stored["spec"] == {"name": "t"}
    assert _created(guarded_beta, make("DCD", BETA, namespace, None, name="u"))["spec"] == {"name": "u"}
