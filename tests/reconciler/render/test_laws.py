"""What holds for every object: rendering never raises, changes nothing, gives equal bytes for both versions, and no two equal names."""

import copy
import json
from typing import Any

import pytest

from dynamo_webhooks.api.operator.controllers import Infrastructure, Ingress, Istio
from dynamo_webhooks.conversion.lens.protocol import ConversionError
from dynamo_webhooks.conversion.objects import convert_object, target
from dynamo_webhooks.reconciler.render.children import render, render_direct
from dynamo_webhooks.reconciler.render.observed import ObservedState
from dynamo_webhooks.reconciler.render.settings import Settings
from tests.laws.dice import Dice
from tests.laws.strategies import make_object, wild
from tests.reconciler.rendering import component, stored, vllm
from tests.reconciler.rendering import graph as make_graph
from tests.rows import run_each

Fields = dict[str, Any]
PAIRS = [(kind, version) for kind in ("DynamoGraphDeployment", "DynamoComponentDeployment") for version in ("v1alpha1", "v1beta1")]
OBJECTS = 120  # of each kind and version; each takes a few milliseconds
SETTINGS = (
    Settings(operator_version="1.2.0"),
    Settings(
        dra=False,
        istio=True,
        restricted=True,
        discovery="etcd",
        infrastructure=Infrastructure(nats_address="nats://n"),
        ingress=Ingress(controller_class_name="nginx", virtual_service_gateway="gw"),
        mesh=Istio(),
        pull_secrets={"**": ("a",)},
    ),
    Settings(operator_version="1.2.0", lws=True),
    Settings(operator_version="1.2.0", grove=True, kai=True),
)
OBSERVED = ObservedState(worker_hash="0123abcd", restart_at={"a": "r1"}, rolling=True, replicas={"a": 2}, frameworks={"a": "vllm"})


def _object(number: int, kind: str, version: str) -> Fields:
    draw = Dice("render", kind, version, number)
    return make_object(draw, kind, version, odd=number % 4 == 3, hostile=number % 5 == 4)


def _told(obj: Fields, settings: Settings) -> str:
    """The children as bytes; which problem is told first may depend on the version that has the field."""
    done = render(obj, settings)
    return json.dumps([done.children, len(done.problems)])


@pytest.mark.slow("renders hundreds of generated objects")
@run_each(("kind", "version"), PAIRS)
def test_generated_objects_render(kind: str, version: str) -> None:
    other = "nvidia.com/v1beta1" if version == "v1alpha1" else "nvidia.com/v1alpha1"
    made = 0
    for number in range(OBJECTS):
        obj = _object(number, kind, version)
        before = copy.deepcopy(obj)
        settings = SETTINGS[number % len(SETTINGS)]
        result = _told(obj, settings)
        assert obj == before, f"{kind} {version} {number} is changed"
        assert _told(obj, settings) == result, f"{kind} {version} {number} renders differently the second time"
        render(obj, settings, OBSERVED)
        names = [(child["kind"], child["metadata"]["namespace"], child["metadata"]["name"]) for child in render(obj, settings).children]
        assert len(names) == len({*names}), f"{kind} {version} {number} has two children of one name"
        try:
            converted = convert_object(obj, target(other, settings.line)).object
        except ConversionError:
            continue
        assert _told(converted, settings) == result, f"{kind} {version} {number} renders differently in the other version"
        made += bool(names)
    assert made > OBJECTS / 4, "the generator makes too few objects that have children"


@run_each(("kind", "version"), PAIRS)
def test_objects_that_no_server_lets_through_are_problems(kind: str, version: str) -> None:
    refused = 0
    for number in range(OBJECTS):
        draw = Dice("wild", kind, version, number)
        obj = wild(draw, make_object(draw, kind, version, odd=True, hostile=True))
        refused += bool(render(obj, SETTINGS[number % len(SETTINGS)]).problems)
    assert refused > 0


def test_what_an_object_owns_is_part_of_all_that_it_leads_to() -> None:
    graph = stored(make_graph(vllm(), component("fe", "frontend")))
    own, all_ = render_direct(graph, SETTINGS[0]), render(graph, SETTINGS[0])
    assert own.children
    assert all(child in all_.children for child in own.children)
    for child in own.children:
        if child["kind"] == "DynamoComponentDeployment":
            assert all(leaf in all_.children for leaf in render_direct(child, SETTINGS[0]).children)


@run_each("kind", ["DynamoModel", "DynamoGraphDeploymentScalingAdapter", "ConfigMap"])
def test_other_kinds_have_no_children(kind: str) -> None:
    assert render({"apiVersion": "nvidia.com/v1alpha1", "kind": kind, "metadata": {"name": "x"}}, SETTINGS[0]) == ([], [], ())
