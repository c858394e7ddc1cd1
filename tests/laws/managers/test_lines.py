"""What line 1.5 writes otherwise than the Go operator, for the sake of field managers (S-7 and S-8 of conversion_differences.py)."""

from functools import partial
from typing import Any, Final

import pytest

from dynamo_webhooks.api.kinds import ALPHA, BETA
from dynamo_webhooks.api.line import Line
from tests.laws.managers.apply import Object
from tests.laws.managers.server import Server
from tests.laws.managers.subjects import COMPONENT
from tests.laws.managers.test_managers import converted

MAIN: Final = {"name": "main", "image": "runtime:1.5.0"}
OFF: Final = {"enabled": False, "checkpointRef": "c"}


_converted: Final = partial(converted, line=Line.V1_5)


def _manifest(version: str, **spec: Any) -> Object:
    return {"apiVersion": f"nvidia.com/{version}", "kind": COMPONENT, "metadata": {"name": "t", "namespace": "default"}, "spec": spec}


def test_a_label_in_v1alpha1_makes_no_new_generation_of_a_checkpoint_that_is_off() -> None:
    """The API server writes v1alpha1's default into whatever it is sent, and compares that with what it read."""
    server = Server(COMPONENT, _converted, Line.V1_5)
    server.apply(_manifest(BETA, name="t", experimental={"checkpoint": OFF}), "owner")
    assert not server.patch(ALPHA, {"metadata": {"labels": {"a": "b"}}}, "kubectl").generation


def test_who_moves_to_v1beta1_leaves_no_mount_of_a_cache() -> None:
    """A mount in v1beta1 alone can't be told from its cache in v1alpha1, so that nobody could remove it."""
    server = Server(COMPONENT, _converted, Line.V1_5)
    mounts = [{"name": "c", "mountPoint": "/c", "useAsCompilationCache": True}]
    server.apply(_manifest(ALPHA, volumeMounts=mounts, extraPodSpec={"mainContainer": {"image": MAIN["image"]}}), "owner")
    template = {"spec": {"containers": [MAIN]}}
    server.apply(_manifest(BETA, name="t", compilationCache={"pvcName": "c", "mountPath": "/c"}, podTemplate=template), "owner")
    server.apply(_manifest(BETA, name="t", podTemplate=template), "owner")
    assert "volumeMounts" not in server.read(BETA)["spec"]["podTemplate"]["spec"]["containers"][0]


@pytest.mark.parametrize(
    "added",
    [
        {"podTemplate": {"spec": {"containers": [{"name": "main", "envFrom": [{"secretRef": {"name": "s"}}]}]}}},
        {"podTemplate": {"spec": {"containers": [{"name": "main", "readinessProbe": {"httpGet": {"path": "/", "port": 1}}}]}}},
        {"podTemplate": {"spec": {"containers": [{"name": "main", "resources": {"requests": {"cpu": "1"}}}]}}},
        {"compilationCache": {"pvcName": "c", "mountPath": "/c"}},
        {"experimental": {"gpuMemoryService": {"mode": "IntraPod"}}},
        {"experimental": {"failover": {"mode": "IntraPod", "numShadows": 1}}},
    ],
    ids=["envFrom", "probe", "resources", "cache", "gpuMemoryService", "failover"],
)
def test_what_another_adds_in_v1beta1_costs_an_apply_in_v1alpha1_one_write_of_the_remainder(added: dict[str, Any]) -> None:
    """The stored remainder says where v1alpha1 has its values; of those that v1beta1 adds, the next write in v1alpha1 adds it."""
    server = Server(COMPONENT, _converted, Line.V1_5)
    owned = _manifest(ALPHA, componentType="worker", extraPodSpec={"mainContainer": {"image": MAIN["image"]}})
    server.apply(owned, "owner")
    server.apply(_manifest(BETA, name="t", **added), "beside")
    assert server.stored is not None
    before, shown = server.stored["spec"], server.read(ALPHA)["spec"]
    first, second = (server.apply(owned, "owner") for _ in range(2))
    assert (first.changed, first.generation, second.changed) == (True, False, False)
    assert (server.stored["spec"], server.read(ALPHA)["spec"]) == (before, shown)


@pytest.mark.parametrize("line", Line)
def test_a_block_with_only_defaults_stays_beside_a_manager_of_v1alpha1(line: Line) -> None:
    """Applied again, the API server asks for its place in v1alpha1 as null: nobody owns the defaults that are in it."""
    server = Server(COMPONENT, partial(converted, line=line), line)
    server.apply(_manifest(ALPHA, componentType="worker", extraPodSpec={"mainContainer": MAIN}), "owner")
    for _ in range(3):
        server.apply(_manifest(BETA, name="t", experimental={"failover": {}}), "beside")
        assert server.read(BETA)["spec"]["experimental"]["failover"]["mode"] == "IntraPod"
        assert server.read(ALPHA)["spec"]["failover"]["enabled"] is True
