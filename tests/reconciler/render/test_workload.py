"""What is read of a component: whose it is, how its pods are selected and what they are told, its rights, a picker's configuration."""

import json
import re
from typing import Any

import yaml

from dynamo_webhooks.api.line import Line
from dynamo_webhooks.api.operator.controllers import Ingress
from dynamo_webhooks.kube.protocol import Node
from dynamo_webhooks.reconciler.component.observe import observe_component
from dynamo_webhooks.reconciler.render.children import render
from dynamo_webhooks.reconciler.render.graph import read_graph
from dynamo_webhooks.reconciler.render.names import as_label
from dynamo_webhooks.reconciler.render.observed import ObservedState
from dynamo_webhooks.reconciler.render.settings import Settings
from dynamo_webhooks.reconciler.render.split import make_component
from tests.reconciler.rendering import alpha, children, component, env_of, graph, main_of, rendered, stored, vllm
from tests.rows import run_each

Fields = dict[str, Any]
TYPE, SUB_TYPE = "nvidia.com/dynamo-component-type", "nvidia.com/dynamo-sub-component-type"


def _component(**metadata: Any) -> Fields:
    spec = {"name": "Decode", "type": "decode", "podTemplate": {"spec": {"containers": [{"name": "main", "image": "i"}]}}}
    head = {"name": "g-decode", "namespace": "demo", **metadata}
    return {"apiVersion": "nvidia.com/v1beta1", "kind": "DynamoComponentDeployment", "metadata": head, "spec": spec}


def _types(obj: Fields, observed: ObservedState) -> tuple[str, str, str]:
    """The type as pods are labelled, as the Service selects, and as the container is told."""
    made = {child["kind"]: child for child in render(stored(obj), Settings(), observed).children}
    labels, selector = made["Deployment"]["spec"]["template"]["metadata"]["labels"], made["Service"]["spec"]["selector"]
    assert labels[SUB_TYPE] == "decode"
    return labels[TYPE], selector[TYPE], env_of(main_of(made["Deployment"]))["DYN_COMPONENT"]


@run_each(
    ("obj", "observed", "kind"),
    [
        (_component(), ObservedState(), "decode"),
        (_component(labels={TYPE: "worker", SUB_TYPE: "prefill"}), ObservedState(), "decode"),  # the label of another role
        (_component(labels={TYPE: "worker"}), ObservedState(), "worker"),
        (_component(labels={TYPE: "worker", SUB_TYPE: "decode"}), ObservedState(), "worker"),
        (_component(), ObservedState(old_selectors=frozenset({"g-decode"})), "worker"),
    ],
)
def test_pods_are_selected_by_their_type_and_those_of_an_older_operator_as_they_were(
    obj: Fields, observed: ObservedState, kind: str
) -> None:
    assert _types(obj, observed) == (kind, kind, kind)


LABELLED: Fields = {"labels": {"nvidia.com/dynamo-graph-deployment-name": "g"}}


@run_each(
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
    made = render(stored(_component(**LABELLED)), Settings(), ObservedState(orphans=frozenset({"g-decode"})))
    env = env_of(main_of(next(child for child in made.children if child["kind"] == "Deployment")))
    assert (env["DYN_PARENT_DGD_K8S_NAME"], env["DYN_NAMESPACE"]) == ("g", "demo-g")


def test_observed_generation_sizes_and_frameworks_are_kept() -> None:
    observed = ObservedState(worker_hash="0123abcd", replicas={"w": 2}, frameworks={"w": "vllm"}, restart_at={"w": "r1"})
    made = {child["kind"]: child for child in render(stored(graph(vllm("w", replicas=5))), Settings(), observed).children}
    assert made["Deployment"]["metadata"]["name"] == "g-w-0123abcd"
    spec = made["Deployment"]["spec"]
    assert spec["replicas"] == 2
    assert spec["template"]["metadata"]["annotations"]["nvidia.com/restartAt"] == "r1"


@run_each("grove", [False, True])
def test_an_empty_ingress_of_a_service_asks_for_none(grove: bool) -> None:
    """It is there, so it wins over what the operator is configured with."""
    ingress = Ingress(virtual_service_gateway="gw", controller_class_name="nginx")
    kinds = [
        {child["kind"] for child in rendered(obj, ingress=ingress, grove=grove).children}
        for obj in (alpha("fe", "frontend"), alpha("fe", "frontend", ingress={}))
    ]
    assert {"Ingress", "VirtualService"} <= kinds[0]
    assert {"Ingress", "VirtualService"}.isdisjoint(kinds[1])


def test_labels_that_are_cut_stay_apart() -> None:
    first, second = as_label("a" * 70 + "1"), as_label("a" * 70 + "2")
    assert first != second
    assert len(first) == len(second) == 63
    assert as_label("a" * 63) == "a" * 63


@run_each(
    ("weight", "text"),
    [
        (0.5, "0.5"),
        (1, "1"),
        (1.0, "1"),
        (0, "0"),
        (0.1, "0.1"),
        (5e-05, "0.00005"),
        (0.123456789, "0.12345679"),  # as a 32-bit float keeps it
        (0.30000000000000004, "0.3"),
        (7.0, "7"),  # nobody admits it, and nothing breaks
        (3.4028235e38, "34028235" + "0" * 31),
        (1e-40, "0.0000000000000000000000000000000000000001"),
    ],
)
def test_a_weight_is_told_in_its_shortest_form(weight: float, text: str) -> None:
    policy = {"domain": "rack", "labelKey": "example.com/rack", "enforcement": "preferred", "preferredWeight": weight}
    made = children(graph(vllm("w"), experimental={"kvTransferPolicy": policy}))["Deployment g-w"]
    assert env_of(main_of(made))["DYN_KV_TRANSFER_PREFERRED_WEIGHT"] == text


NAME = "DYN_DEPLOYMENT_CONFIG"
SAID = {"Frontend": {"port": 1}, "w": {"ServiceArgs": {"workers": 2}}}
TEXT = json.dumps(SAID)


def _configured(*components: dict[str, Any]) -> dict[str, Any]:
    return graph(*components, env=[{"name": NAME, "value": TEXT}])


def _port_told(obj: dict[str, Any], name: str) -> Any:
    return json.loads(env_of(main_of(children(obj)[f"Deployment {name}"]))[NAME])


def test_a_frontends_port_is_told_to_the_frontend_alone() -> None:
    """Also where the graph says the variable once for all."""
    obj = _configured(component("fe", "frontend"), vllm("w"))
    assert _port_told(obj, "g-fe")["Frontend"] == {"port": 8000}
    assert _port_told(obj, "g-w") == SAID


def test_the_order_of_components_changes_no_pod() -> None:
    there, back = _configured(component("fe", "frontend"), vllm("w")), _configured(vllm("w"), component("fe", "frontend"))
    assert children(there)["Deployment g-w"] == children(back)["Deployment g-w"]


LABEL = re.compile(r"[A-Za-z0-9]([-A-Za-z0-9_.]{0,61}[A-Za-z0-9])?")
LONG = "g" * 60
RIGHTS = {
    f"ServiceAccount {LONG}-k8s-service-discovery",
    f"Role {LONG}-k8s-service-discovery-role",
    f"RoleBinding {LONG}-k8s-service-discovery-binding",
}


def test_a_graph_of_sixty_characters_gets_its_rights() -> None:
    by_name = children(graph(component("f", "frontend"), name=LONG))
    assert by_name.keys() >= RIGHTS
    binding = by_name[f"RoleBinding {LONG}-k8s-service-discovery-binding"]
    assert [subject["name"] for subject in binding["subjects"]] == [f"{LONG}-k8s-service-discovery"]
    assert binding["roleRef"]["name"] == f"{LONG}-k8s-service-discovery-role"
    for name in RIGHTS:
        for value in by_name[name]["metadata"]["labels"].values():
            assert LABEL.fullmatch(value), value


_NAMED = {"apiVersion": "inference.networking.x-k8s.io/v1alpha1", "kind": "EndpointPickerConfig"}


@run_each(
    ("config", "written"),
    [
        (
            {
                "plugins": [{"type": "t"}],
                "schedulingProfiles": [{"name": "d", "plugins": [{"pluginRef": "t"}, {"pluginRef": "t", "weight": 2}]}],
            },
            {
                "plugins": [{"name": "", "parameters": None, "type": "t"}],
                "schedulingProfiles": [{"name": "d", "plugins": [{"pluginRef": "t", "weight": None}, {"pluginRef": "t", "weight": 2}]}],
            },
        ),
        (
            {"plugins": [], "schedulingProfiles": [{"name": "d"}], "saturationDetector": {"queueDepthThreshold": 5}},
            {
                "plugins": [],
                "schedulingProfiles": [{"name": "d", "plugins": None}],
                "saturationDetector": {"metricsStalenessThreshold": "0s", "queueDepthThreshold": 5},
            },
        ),
        ({}, {"plugins": None, "schedulingProfiles": None}),
    ],
)
def test_fields_that_the_pickers_types_always_say_are_said(config: Fields, written: Fields) -> None:
    made = children(graph(component("e", "epp", eppConfig={"config": config}), vllm("w")))["ConfigMap g-epp-config"]
    assert yaml.safe_load(made["data"]["epp-config-dynamo.yaml"]) == {**written, **_NAMED}


def test_a_pickers_configuration_of_another_type_is_left_out() -> None:
    """v1alpha1 admits it; the definition of components refuses it."""
    obj = graph(vllm("w", eppConfig={"config": {}}))
    made = make_component(read_graph(obj, line=Line.V1_2), read_graph(obj, line=Line.V1_2).members[0], "", "")
    assert "eppConfig" not in made["spec"]
    picker = graph(component("e", "epp", eppConfig={"config": {}}), vllm("w"))
    assert make_component(read_graph(picker, line=Line.V1_2), read_graph(picker, line=Line.V1_2).members[0], "", "")["spec"][
        "eppConfig"
    ] == {"config": {}}


_OLD = {TYPE: "worker"}


def _of_kind(kind: str) -> Node:
    return {"kind": "DynamoComponentDeployment", "metadata": {"name": "g-x"}, "spec": {"type": kind}}


def _child(kind: str, labels: dict[str, str]) -> Node:
    template = {"metadata": {"labels": labels}}
    specs = {
        "Service": {"selector": labels},
        "Deployment": {"template": template},
        "LeaderWorkerSet": {"leaderWorkerTemplate": {"workerTemplate": template}},
    }
    return {"kind": kind, "metadata": {"name": "g-x"}, "spec": specs[kind]}


@run_each("kind", ["Service", "Deployment", "LeaderWorkerSet"])
@run_each(("labels", "kept"), [(_OLD, True), ({**_OLD, SUB_TYPE: "decode"}, True), ({**_OLD, SUB_TYPE: "prefill"}, False)])
def test_any_child_with_the_selectors_of_older_releases_keeps_them(kind: str, labels: dict[str, str], kept: bool) -> None:
    assert bool(observe_component(_of_kind("decode"), [_child(kind, labels)]).old_selectors) is kept


def test_selectors_of_today_and_of_other_types_are_no_old_ones() -> None:
    assert not observe_component(_of_kind("decode"), [_child("Service", {TYPE: "decode"}), _child("Deployment", {})]).old_selectors
    assert not observe_component(_of_kind("decode"), [{"kind": "Ingress", "metadata": {"name": "g-x"}}]).old_selectors
    assert not observe_component(_of_kind("worker"), [_child("Service", _OLD)]).old_selectors
