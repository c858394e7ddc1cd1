"""A cluster of line 1.5 stays one: our definitions of line 1.2 are refused there by the policy, and not even printed by the command."""

import subprocess
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Any, Final, NamedTuple

import pytest

from dynamo_webhooks.api.definition_guard import binding, policy
from dynamo_webhooks.api.kinds import BETA, GROUP, KINDS
from dynamo_webhooks.api.line import Line
from tests.cluster.admission import COMMAND
from tests.cluster.harness import ADMIN, ControlPlane, control_plane
from tests.cluster.objects import make, path_of
from tests.cluster.playing import MERGE
from tests.cluster.processes import wait_until
from tests.cluster.rendering import CHART, RELEASE, helm, settings
from tests.cluster.webhooks.test_lines import has_all
from tools.crd_files import FOLDER, FOLDERS

GRAPHS: Final = f"/apis/apiextensions.k8s.io/v1/customresourcedefinitions/dynamographdeployments.{GROUP}"
OVERRIDE: Final[dict[str, Any]] = {"apiVersion": "grove.io/v1alpha1", "value": {"topologyConstraint": {}}}
CHECKPOINT: Final[dict[str, Any]] = {"enabled": True, "startupPolicy": "WaitForCheckpoint", "deletionPolicy": "Retain"}
POD: Final[dict[str, Any]] = {"spec": {"containers": [{"name": "main"}], "schedulingGroup": {"podGroupName": "g"}}}
STANDALONE: Final[dict[str, Any]] = {
    "name": "w",
    "minAvailable": 1,
    "runtimeVersionOverride": "1.5.0",
    "podTemplate": POD,
    "experimental": {"grove": {"forceScalingGroup": True}, "checkpoint": CHECKPOINT},
}
# all fields of line 1.5 that a spec can have
SPECS: Final[dict[str, dict[str, Any]]] = {
    "DGD": {
        "providerOverride": OVERRIDE,
        "experimental": {"kvTransferPolicy": {"clusterTopologyName": "default", "domain": "rack"}},
        "components": [
            {
                **STANDALONE,
                "providerOverride": OVERRIDE,
                "multinode": {"nodeCount": 2},
                "roles": [{"name": name, "providerOverride": OVERRIDE} for name in ("leader", "worker")],
            }
        ],
    },
    "DCD": STANDALONE,
    "DGDR": {"model": "m", "backend": "vllm", "image": "x", "runtimeVersionOverride": "1.5.0"},
}
# the definition of a kind that is gone is never raised
LOWERED: Final = {kind.crd_name for kind in KINDS if kind.alias not in ("DWM", "CKPT")}
NAMESPACE: Final = "dynamo-system"


class Site(NamedTuple):
    """A control plane with definitions that were raised to line 1.5, the policy, and an object of each kind with new fields."""

    plane: ControlPlane
    objects: dict[str, dict[str, Any]]


@pytest.fixture(scope="module")
def site(assets: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Site]:
    with control_plane(assets, tmp_path_factory.mktemp("lower")) as plane:
        assert plane.kubectl("apply", "--server-side", "-f", str(FOLDERS[Line.V1_2])).code == 0
        plane.apply(policy(), binding())
        off = {"spec": {"conversion": {"strategy": "None", "webhook": None}}}
        wait_until(lambda: plane.request("PATCH", f"{GRAPHS}?dryRun=All", off, kind=MERGE).status == 422, "the policy", plane.server)
        printed = subprocess.run([*_crds(plane), "--line", "1.5"], capture_output=True, text=True, check=True)
        done = plane.kubectl("apply", "--server-side", "-f", "-", input=printed.stdout)
        assert done.code == 0, done.stderr
        made = {alias: make(alias, BETA, "default", spec) for alias, spec in SPECS.items()}
        for obj in made.values():
            wait_until(partial(_is_whole, plane, obj), f"{obj['kind']} being kept whole", plane.server)
        yield Site(plane, made)


def _crds(plane: ControlPlane) -> list[str]:
    return [str(COMMAND), "crds", "--cluster", "--kubeconfig", str(plane.kubeconfig), "--context", ADMIN]


def _is_whole(plane: ControlPlane, obj: dict[str, Any]) -> bool:
    """Creates an object, and again while the API server still has the old definition."""
    reply = plane.request("POST", f"{path_of(obj)}?fieldValidation=Strict", obj)
    if reply.status == 201:
        assert has_all(reply.body["spec"], obj["spec"]), reply.body
    return reply.status == 201


def _written(site: Site) -> dict[str, Any]:
    """The specs after a write that touches nothing of them."""
    found = {}
    for alias, obj in site.objects.items():
        note = {"metadata": {"labels": {"written": "again"}}}
        reply = site.plane.request("PATCH", path_of(obj, named=True), note, kind=MERGE)
        assert reply.status == 200, reply
        found[alias] = reply.body["spec"]
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
    for alias, spec in SPECS.items():
        assert has_all(before[alias], spec), before[alias]


def test_the_command_prints_the_clusters_line_and_nothing_that_lowers_it(site: Site) -> None:
    words = _crds(site.plane)
    printed = subprocess.run(words, capture_output=True, text=True, check=True)
    done = site.plane.kubectl("apply", "--server-side", "-f", "-", input=printed.stdout)
    assert done.code == 0, done.stderr
    refused = subprocess.run([*words, "--line", "1.2"], capture_output=True, text=True, check=False)
    assert (refused.returncode, refused.stdout) == (1, "")
    assert "v1alpha1 spec.services{}.minAvailable" in refused.stderr
    assert refused.stderr.splitlines()[-1].endswith("use --line 1.5")


def test_the_chart_installs_only_with_a_configuration_of_the_clusters_line(site: Site) -> None:
    def tried(*values: str) -> str:
        words = ["install", RELEASE, str(CHART), "-n", NAMESPACE, "--create-namespace", "--dry-run=server"]
        done = helm(*words, *settings(("definitionGuard.enabled=false", *values)), kubeconfig=site.plane.kubeconfig)
        return done.stderr if done.returncode else done.stdout

    assert "config.operator.version: must be 1.5.0 or later, because the cluster's definitions are of line 1.5" in tried()
    assert "kubectl apply --server-side -f manifests/crds-1.5/" in tried("config.operator.version=1.5.0")
    named = tried("config.operator.version=1.6.1", "fullnameOverride=mine", "config.certificates.takeOverConversion=true")
    assert f"dynamo-webhooks crds --namespace {NAMESPACE} --service mine --line 1.5 | kubectl apply --server-side -f -" in named
