"""Both versions on a real API server, converted by our server: reads, writes, watches, scale, restarts and outages."""

import os
import time
from functools import partial
from pathlib import Path
from typing import Any, Final, TypeAlias

import pytest

from dynamo_webhooks.api.crd import build as crd
from dynamo_webhooks.api.kinds import ALPHA, BETA
from dynamo_webhooks.api.line import Line
from tests.cluster.admission import FACTS, SELECTED, wait_until_all_are_asked
from tests.cluster.conversion import converting_plane, create_many, events, listed, restart, without_server_fields
from tests.cluster.definitions import install
from tests.cluster.harness import ControlPlane, Reply
from tests.cluster.objects import ORIGIN, make, path_of
from tests.cluster.planes import Planes
from tests.cluster.playing import MERGE
from tests.cluster.processes import RUNNING, wait_until

Node: TypeAlias = dict[str, Any]
MANY: Final = int(os.environ.get("CLUSTER_OBJECTS", "1000"))  # 10000 is what is promised, and what `make nightly` tries

GRAPH: Final[Node] = {
    "backendFramework": "vllm",
    "pvcs": [{"name": "cache", "create": False}],
    "envs": [{"name": "A", "value": "1"}],
    "services": {
        "front": {"componentType": "frontend", "replicas": 1},
        "work": {
            "componentType": "worker",
            "subComponentType": "decode",
            "replicas": 2,
            "resources": {"limits": {"gpu": "1", "memory": "64Gi"}},
            "envs": [{"name": "B", "value": "2"}],
            "volumeMounts": [{"name": "cache", "mountPoint": "/cache"}],
            "extraPodSpec": {"mainContainer": {"image": "example", "args": ["x"]}},
        },
    },
}
POD: Final[Node] = {"spec": {"containers": [{"name": "main", "image": "example"}, {"name": "side", "image": "other"}]}}
SPECS: Final[dict[tuple[str, str], Node]] = {
    ("DGD", ALPHA): GRAPH,
    ("DGD", BETA): {"components": [{"name": "z", "type": "frontend"}, {"name": "a", "type": "worker", "replicas": 3, "podTemplate": POD}]},
    ("DCD", ALPHA): {"componentType": "worker", "dynamoNamespace": "old", "resources": {"limits": {"gpu": "2"}}},
    ("DCD", BETA): {"name": "c", "type": "worker", "replicas": 3, "sharedMemorySize": "1536Mi", "podTemplate": POD},
    ("DGDR", ALPHA): {
        "model": "m",
        "backend": "vllm",
        "profilingConfig": {"profilerImage": "i", "config": {"sla": {"ttft": 200.5, "extra": 1}}},
    },
    ("DGDR", BETA): {"model": "m", "image": "i", "sla": {"ttft": 200.5}, "hardware": {"totalGpus": 8}},
    ("DGDSA", ALPHA): {"replicas": 2, "dgdRef": {"name": "g", "serviceName": "w"}},
    ("DGDSA", BETA): {"replicas": 2, "dgdRef": {"name": "g", "componentName": "w"}},
}


def _as(obj: Node, version: str) -> Node:
    """The object's names in another version."""
    return {**obj, "apiVersion": f"nvidia.com/{version}"}


def _other(version: str) -> str:
    return BETA if version == ALPHA else ALPHA


def _ok(reply: Reply, status: int = 200) -> Node:
    assert reply.status == status, reply.body
    return reply.body


def _stored(plane: ControlPlane, obj: Node) -> Node:
    return _ok(plane.request("POST", path_of(obj), obj), 201)


def _read(plane: ControlPlane, obj: Node, version: str) -> Node:
    return _ok(plane.request("GET", path_of(_as(obj, version), named=True)))


def _annotations(obj: Node, alias: str) -> Node:
    """What is left of the annotations when those are taken away that hold the other version's schema defaults: only requests have such."""
    annotations: Node = obj["metadata"].get("annotations", {})
    return {key: value for key, value in annotations.items() if not (alias == "DGDR" and key.startswith("nvidia.com/dgdr-"))}


@pytest.mark.parametrize(("alias", "version"), list(SPECS))
def test_an_object_is_read_listed_patched_and_deleted_in_both_versions(plane: ControlPlane, alias: str, version: str) -> None:
    """Written in one version and read in it, it is what was written; read in the other and written back, nothing changes."""
    namespace, other = plane.namespace(), _other(version)
    obj = make(alias, version, namespace, SPECS[alias, version], labels={"a": "b"}, annotations={"note": "x"})
    stored = _stored(plane, obj)
    assert _annotations(stored, alias) == {"note": "x"}
    assert without_server_fields(_read(plane, obj, version)) == without_server_fields(stored)

    there = _read(plane, obj, other)
    assert there["metadata"]["labels"] == {"a": "b"}
    listing = _ok(plane.request("GET", path_of(_as(obj, other))))
    assert [item["spec"] for item in listing["items"]] == [there["spec"]]
    put = _ok(plane.request("PUT", path_of(there, named=True), there))
    assert _read(plane, obj, version)["spec"] == stored["spec"]
    if (alias, version) != ("DGDR", BETA):  # the PUT sets a default of v1alpha1's schema, which is an edit to the API server
        assert put["metadata"]["generation"] == stored["metadata"]["generation"]

    patched = _ok(plane.request("PATCH", path_of(there, named=True), {"metadata": {"labels": {"c": "d"}}}, kind=MERGE))
    assert patched["metadata"]["labels"] == {"a": "b", "c": "d"}
    home = _read(plane, obj, version)
    assert home["spec"] == stored["spec"]
    assert _annotations(home, alias) == {"note": "x"}
    assert plane.request("DELETE", path_of(there, named=True)).status == 200


def test_a_watch_in_the_other_version_sees_every_change(plane: ControlPlane) -> None:
    namespace = plane.namespace()
    obj = make("DGD", ALPHA, namespace, GRAPH)
    path = path_of(_as(obj, BETA))
    start = _ok(plane.request("GET", path))["metadata"]["resourceVersion"]
    _stored(plane, obj)
    _ok(plane.request("PATCH", path_of(obj, named=True), {"spec": {"services": {"work": {"replicas": 5}}}}, kind=MERGE))
    assert plane.request("DELETE", path_of(obj, named=True)).status == 200
    seen = []
    for event in events(plane, path, start):
        seen.append((event["type"], [component.get("replicas") for component in event["object"]["spec"]["components"]]))
        if event["type"] == "DELETED":
            break
    assert seen == [("ADDED", [1, 2]), ("MODIFIED", [1, 5]), ("DELETED", [1, 5])]


def test_an_adapter_scales_in_both_versions(plane: ControlPlane) -> None:
    for version, name in ((ALPHA, "serviceName"), (BETA, "componentName")):
        obj = make("DGDSA", version, plane.namespace(), {"replicas": 2, "dgdRef": {"name": "g", name: "w"}})
        _stored(plane, obj)
        for requested, replicas in ((ALPHA, 3), (BETA, 4)):
            path = path_of(_as(obj, requested), named=True) + "/scale"
            assert _ok(plane.request("GET", path))["spec"]["replicas"] == replicas - 1
            _ok(plane.request("PATCH", path, {"spec": {"replicas": replicas}}, kind=MERGE))
            assert _read(plane, obj, _other(requested))["spec"]["replicas"] == replicas


def test_thousands_of_objects_are_listed_after_a_restart_of_the_api_server(plane: ControlPlane) -> None:
    """Its caches of the other version fill through us; each object is what it is when it is read alone."""
    servers = [each for each in RUNNING if each.name == "dynamo-webhooks" and each.ended() is None]
    assert servers
    namespace = plane.namespace()
    obj = make("DGD", ALPHA, namespace, GRAPH)
    began = time.monotonic()
    create_many(plane, path_of(obj), [{**obj, "metadata": {"name": f"g{index}"}} for index in range(MANY)])
    print(f"{MANY} objects made in {time.monotonic() - began:.0f} s")
    restart(plane)
    for version in (BETA, ALPHA):
        began = time.monotonic()
        path = path_of(_as(obj, version))
        items = wait_until(partial(listed, plane, path), "the list", plane.server)["items"]
        print(f"listed in {version} after {time.monotonic() - began:.0f} s")
        assert len(items) == MANY
        assert all(item["apiVersion"] == f"nvidia.com/{version}" for item in items)
        alone = _ok(plane.request("GET", f"{path}/g{MANY // 2}"))
        assert next(item for item in items if item["metadata"]["name"] == f"g{MANY // 2}") == alone
    assert [each.name for each in servers if each.ended() is not None] == []


def test_graphs_are_judged_while_they_are_converted_and_refused_while_they_are_not(planes: Planes, tmp_path: Path) -> None:
    """Webhooks are registered for v1alpha1 alone, as the Go operator's chart has it.

    Without conversion the data of v1beta1 reach the webhook of v1alpha1, which finds no services.
    """
    with converting_plane(planes, tmp_path) as (plane, converter):
        install(plane, crd("DynamoModel", line=Line.V1_2))  # what the harness asks about to see whether the webhooks are asked
        for each in converter.configurations("equivalent", SELECTED):
            older = [hook | {"matchPolicy": "Equivalent"} for hook in each["webhooks"] if hook["rules"][0]["apiVersions"] == [ALPHA]]
            plane.apply({**each, "webhooks": older})
        wait_until_all_are_asked(plane, converter, plane.namespace(SELECTED))
        obj = make("DGD", BETA, plane.namespace(SELECTED), {"components": [{"name": "a"}]})
        stored = plane.request("POST", path_of(obj), obj).done()
        assert stored["spec"]["components"] == [{"name": "a", "replicas": 1}]
        assert stored["metadata"]["annotations"] == {ORIGIN: FACTS["operatorVersion"]}

        install(plane, crd("DynamoGraphDeployment", line=Line.V1_2))
        obj["metadata"]["name"] = "u"

        def refused() -> bool:
            reply = plane.request("POST", path_of(obj) + "?dryRun=All", obj)
            return reply.status == 422 and "[dgd-services-required]" in reply.body["message"]

        wait_until(refused, "graphs being left unconverted", plane.server)
