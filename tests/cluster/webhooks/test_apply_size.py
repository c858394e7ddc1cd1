"""No stored object breaks a list: whatever size an object has, both versions list it and delete it if it was accepted."""

import json
from collections.abc import Callable
from typing import Any, Final, TypeAlias

import pytest

from dynamo_webhooks.api.kinds import ALPHA, BETA, api_version
from dynamo_webhooks.conversion.bounds import TOO_LONG
from tests.cluster.harness import ControlPlane
from tests.cluster.objects import make, path_of
from tests.cluster.processes import wait_until
from tests.cluster.provisioning import MERGE_PATCH
from tests.conversion.test_bounds import noise

Node: TypeAlias = dict[str, Any]
# Around Kubernetes' bound of all annotations (262,144 bytes), and up to what etcd takes (1.5 MB with the owners of the fields).
SIZES: Final = (120_000, 250_000, 256_000, 262_000, 270_000, 500_000, 1_000_000, 1_390_000)
BOTH: Final = (ALPHA, BETA)


def _env(size: int) -> list[Node]:
    """Many variables of 1,000 bytes."""
    return [{"name": f"V{number}", "value": "x" * 980} for number in range(size // 1020)]


SHAPES: Final[dict[str, tuple[str, Callable[[int], Node]]]] = {
    "envs of a graph": (ALPHA, lambda size: {"envs": _env(size)}),
    "one value": (ALPHA, lambda size: {"services": {"w": {"envs": [{"name": "A", "value": "x" * size}]}}}),
    "env of the main container": (ALPHA, lambda size: {"services": {"w": {"extraPodSpec": {"mainContainer": {"env": _env(size)}}}}}),
    "annotations of a service": (ALPHA, lambda size: {"services": {"w": {"annotations": {"a": "x" * size}}}}),
    "an ingress": (ALPHA, lambda size: {"services": {"w": {"ingress": {"enabled": True, "host": "x" * size}}}}),
    "env of a component": (BETA, lambda size: {"components": [{"name": "w", "podTemplate": _pod(size)}]}),
    "components in another order": (BETA, lambda size: {"components": [{"name": "z"}, {"name": "a", "podTemplate": _pod(size)}]}),
    "finalizers of a pod, which can't be packed": (
        BETA,
        lambda size: {"components": [{"name": "w", "podTemplate": {"metadata": {"finalizers": [noise(size)]}}}]},
    ),
}


def _pod(size: int) -> Node:
    return {"spec": {"containers": [{"name": "main", "image": "i", "env": _env(size)}]}}


@pytest.mark.parametrize("shape", SHAPES)
def test_what_is_accepted_can_be_listed(plane: ControlPlane, shape: str) -> None:
    """A list of both versions answers with every accepted object, whole; then a collection of them can be deleted in the other version."""
    version, spec = SHAPES[shape]
    namespace = plane.namespace()
    written = {}
    for number, size in enumerate(SIZES):
        obj = make("DGD", version, namespace, spec(size), name=f"t{number}")
        if plane.request("POST", path_of(obj), obj).status == 201:
            written[obj["metadata"]["name"]] = obj["spec"]
    assert len(written) >= 2
    for read in BOTH:
        listed = plane.request("GET", path_of(make("DGD", read, namespace, None))).done()
        assert {item["metadata"]["name"] for item in listed["items"]} == set(written)
        if read == version:
            for item in listed["items"]:
                assert len(json.dumps(item["spec"])) >= len(json.dumps(written[item["metadata"]["name"]]))
    other = ALPHA if version == BETA else BETA
    assert plane.request("DELETE", path_of(make("DGD", other, namespace, None))).status == 200
    assert plane.request("GET", path_of(make("DGD", version, namespace, None))).body["items"] == []


def _unpackable(size: int) -> Node:
    return {"services": {"w": {"annotations": {"a": noise(size)}}}}


def _too_long(plane: ControlPlane, **sizes: int) -> str:
    """A namespace of its own with v1alpha1 graphs, and a small one; all hold a finalizer."""
    namespace = plane.namespace()
    for name, size in {"small": 10, **sizes}.items():
        graph = make("DGD", ALPHA, namespace, _unpackable(size), name=name, finalizers=["example.com/hold"])
        assert plane.request("POST", path_of(graph), graph).status == 201
    return namespace


def _at(version: str, namespace: str, name: str = "") -> str:
    return path_of(make("DGD", version, namespace, None, name=name), named=bool(name))


def _names(plane: ControlPlane, namespace: str) -> list[str]:
    """The names that both versions list."""
    lists = [plane.request("GET", _at(version, namespace)) for version in BOTH]
    assert [reply.status for reply in lists] == [200, 200]
    here, there = ([item["metadata"]["name"] for item in reply.body["items"]] for reply in lists)
    assert here == there
    return here


_OVERRIDDEN: Final = {"apiVersion": "nvidia.com/v1alpha1", "kind": "DynamoGraphDeployment"}
OTHERS: Final[dict[str, tuple[str, str, Callable[[str], Node]]]] = {
    "component": ("DCD", ALPHA, lambda text: {"annotations": {"a": text}}),
    "component in v1beta1": ("DCD", BETA, lambda text: {"type": "worker", "podTemplate": {"metadata": {"finalizers": [text]}}}),
    "request": ("DGDR", BETA, lambda text: {"model": "m", "overrides": {"dgd": {**_OVERRIDDEN, "spec": {"a": text}}}}),
    "request in v1alpha1": (
        "DGDR",
        ALPHA,
        lambda text: {"model": "m", "backend": "vllm", "profilingConfig": {"profilerImage": "i", "config": {"a": text}}},
    ),
}


@pytest.mark.parametrize("what", OTHERS)
def test_other_kinds_are_listed_too(plane: ControlPlane, what: str) -> None:
    """With text that can be packed, and with text that can't."""
    alias, version, spec = OTHERS[what]
    namespace, written = plane.namespace(), set()
    for size in SIZES:
        for name, text in ((f"a{size}", "x" * size), (f"b{size}", noise(size))):
            obj = make(alias, version, namespace, spec(text), name=name)
            reply = plane.request("POST", path_of(obj), obj)
            assert reply.status == 201 or size > 120_000, reply.body
            written |= {name} if reply.status == 201 else set()
    for read in BOTH:
        listed = plane.request("GET", path_of(make(alias, read, namespace, None))).done()
        assert {item["metadata"]["name"] for item in listed["items"]} == written


def test_a_long_status_breaks_no_list(plane: ControlPlane) -> None:
    """What older operators look for is left out as well where it doesn't fit."""
    request = make("DGDR", BETA, plane.namespace(), {"model": "m"})
    created = plane.request("POST", path_of(request), request).done()
    written = plane.request("PUT", path_of(request, named=True) + "/status", {**created, "status": {"profilingJobName": "x" * 300_000}})
    assert written.status == 200, str(written.body)[:500]
    (item,) = plane.request("GET", path_of({**request, "apiVersion": api_version(ALPHA)})).body["items"]
    assert item["metadata"]["labels"] == {TOO_LONG: "too-long"}


SENTENCE: Final = f"{TOO_LONG}: must not be written or deleted in this version, which can't hold all that the object says: use v1alpha1"


def test_objects_whose_text_cannot_be_packed_are_listed(plane: ControlPlane) -> None:
    """In part beyond the bound, and with the label only there; in the stored version as they were written."""
    namespace = _too_long(plane, **{f"t{size}": size for size in SIZES})
    for item in plane.request("GET", _at(BETA, namespace)).body["items"]:
        size = int(item["metadata"]["name"].removeprefix("t").replace("small", "10"))
        assert (TOO_LONG in item["metadata"].get("labels", {})) is (size > 262_000), size
    for item in plane.request("GET", _at(ALPHA, namespace)).body["items"]:
        size = int(item["metadata"]["name"].removeprefix("t").replace("small", "10"))
        assert item["spec"] == _unpackable(size)
        assert TOO_LONG not in item["metadata"].get("labels", {})


def test_an_object_shown_in_part_is_written_and_deleted_in_the_stored_version_alone_and_stops_no_other(plane: ControlPlane) -> None:
    """An API server converts what it writes and deletes; the answer names the object, and says what to do. Nothing is lost meanwhile."""
    namespace = _too_long(plane, long=500_000, other=1_000)
    here, there = (_at(version, namespace, "long") for version in BOTH)
    change = {"metadata": {"labels": {"a": "b"}}}
    refused = plane.request("PATCH", there, change, kind=MERGE_PATCH)
    assert (refused.status, SENTENCE in refused.body["message"]) == (500, True)
    assert plane.request("PATCH", here, change, kind=MERGE_PATCH).status == 200
    assert plane.request("GET", there).body["metadata"]["labels"] == {TOO_LONG: "too-long", "a": "b"}
    # it converts what stands in its cache, or, before the object is there, only what it writes, which is on its way out and accepted
    cached = f"{_at(BETA, namespace)}?resourceVersion=0"
    wait_until(lambda: len(plane.request("GET", cached).body["items"]) == 3, "the cache of the version that is not stored")
    for path in (there, _at(BETA, namespace)):
        refused = plane.request("DELETE", path)
        assert refused.status == 500
        assert f"DynamoGraphDeployment {namespace}/long: metadata.labels.{SENTENCE}" in refused.body["message"]
    assert plane.request("GET", here).body["spec"] == _unpackable(500_000)
    assert plane.request("DELETE", _at(BETA, namespace, "small")).status == 200
    assert plane.request("DELETE", f"{_at(BETA, namespace)}?labelSelector=%21{TOO_LONG.replace('/', '%2F')}").status == 200
    assert plane.request("DELETE", here).status == 200
    assert _names(plane, namespace) == ["long", "other", "small"]
    for name in _names(plane, namespace):  # whoever holds the finalizers may use either version
        plane.request("PATCH", _at(BETA, namespace, name), {"metadata": {"finalizers": None}}, kind=MERGE_PATCH).done()
    assert _names(plane, namespace) == []
