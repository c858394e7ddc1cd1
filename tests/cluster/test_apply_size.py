"""No stored object breaks a list: whatever size an object has, both versions list it and delete it if it was accepted."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any, Final, TypeAlias

import pytest

from api.kinds import ALPHA, BETA
from tests.cluster.conversion import converting_plane
from tests.cluster.objects import make, path_of

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from tests.cluster.harness import ControlPlane

Node: TypeAlias = dict[str, Any]
# Around Kubernetes' bound of all annotations (262,144 bytes), and up to what etcd takes (1.5 MB with the owners of the fields).
SIZES: Final = (120_000, 250_000, 256_000, 262_000, 270_000, 500_000, 1_000_000, 1_390_000)
BOTH: Final = (ALPHA, BETA)


def _env(size: int) -> list[Node]:
    """Many variables of 1,000 bytes."""
    return [{"name": f"V{number}", "value": "x" * 980} for number in range(size // 1020)]


SHAPES: Final[dict[str, tuple[str, Callable[[int], Node]]]] = {
    "envs of a graph": (ALPHA, lambda size: {"envs": _env(size)}),
    "envs of a service": (ALPHA, lambda size: {"services": {"w": {"envs": _env(size)}}}),
    "one value": (ALPHA, lambda size: {"services": {"w": {"envs": [{"name": "A", "value": "x" * size}]}}}),
    "env of the main container": (ALPHA, lambda size: {"services": {"w": {"extraPodSpec": {"mainContainer": {"env": _env(size)}}}}}),
    "annotations of a service": (ALPHA, lambda size: {"services": {"w": {"annotations": {"a": "x" * size}}}}),
    "labels of a service": (ALPHA, lambda size: {"services": {"w": {"labels": {f"l{number}": "x" * 60 for number in range(size // 72)}}}}),
    "claims": (ALPHA, lambda size: {"pvcs": [{"name": "x" * size, "create": False}]}),
    "an ingress": (ALPHA, lambda size: {"services": {"w": {"ingress": {"enabled": True, "host": "x" * size}}}}),
    "env of a component": (BETA, lambda size: {"components": [{"name": "w", "podTemplate": _pod(size)}]}),
    "components in another order": (BETA, lambda size: {"components": [{"name": "z"}, {"name": "a", "podTemplate": _pod(size)}]}),
    "a sidecar": (BETA, lambda size: {"components": [{"name": "w", "podTemplate": _pod(size, "side")}]}),
    "metadata of a pod": (
        BETA,
        lambda size: {"components": [{"name": "w", "podTemplate": {"metadata": {"annotations": {"a": "x" * size}}}}]},
    ),
}


def _pod(size: int, name: str = "main") -> Node:
    return {"spec": {"containers": [{"name": name, "image": "i", "env": _env(size)}]}}


def _size(spec: Node) -> int:
    return len(json.dumps(spec))


@pytest.fixture(scope="module")
def plane(assets: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[ControlPlane]:
    """Both versions of all kinds, converted by our server; no admission."""
    with converting_plane(assets, tmp_path_factory.mktemp("size")) as (found, _):
        yield found


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
        listed = plane.request("GET", path_of(make("DGD", read, namespace, None)))
        assert listed.status == 200, str(listed.body)[:500]
        assert {item["metadata"]["name"] for item in listed.body["items"]} == set(written)
        if read == version:
            for item in listed.body["items"]:
                assert _size(item["spec"]) >= _size(written[item["metadata"]["name"]])
    other = ALPHA if version == BETA else BETA
    assert plane.request("DELETE", path_of(make("DGD", other, namespace, None))).status == 200
    assert plane.request("GET", path_of(make("DGD", version, namespace, None))).body["items"] == []
