"""What line 1.5 lets a graph say to Grove: constraints in Grove's words, minima, and scaling groups; each in the place that it means."""

from typing import Any

import pytest

from dynamo_webhooks.reconciler.render.children import Rendered, render
from dynamo_webhooks.reconciler.render.settings import Settings
from tests.reconciler.rendering import graph, stored, vllm

Fields = dict[str, Any]
API = "grove.io/v1alpha1"


def _override(domain: str, **more: Any) -> Fields:
    return {"apiVersion": API, "value": {"topologyConstraint": {"packDomain": domain}}, **more}


def _rendered(*components: Fields, **spec: Any) -> Rendered:
    obj = graph(*components, **spec)
    return render(stored(obj, "1.5.0", grove=True), Settings(grove=True))


def _template(*components: Fields, **spec: Any) -> Fields:
    done = _rendered(*components, **spec)
    assert [str(one) for one in done.problems] == []
    [found] = [one for one in done.children if one["kind"] == "PodCliqueSet"]
    template: Fields = found["spec"]["template"]
    return template


def _places(template: Fields) -> Fields:
    """Every constraint of a set, by what it is of."""
    named = [("set", template), *((f"group {one['name']}", one) for one in template.get("podCliqueScalingGroups", ()))]
    named += [(one["name"], one) for one in template["cliques"]]
    return {name: one["topologyConstraint"]["packDomain"] for name, one in named if "topologyConstraint" in one}


def test_each_override_stands_in_the_place_that_it_means() -> None:
    root = {"apiVersion": API, "value": {"spec": {"template": {"topologyConstraint": {"packDomain": "zone"}}}}}
    roles = [{"name": "leader", "providerOverride": _override("host")}, {"name": "worker", "providerOverride": _override("rack")}]
    wide = vllm("wide", providerOverride=_override("block"), multinode={"nodeCount": 3}, roles=roles)
    forced = vllm("forced", providerOverride=_override("aisle"), experimental={"grove": {"forceScalingGroup": True}})
    template = _template(wide, forced, vllm("alone", providerOverride=_override("row")), providerOverride=root)
    assert _places(template) == {
        "set": "zone",
        "group wide": "block",
        "group forced": "aisle",
        "wide-ldr": "host",
        "wide-wkr": "rack",
        "alone": "row",
    }


def test_a_value_of_grove_is_taken_as_it_is() -> None:
    value = {"topologyConstraint": {"packConstraint": {"required": "rack", "odd": [None, 1.5]}}}
    [clique] = _template(vllm("w", providerOverride={"apiVersion": API, "value": value}))["cliques"]
    assert clique["topologyConstraint"] == value["topologyConstraint"]


@pytest.mark.parametrize(
    ("component", "field", "said"),
    [
        ({"providerOverride": _override("r", apiVersion="v2")}, "providerOverride.apiVersion", "must be grove.io/v1alpha1, got 'v2'"),
        (
            {"providerOverride": _override("r", target="PodCliqueSet")},
            "providerOverride.target",
            "must be PodCliqueTemplateSpec at this place",
        ),
        ({"providerOverride": _override("r", value={"spec": {}})}, "providerOverride.value.topologyConstraint", "must be an object"),
        ({"providerOverride": _override("r", value={"topologyConstraint": "r"})}, "providerOverride.value.topologyConstraint", "must be"),
        (
            {"multinode": {"nodeCount": 1}, "roles": [{"name": "leader", "providerOverride": _override("r")}]},
            "roles[0].providerOverride",
            "must be absent: only a component on several nodes",
        ),
    ],
)
def test_an_override_that_means_nothing_is_a_problem(component: Fields, field: str, said: str) -> None:
    done = _rendered(vllm("w", **component))
    [problem] = done.problems
    assert str(problem).startswith(f"spec.components[0].{field}: {said}")
    assert not any(one["kind"] == "PodCliqueSet" for one in done.children)  # whole or not at all


def test_minima_are_of_what_scales() -> None:
    template = _template(
        vllm("alone", replicas=4, minAvailable=3),
        vllm("wide", replicas=4, minAvailable=2, multinode={"nodeCount": 3}),
        vllm("forced", replicas=5, minAvailable=4, experimental={"grove": {"forceScalingGroup": True}}),
    )
    groups = {one["name"]: (one["cliqueNames"], one["replicas"], one["minAvailable"]) for one in template["podCliqueScalingGroups"]}
    assert groups == {"wide": (["wide-ldr", "wide-wkr"], 4, 2), "forced": (["forced"], 5, 4)}
    cliques = {one["name"]: (one["spec"]["replicas"], one["spec"]["minAvailable"]) for one in template["cliques"]}
    assert cliques == {"alone": (4, 3), "wide-ldr": (1, 1), "wide-wkr": (2, 2), "forced": (1, 1)}
