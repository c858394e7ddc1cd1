"""The pod template beside the worked examples: flat fields that say nothing, and what the Go operator wrote.

The place of a field depends on itself and on the remainder, never on the other fields of the object: see docs/decisions.md.
"""

import json
from typing import Any

import pytest

from dynamo_webhooks.conversion.kind import LEFT, RIGHT
from tests.conversion.objects import GRAPH, Object, away, left_of, made, right_of, saved, template

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


SPEC = "nvidia.com/dgd-spec"
SOURCES = [{"secretRef": {"name": "hf"}}]
SIDECAR = {"name": "sidecar-frontend", "image": "f", "env": [{"name": "E"}], "envFrom": SOURCES}


def _left(service: Any, **metadata: Any) -> Object:
    obj = made(GRAPH, LEFT, {"services": {"w": service}})
    obj["metadata"].update(metadata)
    return obj


def _right(component: Any, **metadata: Any) -> Object:
    obj = made(GRAPH, RIGHT, {"components": [{"name": "w", **component}]})
    obj["metadata"].update(metadata)
    return obj


def _held(obj: Object) -> Any:
    return json.loads(obj["metadata"]["annotations"][SPEC])


@pytest.mark.parametrize(
    ("component", "service"),
    [
        ({"podTemplate": template({"name": "main", "envFrom": SOURCES})}, {"envFromSecret": "hf"}),
        (
            {"podTemplate": template({"name": "main", "image": "i"}, SIDECAR), "frontendSidecar": "sidecar-frontend"},
            {
                "extraPodSpec": {"mainContainer": {"image": "i"}},
                "frontendSidecar": {"image": "f", "envs": [{"name": "E"}], "envFromSecret": "hf"},
            },
        ),
        ({"compilationCache": {"pvcName": "c"}}, {"volumeMounts": [{"name": "c", "useAsCompilationCache": True}]}),
    ],
)
def test_what_nobody_remembers_has_the_place_that_people_give_it(component: Any, service: Any) -> None:
    assert left_of(component) == service
    assert right_of(service) == component
    assert "annotations" not in away(away(_right(component)))["metadata"]


def test_a_part_carries_a_remainder_as_the_whole_does() -> None:
    """The API server copies the whole one's text into a part only if the part has one, too."""
    assert _held(away(_left({}))) == {"spec": {}, "version": 1}
    assert _held(away(_right({}))) == {"spec": {}, "version": 1}


def test_both_versions_carry_one_once_each_has_said_what_the_other_cannot() -> None:
    there = away(_left({"dynamoNamespace": "d"}))
    there["spec"]["components"][0]["podTemplate"] = {"metadata": {"generateName": "n"}, **template({"name": "main", "image": "i"})}
    here = away(there)
    assert _held(here)["both"] is True
    assert _held(away(here))["both"] is True
    del here["spec"]["services"]["w"]["dynamoNamespace"]
    assert _held(away(here))["both"] is True


def test_an_entry_has_its_place_without_the_others() -> None:
    env = [{"name": "A", "value": "1"}, {"name": "B", "value": "2"}]
    whole = away(_left({"envs": env[:1], "extraPodSpec": {"mainContainer": {"env": env[1:]}}}))
    main = whole["spec"]["components"][0]["podTemplate"]["spec"]["containers"][0]
    for kept in (env, env[:1], env[1:]):
        main["env"] = kept
        service = away(whole)["spec"]["services"]["w"]
        assert service.get("envs", []) == [entry for entry in env[:1] if entry in kept]
        assert service.get("extraPodSpec", {}).get("mainContainer", {}).get("env", []) == [entry for entry in env[1:] if entry in kept]


def test_an_amount_has_its_place_and_its_text_without_the_others() -> None:
    flat = {"limits": {"gpu": "1", "gpuType": "x.io/gpu", "cpu": "1000m"}}
    whole = away(_left({"resources": flat, "extraPodSpec": {"mainContainer": {"resources": {"limits": {"memory": "1024Mi"}}}}}))
    main = whole["spec"]["components"][0]["podTemplate"]["spec"]["containers"][0]
    main["resources"] = {"limits": {"memory": "1Gi"}}
    assert away(whole)["spec"]["services"]["w"] == {"extraPodSpec": {"mainContainer": {"resources": {"limits": {"memory": "1024Mi"}}}}}
    main["resources"] = {"limits": {"x.io/gpu": "2", "cpu": "1"}}
    assert away(whole)["spec"]["services"]["w"] == {"resources": {"limits": {"gpu": "2", "gpuType": "x.io/gpu", "cpu": "1000m"}}}


def test_a_block_that_server_side_apply_emptied_is_still_there() -> None:
    block = {"experimental": {"gpuMemoryService": None}}
    assert away(_right(block, uid="u"))["spec"]["services"]["w"] == {"gpuMemoryService": {"enabled": True}}
    assert away(_right(block))["spec"]["services"]["w"] == {}
    known = away(_left({"gpuMemoryService": {"enabled": True, "mode": "intraPod"}}, uid="u"))
    known["spec"]["components"][0].update(block)
    assert away(known)["spec"]["services"]["w"] == {"gpuMemoryService": {"enabled": True}}
    off = away(_left({"replicas": 1}, uid="u"))
    off["spec"]["components"][0].update(block)
    assert away(off)["spec"]["services"]["w"] == {"replicas": 1}


def test_null_has_a_place_in_the_other_version() -> None:
    assert away(_right({"multinode": None}))["spec"]["services"]["w"] == {"multinode": None}
    assert away(_left({"multinode": None}))["spec"]["components"] == [{"name": "w", "multinode": None}]
