"""What is read from the object of a component: who it belongs to, how its pods are selected, and names that labels can't hold."""

from typing import Any

import pytest

from dynamo_webhooks.api.operator.controllers import Ingress
from dynamo_webhooks.reconciler.render.children import render
from dynamo_webhooks.reconciler.render.names import as_label
from dynamo_webhooks.reconciler.render.observed import Observed
from dynamo_webhooks.reconciler.render.settings import Settings
from tests.reconciler.rendering import children, component, env_of, graph, main_of, rendered, stored, vllm

Fields = dict[str, Any]
TYPE, SUB_TYPE = "nvidia.com/dynamo-component-type", "nvidia.com/dynamo-sub-component-type"


def _component(**metadata: Any) -> Fields:
    spec = {"name": "Decode", "type": "decode", "podTemplate": {"spec": {"containers": [{"name": "main", "image": "i"}]}}}
    head = {"name": "g-decode", "namespace": "demo", **metadata}
    return {"apiVersion": "nvidia.com/v1beta1", "kind": "DynamoComponentDeployment", "metadata": head, "spec": spec}


def _types(obj: Fields, observed: Observed) -> tuple[str, str, str]:
    """The type as pods are labelled, as the Service selects, and as the container is told."""
    made = {one["kind"]: one for one in render(stored(obj), Settings(), observed).children}
    labels, selector = made["Deployment"]["spec"]["template"]["metadata"]["labels"], made["Service"]["spec"]["selector"]
    assert labels[SUB_TYPE] == "decode"
    return labels[TYPE], selector[TYPE], env_of(main_of(made["Deployment"]))["DYN_COMPONENT"]


def test_pods_are_selected_by_their_type() -> None:
    assert _types(_component(), Observed()) == ("decode", "decode", "decode")


@pytest.mark.parametrize(
    ("obj", "observed"),
    [
        (_component(labels={TYPE: "worker"}), Observed()),
        (_component(labels={TYPE: "worker", SUB_TYPE: "decode"}), Observed()),
        (_component(), Observed(old_selectors=frozenset({"g-decode"}))),
    ],
)
def test_pods_of_an_older_operator_stay_selected_as_they_were(obj: Fields, observed: Observed) -> None:
    assert _types(obj, observed) == ("worker", "worker", "worker")


def test_a_label_of_another_role_changes_nothing() -> None:
    assert _types(_component(labels={TYPE: "worker", SUB_TYPE: "prefill"}), Observed())[0] == "decode"


LABELLED: Fields = {"labels": {"nvidia.com/dynamo-graph-deployment-name": "g"}}


@pytest.mark.parametrize(
    ("metadata", "parent"),
    [
        ({}, "g-decode"),
        (LABELLED, "g-decode"),
        ({"ownerReferences": [{"apiVersion": "nvidia.com/v1beta1", "kind": "DynamoGraphDeployment", "name": "g", "uid": "u"}]}, "g"),
        ({"ownerReferences": [{"apiVersion": "v1", "kind": "ConfigMap", "name": "c", "uid": "u"}]}, "g-decode"),
    ],
)
def test_a_component_belongs_to_the_graph_that_owns_it(metadata: Fields, parent: str) -> None:
    env = env_of(main_of(children(_component(**metadata))["Deployment g-decode"]))
    assert (env["DYN_PARENT_DGD_K8S_NAME"], env["DYN_NAMESPACE"]) == (parent, f"demo-{parent}")


def test_a_component_that_a_graph_has_left_belongs_to_it_still() -> None:
    made = render(stored(_component(**LABELLED)), Settings(), Observed(left=frozenset({"g-decode"})))
    env = env_of(main_of(next(one for one in made.children if one["kind"] == "Deployment")))
    assert (env["DYN_PARENT_DGD_K8S_NAME"], env["DYN_NAMESPACE"]) == ("g", "demo-g")


def test_owners_that_are_stored_are_named_with_their_uid() -> None:
    obj = graph(component("fe", "frontend"))
    obj["metadata"]["uid"] = "u-1"
    made = {one["kind"]: one for one in rendered(obj).children}
    assert made["DynamoComponentDeployment"]["metadata"]["ownerReferences"][0]["uid"] == "u-1"
    assert "uid" not in made["Deployment"]["metadata"]["ownerReferences"][0]


def test_observed_generation_sizes_and_frameworks_are_kept() -> None:
    observed = Observed(worker_hash="0123abcd", replicas={"w": 2}, frameworks={"w": "vllm"}, restart_at={"w": "r1"})
    made = {one["kind"]: one for one in render(stored(graph(vllm("w", replicas=5))), Settings(), observed).children}
    assert made["Deployment"]["metadata"]["name"] == "g-w-0123abcd"
    spec = made["Deployment"]["spec"]
    assert spec["replicas"] == 2
    assert spec["template"]["metadata"]["annotations"]["nvidia.com/restartAt"] == "r1"


def _alpha(**service: Any) -> Fields:
    metadata = {"name": "g", "namespace": "demo"}
    services = {"fe": {"componentType": "frontend", **service}}
    return {"apiVersion": "nvidia.com/v1alpha1", "kind": "DynamoGraphDeployment", "metadata": metadata, "spec": {"services": services}}


@pytest.mark.parametrize("grove", [False, True])
def test_an_empty_ingress_of_a_service_asks_for_none(grove: bool) -> None:
    """It is there, so it wins over what the operator is configured with."""
    ingress = Ingress(virtual_service_gateway="gw", controller_class_name="nginx")
    kinds = [{one["kind"] for one in rendered(obj, ingress=ingress, grove=grove).children} for obj in (_alpha(), _alpha(ingress={}))]
    assert {"Ingress", "VirtualService"} <= kinds[0]
    assert {"Ingress", "VirtualService"}.isdisjoint(kinds[1])


def test_a_sub_type_is_a_label_whatever_the_type() -> None:
    made = {one["kind"]: one for one in rendered(_alpha(subComponentType="router")).children}
    assert made["Deployment"]["metadata"]["labels"][SUB_TYPE] == "router"
    assert made["Deployment"]["spec"]["template"]["metadata"]["labels"][SUB_TYPE] == "router"


def test_labels_that_are_cut_stay_apart() -> None:
    one, two = as_label("a" * 70 + "1"), as_label("a" * 70 + "2")
    assert one != two
    assert len(one) == len(two) == 63
    assert as_label("a" * 63) == "a" * 63
