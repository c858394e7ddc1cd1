"""docs/gitops.md with kubectl: a file moved from v1alpha1 to v1beta1, server-side and client-side, and no drift afterwards."""

from typing import Any, TypeAlias

import pytest

from dynamo_webhooks.api.kinds import ALPHA, BETA, GROUP
from dynamo_webhooks.api.line import Line
from dynamo_webhooks.cli.commands.convert.served import convert_as_served
from dynamo_webhooks.conversion.objects import target
from tests.cluster.harness import ControlPlane
from tests.cluster.objects import path_of
from tests.laws.managers.law import sorted_lists
from tests.laws.managers.subjects import GRAPH, Subject
from tests.laws.managers.twins import Part
from tests.laws.managers.types import type_of

Node: TypeAlias = dict[str, Any]
SUBJECT = Subject(
    GRAPH,
    (
        Part("front", "frontend", ("image", "replicas", "secret")),
        Part("work", "worker", ("image", "command", "env", "secret", "gpu", "custom", "mount", "shared memory", "gms", "failover")),
    ),
    ("framework",),
)
# Of each way of kubectl: its flags for applying, and for applying over somebody else's fields.
WAYS = {"server-side": ("--server-side", "--force-conflicts"), "client-side": ()}
LABEL = '{"metadata": {"labels": {"a": "b"}}}'


def _manifest(namespace: str, version: str) -> Node:
    manifest = SUBJECT.manifest(version)
    return {**manifest, "metadata": {**manifest["metadata"], "namespace": namespace}}


def _spec(plane: ControlPlane, namespace: str, version: str) -> Any:
    obj = plane.request("GET", path_of(_manifest(namespace, version), named=True)).body
    return sorted_lists(type_of(GRAPH, version), {"apiVersion": obj["apiVersion"], "spec": obj["spec"]})["spec"]


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize(("first", "second"), [(ALPHA, BETA), (BETA, ALPHA)])
def test_a_file_moved_by_hand(plane: ControlPlane, first: str, second: str, way: str) -> None:
    """It gives what it gives on an empty cluster, in one apply; then there is nothing to apply, also after a label in the old version."""
    moved, alone = plane.namespace(), plane.namespace()
    for namespace, versions in ((moved, (first, second)), (alone, (second,))):
        for version in versions:
            plane.kubectl("apply", *WAYS[way], "-f", "-", input=_manifest(namespace, version)).done()
    assert _spec(plane, moved, BETA) == _spec(plane, alone, BETA)
    resource = f"dynamographdeployments.{first}.nvidia.com"
    assert plane.kubectl("patch", resource, "t", "-n", moved, "--type=merge", "-p", LABEL).code == 0
    diff = plane.kubectl("diff", *WAYS[way], "-f", "-", input=_manifest(moved, second))
    assert diff.code == 0, diff.stdout + diff.stderr


@pytest.mark.parametrize(("first", "second"), [(ALPHA, BETA), (BETA, ALPHA)])
def test_a_converted_file_is_no_difference(plane: ControlPlane, first: str, second: str) -> None:
    """Neither before its first apply nor after it, though a label and a status were written in the old version."""
    namespace = plane.namespace()
    manifest = _manifest(namespace, first)
    output = convert_as_served(manifest, target(f"{GROUP}/{second}", line=Line.V1_2)).object
    assert plane.kubectl("apply", *WAYS["server-side"], "-f", "-", input=manifest).code == 0
    for applied in (False, True):
        resource = f"dynamographdeployments.{first}.nvidia.com"
        assert plane.kubectl("patch", resource, "t", "-n", namespace, "--type=merge", "-p", LABEL).code == 0
        status = '{"status": {"state": "pending"}}'
        assert plane.kubectl("patch", resource, "t", "-n", namespace, "--subresource=status", "--type=merge", "-p", status).code == 0
        diff = plane.kubectl("diff", *WAYS["server-side"], "-f", "-", input=output)
        assert diff.code == 0, diff.stdout + diff.stderr
        if not applied:
            assert plane.kubectl("apply", *WAYS["server-side"], "-f", "-", input=output).code == 0
    assert plane.request("GET", path_of(output, named=True)).body["metadata"]["generation"] == 1
