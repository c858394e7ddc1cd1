"""A cluster of line 1.5 stays one: our definitions of line 1.2 are refused there by the policy, and not even printed by the command."""

from __future__ import annotations

import subprocess
from typing import TYPE_CHECKING, Any, Final, NamedTuple

import pytest

from dynamo_webhooks.api.definition_guard import binding, policy
from dynamo_webhooks.api.kinds import BETA, GROUP, KINDS
from dynamo_webhooks.api.line import Line
from tests.cluster.admission import COMMAND
from tests.cluster.harness import ADMIN, control_plane
from tests.cluster.objects import make, path_of
from tests.cluster.processes import wait_until
from tools.crd_files import FOLDER, FOLDERS

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from tests.cluster.harness import ControlPlane

GRAPHS: Final = f"/apis/apiextensions.k8s.io/v1/customresourcedefinitions/dynamographdeployments.{GROUP}"
MERGE: Final = "application/merge-patch+json"
COMPONENT: Final[dict[str, Any]] = {
    "name": "w",
    "minAvailable": 1,
    "runtimeVersionOverride": "1.5.0",
    "providerOverride": {"apiVersion": "grove.io/v1alpha1", "value": {"topologyConstraint": {}}},
    "experimental": {"grove": {"forceScalingGroup": True}, "checkpoint": {"enabled": True}},
}
LOWERED: Final = {kind.crd_name for kind in KINDS if kind.alias != "DWM"}


class Site(NamedTuple):
    """A control plane with definitions of line 1.5, the policy, and one graph."""

    plane: ControlPlane
    graph: dict[str, Any]


@pytest.fixture(scope="module")
def site(assets: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Site]:
    with control_plane(assets, tmp_path_factory.mktemp("lower")) as plane:
        done = plane.kubectl("apply", "--server-side", "-f", str(FOLDERS[Line.V1_5]))
        assert done.code == 0, done.stderr
        plane.apply(policy(), binding())
        obj = make("DGD", BETA, "default", {"components": [COMPONENT]})
        wait_until(lambda: plane.request("POST", path_of(obj), obj).status == 201, "a graph being created", plane.server)
        off = {"spec": {"conversion": {"strategy": "None", "webhook": None}}}
        wait_until(lambda: plane.request("PATCH", f"{GRAPHS}?dryRun=All", off, kind=MERGE).status == 422, "the policy", plane.server)
        yield Site(plane, obj)


def _written(site: Site) -> dict[str, Any]:
    """The component after a write that touches nothing of it."""
    path, note = path_of(site.graph, named=True), {"metadata": {"labels": {"written": "again"}}}
    reply = site.plane.request("PATCH", path, note, kind=MERGE)
    assert reply.status == 200, reply
    found: dict[str, Any] = reply.body["spec"]["components"][0]
    return found


@pytest.mark.parametrize("flags", [[], ["--server-side", "--force-conflicts"]], ids=["plain", "server-side"])
def test_applying_the_definitions_of_line_1_2_is_refused_and_nothing_is_lost(site: Site, flags: list[str]) -> None:
    before = _written(site)
    done = site.plane.kubectl("apply", *flags, "-f", str(FOLDER))
    assert done.code != 0
    refused = {name for name in LOWERED if f'"{name}" is forbidden' in done.stderr or f'"{name}" is invalid' in done.stderr}
    assert refused == LOWERED, done.stderr
    crd = site.plane.request("GET", GRAPHS).body
    assert [version["name"] for version in crd["spec"]["versions"] if version["storage"]] == [BETA]
    assert _written(site) == before
    for field in ("minAvailable", "runtimeVersionOverride", "providerOverride"):
        assert before[field] == COMPONENT[field]
    assert before["experimental"]["grove"] == {"forceScalingGroup": True}


def test_the_command_prints_the_clusters_line_and_nothing_that_lowers_it(site: Site) -> None:
    words = [str(COMMAND), "crds", "--cluster", "--kubeconfig", str(site.plane.kubeconfig), "--context", ADMIN]
    printed = subprocess.run(words, capture_output=True, text=True, check=True)
    done = site.plane.kubectl("apply", "--server-side", "-f", "-", input=printed.stdout)
    assert done.code == 0, done.stderr
    refused = subprocess.run([*words, "--line", "1.2"], capture_output=True, text=True, check=False)
    assert (refused.returncode, refused.stdout) == (1, "")
    assert "v1beta1 spec.components[].minAvailable" in refused.stderr
    assert refused.stderr.splitlines()[-1].endswith("use --line 1.5")
