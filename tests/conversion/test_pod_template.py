"""The pod template: what composition and decomposition give, what comes home, and which edits win over a stale remainder."""

from __future__ import annotations

import json
from typing import Any

import pytest

from dynamo_webhooks.conversion.kind import LEFT, RIGHT
from tests.conversion.objects import GRAPH, away, edited_left, edited_right, left_of, made, right_of, saved, template

Fields = dict[str, Any]


def main(**said: Any) -> Fields:
    return {"name": "main", **said}


def container(component: Fields, name: str = "main") -> Fields:
    found: Fields = next(each for each in component["podTemplate"]["spec"]["containers"] if each["name"] == name)
    return found


SHAPES: list[tuple[Fields, Fields]] = [
    ({"resources": {"limits": {"gpu": "2", "cpu": "1000m"}}}, main(resources={"limits": {"nvidia.com/gpu": "2", "cpu": "1"}})),
    ({"resources": {"limits": {"gpu": "1", "gpuType": "amd.com/gpu"}}}, main(resources={"limits": {"amd.com/gpu": "1"}})),
    ({"resources": {"limits": {"cpu": "bad"}, "requests": {"cpu": " 1"}}}, main()),
    ({"resources": {}}, main()),
    ({"resources": {"limits": {"gpu": "2", "custom": {"nvidia.com/gpu": "4"}}}}, main(resources={"limits": {"nvidia.com/gpu": "4"}})),
    ({"envFromSecret": "sec"}, main(envFrom=[{"secretRef": {"name": "sec"}}])),
    ({"envFromSecret": ""}, main()),
    ({"extraPodMetadata": {}}, main()),
    (
        {"envs": [{"name": "A", "value": "1"}], "extraPodSpec": {"mainContainer": {"env": [{"name": "A", "value": "2"}, {"name": "B"}]}}},
        main(env=[{"name": "A", "value": "2"}, {"name": "B"}]),
    ),
    (
        {
            "livenessProbe": {"httpGet": {"path": "/a", "port": "http"}, "periodSeconds": 5},
            "extraPodSpec": {"mainContainer": {"livenessProbe": {"httpGet": {"port": 80}, "periodSeconds": 9}}},
        },
        main(livenessProbe={"httpGet": {"path": "/a", "port": "http"}, "periodSeconds": 9}),
    ),
    (
        {"envFromSecret": "sec", "extraPodSpec": {"mainContainer": {"envFrom": [{"configMapRef": {"name": "cm"}}]}}},
        main(envFrom=[{"configMapRef": {"name": "cm"}}]),
    ),
    (
        {"envFromSecret": "sec", "extraPodSpec": {"mainContainer": {"envFrom": [{"secretRef": {"name": "sec"}}]}}},
        main(envFrom=[{"secretRef": {"name": "sec"}}]),
    ),
    (
        {
            "volumeMounts": [{"name": "p", "mountPoint": "/m"}],
            "extraPodSpec": {"mainContainer": {"volumeMounts": [{"name": "q", "mountPath": "/q"}]}},
        },
        main(volumeMounts=[{"name": "q", "mountPath": "/q"}]),
    ),
    (
        {"volumeMounts": [{"name": "p", "mountPoint": "/m"}, {"name": "c", "mountPoint": "/c", "useAsCompilationCache": True}]},
        main(volumeMounts=[{"name": "p", "mountPath": "/m"}]),
    ),
    ({"extraPodSpec": {"mainContainer": {"name": "custom", "image": "i", "tty": False}}}, main(image="i")),
    ({"extraPodSpec": {"containers": [{"name": "main", "image": "lost"}]}}, main()),
]


@pytest.mark.parametrize(("service", "expected"), SHAPES)
def test_the_main_container_is_composed_and_comes_home(service: Fields, expected: Fields) -> None:
    graph = made(GRAPH, LEFT, {"services": {"w": service}})
    assert container(right_of(service)) == expected
    assert away(away(graph)) == graph


@pytest.mark.parametrize(
    "service", [{}, {"extraPodSpec": {}}, {"extraPodSpec": {"mainContainer": {"name": "main"}}}, {"envs": []}, {"volumeMounts": []}]
)
def test_nothing_makes_no_template(service: Fields) -> None:
    graph = made(GRAPH, LEFT, {"services": {"w": service}})
    assert right_of(service) == {}
    assert away(away(graph)) == graph


TEMPLATES: list[Fields] = [
    {"podTemplate": {}},
    {"podTemplate": template(main())},
    {"podTemplate": template({"name": "side", "image": "s"}, main(image="i"))},
    {"podTemplate": template({"name": "side", "image": "s"}, nodeSelector={"n": "s"})},
    {"podTemplate": template(main(image="first"), {"name": "side"}, main(image="second"))},
    {
        "podTemplate": {
            "metadata": {"name": "t", "labels": {"a": "b"}},
            "spec": {"containers": [main(resources={"limits": {"cpu": "1000m"}})]},
        }
    },
    {"podTemplate": template(main(image="i")), "compilationCache": {"pvcName": "c", "mountPath": "/c"}},
    {
        "podTemplate": template(main(volumeMounts=[{"name": "p", "mountPath": "/m"}, {"name": "c", "mountPath": "/c", "readOnly": True}])),
        "compilationCache": {"pvcName": "c", "mountPath": "/c"},
    },
    {"podTemplate": template(main(), {"name": "side", "image": "s"}), "frontendSidecar": "side"},
    {"frontendSidecar": "sidecar-frontend"},
]


@pytest.mark.parametrize("component", TEMPLATES)
def test_templates_come_home(component: Fields) -> None:
    graph = made(GRAPH, RIGHT, {"components": [{"name": "w", **component}]})
    assert away(away(graph)) == graph


def test_a_template_is_decomposed() -> None:
    said = main(image="i", env=[{"name": "E"}], resources={"limits": {"nvidia.com/gpu": 1, "x.io/y": "2"}}, volumeMounts=[{"name": "v"}])
    assert left_of({"podTemplate": template(said, {"name": "side"}, nodeSelector={"n": "s"})}) == {
        "envs": [{"name": "E"}],
        "resources": {"limits": {"gpu": "1", "custom": {"x.io/y": "2"}}},
        "volumeMounts": [{"name": "v", "useAsCompilationCache": False}],
        "extraPodSpec": {"mainContainer": {"image": "i"}, "containers": [{"name": "side"}], "nodeSelector": {"n": "s"}},
    }


def test_a_frontend_sidecar_is_a_container() -> None:
    service = {"frontendSidecar": {"image": "f", "args": [], "envFromSecret": "sec", "envs": [{"name": "E"}]}}
    component = right_of(service)
    assert component["frontendSidecar"] == "sidecar-frontend"
    sidecar = container(component, "sidecar-frontend")
    assert sidecar == {"name": "sidecar-frontend", "image": "f", "env": [{"name": "E"}], "envFrom": [{"secretRef": {"name": "sec"}}]}
    hardened = template(main(), {**sidecar, "image": "g", "securityContext": {"runAsNonRoot": True}})
    assert edited_right(service, podTemplate=hardened)["frontendSidecar"]["image"] == "g"


def test_a_container_that_hides_the_sidecar_stays_beside_it() -> None:
    hiding = {"containers": [{"name": "sidecar-frontend", "image": "u", "tty": True}]}
    graph = made(GRAPH, LEFT, {"services": {"w": {"frontendSidecar": {"image": "f"}, "extraPodSpec": hiding}}})
    assert away(away(graph)) == graph


def test_a_deleted_sidecar_does_not_return() -> None:
    assert edited_right({"frontendSidecar": {"image": "f"}}, podTemplate=template(main())) == {}


def test_a_deleted_template_does_not_return() -> None:
    services: list[Fields] = [{"extraPodMetadata": {}}, {"envFromSecret": ""}, {"resources": {}}]
    for service in services:
        assert edited_right(service, podTemplate=None) == {}


@pytest.mark.parametrize("flat", [{"extraPodMetadata": {}}, {"envFromSecret": ""}])
def test_a_flat_field_that_says_nothing_makes_no_main_beside_other_containers(flat: Fields) -> None:
    """As for the Go operator: its author had no main; and yet the field is there again at home."""
    sidecars = made(GRAPH, RIGHT, {"components": [{"name": "w", "podTemplate": template({"name": "side", "image": "s"})}]})
    there = away(sidecars)
    there["spec"]["services"]["w"].update(flat)
    here = away(there)
    assert here["spec"] == sidecars["spec"]
    assert away(here)["spec"] == there["spec"]


@pytest.mark.parametrize("flat", [{"extraPodMetadata": {}}, {"envFromSecret": ""}])
def test_a_flat_field_that_says_nothing_makes_a_template_where_there_would_be_none(flat: Fields) -> None:
    cached = made(GRAPH, RIGHT, {"components": [{"name": "w", "podTemplate": template({"name": "side", "image": "s"})}]})
    there = away(cached)
    there["spec"]["services"]["w"] = {**flat, "volumeMounts": [{"name": "c", "mountPoint": "/c", "useAsCompilationCache": True}]}
    assert away(away(there))["spec"] == there["spec"]


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


def test_an_entry_stays_where_its_author_had_it() -> None:
    service = {
        "envs": [{"name": "A", "value": "1"}, {"name": "B"}],
        "resources": {"limits": {"cpu": "1000m"}},
        "extraPodSpec": {"mainContainer": {"image": "i", "env": [{"name": "A", "value": "2"}]}},
    }
    live = right_of(service)["podTemplate"]["spec"]["containers"][0]
    home = edited_right(service, podTemplate=template({**live, "env": [*live["env"], {"name": "D"}]}))
    assert home == {
        "envs": [{"name": "A", "value": "2"}, {"name": "B"}, {"name": "D"}],
        "resources": {"limits": {"cpu": "1000m"}},
        "extraPodSpec": {"mainContainer": {"image": "i", "env": [{"name": "A", "value": "2"}]}},
    }


def test_edited_options_of_a_mount_win() -> None:
    overlay = {"extraPodSpec": {"mainContainer": {"volumeMounts": [{"name": "q", "mountPath": "/q", "readOnly": True}]}}}
    edited = {"name": "q", "mountPath": "/q", "subPath": "s"}
    home = edited_right(overlay, podTemplate=template(main(volumeMounts=[edited])))
    assert container(right_of(home))["volumeMounts"] == [edited]


def test_a_removed_cache_mount_does_not_return() -> None:
    flagged = [{"name": name, "mountPoint": f"/{name}", "useAsCompilationCache": True} for name in ("c1", "c2")]
    service = {"volumeMounts": flagged, "envs": [{"name": "A"}]}
    home = edited_right(service, podTemplate=template(main(env=[{"name": "A"}], volumeMounts=[{"name": "c1", "mountPath": "/c1"}])))
    assert home["volumeMounts"] == flagged[:1]


def test_options_follow_a_mount_that_moves() -> None:
    mount = {"name": "v", "mountPath": "/old", "readOnly": True}
    moved = edited_left({"podTemplate": template(main(volumeMounts=[mount]))}, volumeMounts=[{"name": "v", "mountPoint": "/new"}])
    assert container(moved)["volumeMounts"] == [{"name": "v", "mountPath": "/new", "readOnly": True}]


def test_sidecars_keep_the_order_that_v1alpha1_gave_them() -> None:
    component = {"podTemplate": template({"name": "s1"}, main(image="i"), {"name": "s2"})}
    swapped = edited_left(component, extraPodSpec={"mainContainer": {"image": "i"}, "containers": [{"name": "s2"}, {"name": "s1"}]})
    names = [each["name"] for each in swapped["podTemplate"]["spec"]["containers"]]
    assert names.index("s2") < names.index("s1")


@pytest.mark.parametrize(
    "service",
    [
        {"envs": None, "extraPodSpec": None},
        {"volumeMounts": [None, {"name": "a"}], "resources": {"limits": None}},
        {"extraPodSpec": {"containers": [None, {"name": None}], "mainContainer": {"env": [None], "resources": {"limits": None}}}},
    ],
)
def test_nulls_come_home(service: Fields) -> None:
    graph = made(GRAPH, LEFT, {"services": {"w": service}})
    assert away(away(graph)) == graph


def test_wrong_types_read_as_absent() -> None:
    odd: Fields = {
        "envs": "x",
        "resources": [],
        "extraPodSpec": {"mainContainer": "x", "containers": {}},
        "frontendSidecar": [],
        "envFromSecret": 1,
    }
    assert container(right_of({**odd, "livenessProbe": {}})) == main(livenessProbe={})
    assert left_of({"podTemplate": "x", "compilationCache": []}) == {}
    twisted = main(volumeMounts=[{"name": {}, "mountPath": ["/"]}], env=[{"name": ["A"]}])
    assert left_of({"podTemplate": template(twisted, {"name": ["b"]})})["envs"] == [{"name": ["A"]}]
    assert right_of({"envs": [{"name": {"a": 1}}], "extraPodSpec": {"mainContainer": {"env": [{"name": {"a": 1}}]}}})["podTemplate"]
    assert left_of({"podTemplate": {"metadata": 1, "spec": {"containers": ["x", main(image="i", resources=1)]}}}) == {
        "extraPodSpec": {"mainContainer": {"image": "i"}}
    }
