"""The endpoint picker's configuration, as it stands in its ConfigMap."""

from typing import Any

import pytest
import yaml

from dynamo_webhooks.reconciler.render.graph import read_graph
from dynamo_webhooks.reconciler.render.split import component_object
from tests.reconciler.rendering import children, component, graph, vllm

Fields = dict[str, Any]
_NAMED = {"apiVersion": "inference.networking.x-k8s.io/v1alpha1", "kind": "EndpointPickerConfig"}


@pytest.mark.parametrize(
    ("config", "told"),
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
def test_fields_that_the_pickers_types_always_say_are_said(config: Fields, told: Fields) -> None:
    made = children(graph(component("e", "epp", eppConfig={"config": config}), vllm("w")))["ConfigMap g-epp-config"]
    assert yaml.safe_load(made["data"]["epp-config-dynamo.yaml"]) == {**told, **_NAMED}


def test_a_pickers_configuration_of_another_type_is_left_out() -> None:
    """v1alpha1 admits it; the definition of components refuses it."""
    obj = graph(vllm("w", eppConfig={"config": {}}))
    made = component_object(read_graph(obj), read_graph(obj).members[0], "", "")
    assert "eppConfig" not in made["spec"]
    picker = graph(component("e", "epp", eppConfig={"config": {}}), vllm("w"))
    assert component_object(read_graph(picker), read_graph(picker).members[0], "", "")["spec"]["eppConfig"] == {"config": {}}
