"""A cluster of line 1.5 stays one: our definitions of line 1.2 are refused there by the policy, and not even printed by the command."""

import contextlib
import io
import json
import shlex
import subprocess
from collections.abc import Iterator
from functools import partial
from typing import Any, Final, NamedTuple

import pytest

from dynamo_webhooks.api.definition_guard import binding, policy
from dynamo_webhooks.api.kinds import BETA, GROUP, KINDS
from dynamo_webhooks.api.line import Line
from dynamo_webhooks.cli.main import main
from tests.cluster.admission import COMMAND
from tests.cluster.definitions import install, read_files
from tests.cluster.harness import ADMIN, ControlPlane
from tests.cluster.objects import make, path_of
from tests.cluster.planes import Planes
from tests.cluster.playing import MERGE
from tests.cluster.processes import wait_until
from tests.cluster.rendering import CHART, RELEASE, helm, settings
from tests.cluster.webhooks.test_lines import has_all
from tools.crd_files import FOLDERS

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
def site(planes: Planes) -> Iterator[Site]:
    with planes.lend() as plane:
        assert plane.kubectl("apply", "--server-side", "-f", str(FOLDERS[Line.V1_2])).code == 0
        _guard(plane)
        printed = subprocess.run([*_crds(plane), "--line", "1.5"], capture_output=True, text=True, check=True)
        done = plane.kubectl("apply", "--server-side", "-f", "-", input=printed.stdout)
        assert done.code == 0, done.stderr
        made = {alias: make(alias, BETA, "default", spec) for alias, spec in SPECS.items()}
        for obj in made.values():
            wait_until(partial(_is_whole, plane, obj), f"{obj['kind']} being kept whole", plane.server)
        yield Site(plane, made)


def _guard(plane: ControlPlane) -> None:
    """Applies the policy, and waits until it refuses."""
    plane.apply(policy(), binding())
    off = {"spec": {"conversion": {"strategy": "None", "webhook": None}}}
    wait_until(lambda: plane.request("PATCH", f"{GRAPHS}?dryRun=All", off, kind=MERGE).status == 422, "the policy", plane.server)


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
    done = site.plane.kubectl("apply", *flags, "-f", str(FOLDERS[Line.V1_2]))
    assert done.code != 0
    refused = {name for name in LOWERED if f'"{name}" is forbidden' in done.stderr or f'"{name}" is invalid' in done.stderr}
    assert refused == LOWERED, done.stderr
    crd = site.plane.request("GET", GRAPHS).body
    assert [version["name"] for version in crd["spec"]["versions"] if version["storage"]] == [BETA]
    assert _written(site) == before
    for alias, spec in SPECS.items():
        assert has_all(before[alias], spec), before[alias]


def test_applying_older_definitions_over_those_of_1_6_says_which_fields_objects_would_lose(planes: Planes) -> None:
    graph = make("DGD", BETA, "default", {"components": [{"name": "w", "roles": [{"name": "leader", "replicas": 2}]}]})
    with planes.lend() as plane:
        install(plane, *read_files(FOLDERS[Line.V1_6]))
        _guard(plane)
        assert plane.request("POST", path_of(graph), graph).status == 201
        for line in (Line.V1_5, Line.V1_2):
            done = plane.kubectl("apply", "--server-side", "--force-conflicts", "-f", str(FOLDERS[line] / "dynamographdeployments.yaml"))
            assert done.code != 0
            assert "`dynamo-webhooks crds --cluster`" in done.stderr
            refused = subprocess.run([*_crds(plane), "--line", line], capture_output=True, text=True, check=False)
            assert (refused.returncode, refused.stdout) == (1, "")
            if line is Line.V1_5:
                assert "v1beta1 spec.components[].lpx" in refused.stderr
                assert "must keep all its fields, and lacks " in done.stderr
                assert {"spec.components[].lpx", "spec.services{}.lpx"} <= {word.strip(",:") for word in done.stderr.split()}
        label = {"metadata": {"labels": {"written": "again"}}}
        assert plane.request("PATCH", path_of(graph, named=True), label, kind=MERGE).body["spec"] == graph["spec"]


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

    lower = tried("config.operator.version=1.2.0")
    assert "config.operator.version: must be of operator 1.5, as the cluster's definitions are, or left out, got operator 1.2" in lower
    assert "never apply older definitions over them, or objects lose fields" in lower
    higher = tried("config.operator.version=1.6.1")
    assert "must be of operator 1.5, as the cluster's definitions are, or left out, got operator 1.6" in higher
    assert "first: dynamo-webhooks crds --cluster --line 1.6 | kubectl apply --server-side -f -" in higher
    for fitting in ((), ("config.operator.version=1.5.3",), ("config.operator.version=0.0.0-dev",)):
        assert "crds --cluster" in tried(*fitting)
    assert "version: 1.5.0" in tried(), "the cluster decides where nobody names a release"
    named = tried("config.operator.version=1.5.3", "fullnameOverride=mine", "config.certificates.takeOverConversion=true")
    assert f"crds --cluster --line 1.5 --namespace {NAMESPACE} --service mine | kubectl apply --server-side -f -" in named


def test_doctor_raises_the_version_of_a_release_that_is_older_than_the_definitions(site: Site) -> None:
    """By the repair as printed; `allowSecondInstallation` lets the chart install what it would refuse."""
    values = settings(("definitionGuard.enabled=false", "allowSecondInstallation=true", "config.operator.version=1.2.0"))
    done = helm("install", RELEASE, str(CHART), "-n", NAMESPACE, "--create-namespace", *values, kubeconfig=site.plane.kubeconfig)
    assert done.returncode == 0, done.stderr
    [repair] = _lines(site.plane)
    program, *words = shlex.split(repair.replace("manifests/chart", str(CHART)))
    assert (program, words[-1]) == ("helm", "config.operator.version=1.5.0")
    done = helm(*words, home=site.plane.kubeconfig.parent)
    assert done.returncode == 0, done.stderr
    assert _lines(site.plane) == []
    assert helm("uninstall", RELEASE, "-n", NAMESPACE, kubeconfig=site.plane.kubeconfig).returncode == 0


def _lines(plane: ControlPlane) -> list[str]:
    """The repairs of what `doctor` finds about operator releases."""
    with contextlib.redirect_stdout(io.StringIO()) as out:
        main(["doctor", "--kubeconfig", str(plane.kubeconfig), "-o", "json"])
    return [each["repair"] for each in json.loads(out.getvalue())["findings"] if each["check"] == "line"]
