"""The pod template beside the worked examples: flat fields that say nothing, and what the Go operator wrote.

The place of a field depends on itself and on the remainder, never on the other fields of the object: see docs/decisions.md.
"""

import json
from typing import Any

import pytest

from dynamo_webhooks.conversion.kind import LEFT, RIGHT
from dynamo_webhooks.conversion.pod_template.mounts import FLAG, flat_list, restore_flat_list
from tests.conversion.objects import GRAPH, Object, away, made, template

Fields = dict[str, Any]


def main(**fields: Any) -> Fields:
    return {"name": "main", **fields}


def home_from_go(component: Fields, remembered: Fields) -> Fields:
    """The service of a component that the Go operator converted: it spells out what is empty, and keeps nothing of our own."""
    graph = made(GRAPH, RIGHT, {"components": [{"name": "w", **component}]})
    graph["metadata"]["annotations"] = {"nvidia.com/dgd-spec": json.dumps({"version": 1, "spec": {"services": {"w": remembered}}})}
    service: Fields = away(graph)["spec"]["services"]["w"]
    return service


@pytest.mark.parametrize("flat", [{"requests": {"gpuType": "amd.com/gpu"}}, {"limits": {"cpu": "bad"}}, {}])
def test_resources_do_not_return_to_a_template_that_lost_its_main(flat: Fields) -> None:
    assert home_from_go({"podTemplate": template(main())}, {"resources": flat}) == {"resources": flat}
    assert home_from_go({"podTemplate": {}}, {"resources": flat}) == {}


def test_a_second_cache_without_a_path_comes_home() -> None:
    flat = [{"name": "c", "useAsCompilationCache": True}, {"name": "d", "useAsCompilationCache": True}, {"name": "e"}]
    mounts = [{"name": name, "mountPath": ""} for name in "cde"]
    home = home_from_go({"compilationCache": {"pvcName": "c"}, "podTemplate": template(main(volumeMounts=mounts))}, {"volumeMounts": flat})
    assert [entry.get("useAsCompilationCache", False) for entry in home["volumeMounts"]] == [True, True, False]


SPEC = "nvidia.com/dgd-spec"


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


def test_both_versions_carry_one_once_each_has_said_what_the_other_cannot() -> None:
    there = away(_left({"dynamoNamespace": "d"}))
    there["spec"]["components"][0]["podTemplate"] = {"metadata": {"generateName": "n"}, **template({"name": "main", "image": "i"})}
    here = away(there)
    assert _held(here)["both"] is True
    assert _held(away(here))["both"] is True
    del here["spec"]["services"]["w"]["dynamoNamespace"]
    assert _held(away(here))["both"] is True


def test_null_has_a_place_in_the_other_version() -> None:
    assert away(_right({"multinode": None}))["spec"]["services"]["w"] == {"multinode": None}
    assert away(_left({"multinode": None}))["spec"]["components"] == [{"name": "w", "multinode": None}]


def test_saved_flags_speak_only_for_the_cache_that_they_were_saved_with() -> None:
    saved = [{"name": "a", "mountPoint": "/1", FLAG: True}, {"name": "b", "mountPoint": "/2", FLAG: True}]
    live = [{"name": "b", "mountPath": "/2"}]
    for cache, wanted in (({"pvcName": "c", "mountPath": "/3"}, None), ({"pvcName": "a", "mountPath": "/1"}, saved), (None, None)):
        assert restore_flat_list(flat_list(cache, live), saved, [], cache, live) == wanted


OPTIONAL = {"secretRef": {"name": "a", "optional": True}}
PREFIXED = {"prefix": "P_", "secretRef": {"name": "a"}}
SETTINGS = {"configMapRef": {"name": "c"}}


@pytest.mark.parametrize(
    ("sources", "shown", "edited", "then"),
    [
        ([OPTIONAL], "a", "a", [OPTIONAL]),
        ([OPTIONAL], "a", "b", [{"secretRef": {"name": "b"}}]),
        ([OPTIONAL], "a", None, None),
        ([PREFIXED], None, None, [PREFIXED]),
        ([PREFIXED], None, "a", [{"secretRef": {"name": "a"}}]),
        ([OPTIONAL, SETTINGS], None, None, [OPTIONAL, SETTINGS]),
        ([OPTIONAL, SETTINGS], None, "b", [{"secretRef": {"name": "b"}}]),
    ],
)
def test_an_edit_of_the_sidecars_secret_wins_over_saved_sources(
    sources: list[Fields], shown: str | None, edited: str | None, then: list[Fields] | None
) -> None:
    there = away(_left({"frontendSidecar": {"image": "f", "envFromSecret": "s"}}))
    there["spec"]["components"][0]["podTemplate"]["spec"]["containers"][1]["envFrom"] = sources
    home = away(there)
    sidecar = home["spec"]["services"]["w"]["frontendSidecar"]
    assert sidecar.pop("envFromSecret", None) == shown
    if edited:
        sidecar["envFromSecret"] = edited
    assert away(home)["spec"]["components"][0]["podTemplate"]["spec"]["containers"][1].get("envFrom") == then
