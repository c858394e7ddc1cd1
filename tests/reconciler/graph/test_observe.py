"""What is seen of the children of older releases, whose pods other objects select."""

import pytest

from dynamo_webhooks.kube.protocol import Node
from dynamo_webhooks.reconciler.component.observe import observe_component

_TYPE, _SUB_TYPE = "nvidia.com/dynamo-component-type", "nvidia.com/dynamo-sub-component-type"
_OLD = {_TYPE: "worker"}


def _component(kind: str) -> Node:
    return {"kind": "DynamoComponentDeployment", "metadata": {"name": "g-x"}, "spec": {"type": kind}}


def _child(kind: str, labels: dict[str, str]) -> Node:
    template = {"metadata": {"labels": labels}}
    specs = {
        "Service": {"selector": labels},
        "Deployment": {"template": template},
        "LeaderWorkerSet": {"leaderWorkerTemplate": {"workerTemplate": template}},
    }
    return {"kind": kind, "metadata": {"name": "g-x"}, "spec": specs[kind]}


@pytest.mark.parametrize("kind", ["Service", "Deployment", "LeaderWorkerSet"])
@pytest.mark.parametrize(("labels", "kept"), [(_OLD, True), ({**_OLD, _SUB_TYPE: "decode"}, True), ({**_OLD, _SUB_TYPE: "prefill"}, False)])
def test_any_child_with_the_selectors_of_older_releases_keeps_them(kind: str, labels: dict[str, str], kept: bool) -> None:
    assert bool(observe_component(_component("decode"), [_child(kind, labels)]).old_selectors) is kept


def test_selectors_of_today_and_of_other_types_are_no_old_ones() -> None:
    assert not observe_component(_component("decode"), [_child("Service", {_TYPE: "decode"}), _child("Deployment", {})]).old_selectors
    assert not observe_component(_component("decode"), [{"kind": "Ingress", "metadata": {"name": "g-x"}}]).old_selectors
    assert not observe_component(_component("worker"), [_child("Service", _OLD)]).old_selectors
