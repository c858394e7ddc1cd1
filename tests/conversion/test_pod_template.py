"""The pod template beside the worked examples: flat fields that say nothing, what the Go operator wrote, wrong types."""

import json
from typing import Any

import pytest

from dynamo_webhooks.conversion.kind import LEFT, RIGHT
from tests.conversion.objects import GRAPH, away, made, saved, template

Fields = dict[str, Any]


def main(**said: Any) -> Fields:
    return {"name": "main", **said}


@pytest.mark.parametrize("flat", [{"extraPodMetadata": {}}, {"envFromSecret": ""}])
def test_a_flat_field_that_says_nothing_makes_no_main_beside_other_containers(flat: Fields) -> None:
    """As for the Go operator: its author had no main; and yet the field is there again at home."""
    sidecars = made(GRAPH, RIGHT, {"components": [{"name": "w", "podTemplate": template({"name": "side", "image": "s"})}]})
    there = away(sidecars)
    there["spec"]["services"]["w"].update(flat)
    here = away(there)
    assert here["spec"] == sidecars["spec"]
    assert away(here)["spec"] == there["spec"]


def home_from_go(component: Fields, remembered: Fields) -> Fields:
    """The service of a component that the Go operator converted: it spells out what is empty, and keeps nothing of our own."""
    graph = made(GRAPH, RIGHT, {"components": [{"name": "w", **component}]})
    graph["metadata"]["annotations"] = {"nvidia.com/dgd-spec": json.dumps({"version": 1, "spec": {"services": {"w": remembered}}})}
    service: Fields = away(graph)["spec"]["services"]["w"]
    return service


def test_an_overlay_that_is_but_a_name_comes_home_beside_a_flat_secret() -> None:
    over = {"name": "custom"}
    component = {"podTemplate": template(main(envFrom=[{"secretRef": {"name": "sec"}}]), {"name": "side"})}
    home = home_from_go(component, {"envFromSecret": "sec", "extraPodSpec": {"mainContainer": over}})
    assert home == {"envFromSecret": "sec", "extraPodSpec": {"containers": [{"name": "side"}], "mainContainer": over}}


@pytest.mark.parametrize("flat", [{"requests": {"gpuType": "amd.com/gpu"}}, {"limits": {"cpu": "bad"}}, {}])
def test_resources_do_not_return_to_a_template_that_lost_its_main(flat: Fields) -> None:
    assert home_from_go({"podTemplate": template(main())}, {"resources": flat}) == {"resources": flat}
    assert home_from_go({"podTemplate": {}}, {"resources": flat}) == {}


def test_a_second_cache_without_a_path_comes_home() -> None:
    flat = [{"name": "c", "useAsCompilationCache": True}, {"name": "d", "useAsCompilationCache": True}, {"name": "e"}]
    mounts = [{"name": name, "mountPath": ""} for name in "cde"]
    home = home_from_go({"compilationCache": {"pvcName": "c"}, "podTemplate": template(main(volumeMounts=mounts))}, {"volumeMounts": flat})
    assert [entry.get("useAsCompilationCache", False) for entry in home["volumeMounts"]] == [True, True, False]


def test_origins_are_kept_beside_an_overlay_that_says_nothing() -> None:
    """Also of an object that came from v1beta1: the empty overlay alone is kept, and the flat half with it."""
    service = {"envs": [{"name": "A"}], "extraPodSpec": {"mainContainer": {}}}
    graph = made(GRAPH, LEFT, {"services": {"w": service}})
    graph["metadata"]["annotations"] = {"nvidia.com/dgd-spec": "{}"}
    assert saved(away(graph)) == {"services": {"w": service}}
