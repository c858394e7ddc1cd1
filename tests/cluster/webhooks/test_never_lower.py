"""A cluster of line 1.5 stays one: our definitions of line 1.2 are refused there by the policy, and not even printed by the command."""

import contextlib
import io
import itertools
import json
import shlex
import subprocess
from collections.abc import Iterator
from typing import Final

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
from tools.crd_files import FOLDERS

GRAPHS: Final = f"/apis/apiextensions.k8s.io/v1/customresourcedefinitions/dynamographdeployments.{GROUP}"
# the definition of a kind that is gone is never raised
LOWERED: Final = {kind.crd_name for kind in KINDS if kind.is_of(Line.V1_6) and kind.alias != "DWM"}
NAMESPACE: Final = "dynamo-system"


@pytest.fixture(scope="module")
def raised(planes: Planes) -> Iterator[ControlPlane]:
    """A control plane whose definitions were raised to line 1.5, with the policy."""
    with planes.lend() as plane:
        assert plane.kubectl("apply", "--server-side", "-f", str(FOLDERS[Line.V1_2])).code == 0
        _guard(plane)
        printed = subprocess.run([*_crds(plane), "--line", "1.5"], capture_output=True, text=True, check=True)
        plane.kubectl("apply", "--server-side", "-f", "-", input=printed.stdout).done()
        yield plane


def _guard(plane: ControlPlane) -> None:
    """Applies the policy, and waits until it refuses."""
    plane.apply(policy(), binding())
    off = {"spec": {"conversion": {"strategy": "None", "webhook": None}}}
    wait_until(lambda: plane.request("PATCH", f"{GRAPHS}?dryRun=All", off, kind=MERGE).status == 422, "the policy", plane.server)


def _crds(plane: ControlPlane) -> list[str]:
    return [str(COMMAND), "crds", "--cluster", "--kubeconfig", str(plane.kubeconfig), "--context", ADMIN]


def test_applying_older_definitions_over_those_of_1_6_says_which_fields_objects_would_lose(planes: Planes) -> None:
    graph = make("DGD", BETA, "default", {"components": [{"name": "w", "roles": [{"name": "leader", "replicas": 2}]}]})
    with planes.lend() as plane:
        install(plane, *read_files(FOLDERS[Line.V1_6]))
        _guard(plane)
        assert plane.request("POST", path_of(graph), graph).status == 201
        for line, flags in itertools.product((Line.V1_5, Line.V1_2), ([], ["--server-side", "--force-conflicts"])):
            done = plane.kubectl("apply", *flags, "-f", str(FOLDERS[line]))
            assert done.code != 0
            names = {name for name in LOWERED if f'"{name}" is forbidden' in done.stderr or f'"{name}" is invalid' in done.stderr}
            assert names == LOWERED or (line is Line.V1_5 and "dynamographdeployments.nvidia.com" in names), done.stderr
            assert "`dynamo-webhooks crds --cluster`" in done.stderr
            refused = subprocess.run([*_crds(plane), "--line", line], capture_output=True, text=True, check=False)
            assert (refused.returncode, refused.stdout) == (1, "")
            if line is Line.V1_5:
                assert "v1beta1 spec.components[].lpx" in refused.stderr
                assert "must keep all its fields, and lacks " in done.stderr
                assert {"spec.components[].lpx", "spec.services{}.lpx"} <= {word.strip(",:") for word in done.stderr.split()}
        label = {"metadata": {"labels": {"written": "again"}}}
        assert plane.request("PATCH", path_of(graph, named=True), label, kind=MERGE).body["spec"] == graph["spec"]


def test_the_command_prints_the_clusters_line_and_nothing_that_lowers_it(raised: ControlPlane) -> None:
    words = _crds(raised)
    printed = subprocess.run(words, capture_output=True, text=True, check=True)
    raised.kubectl("apply", "--server-side", "-f", "-", input=printed.stdout).done()
    refused = subprocess.run([*words, "--line", "1.2"], capture_output=True, text=True, check=False)
    assert (refused.returncode, refused.stdout) == (1, "")
    assert "v1alpha1 spec.services{}.minAvailable" in refused.stderr
    assert refused.stderr.splitlines()[-1].endswith("use --line 1.5")


def test_the_chart_installs_only_with_a_configuration_of_the_clusters_line(raised: ControlPlane) -> None:
    def tried(*values: str) -> str:
        words = ["install", RELEASE, str(CHART), "-n", NAMESPACE, "--create-namespace", "--dry-run=server"]
        done = helm(*words, *settings(("definitionGuard.enabled=false", *values)), kubeconfig=raised.kubeconfig)
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


def test_doctor_raises_the_version_of_a_release_that_is_older_than_the_definitions(raised: ControlPlane) -> None:
    """By the repair as printed; `allowSecondInstallation` lets the chart install what it would refuse."""
    values = settings(("definitionGuard.enabled=false", "allowSecondInstallation=true", "config.operator.version=1.2.0"))
    done = helm("install", RELEASE, str(CHART), "-n", NAMESPACE, "--create-namespace", *values, kubeconfig=raised.kubeconfig)
    assert done.returncode == 0, done.stderr
    [repair] = _lines(raised)
    program, *words = shlex.split(repair.replace("manifests/chart", str(CHART)))
    assert (program, words[-1]) == ("helm", "config.operator.version=1.5.0")
    done = helm(*words, home=raised.kubeconfig.parent)
    assert done.returncode == 0, done.stderr
    assert _lines(raised) == []
    assert helm("uninstall", RELEASE, "-n", NAMESPACE, kubeconfig=raised.kubeconfig).returncode == 0


def _lines(plane: ControlPlane) -> list[str]:
    """The repairs of what `doctor` finds about operator releases."""
    with contextlib.redirect_stdout(io.StringIO()) as out:
        main(["doctor", "--kubeconfig", str(plane.kubeconfig), "-o", "json"])
    return [each["repair"] for each in json.loads(out.getvalue())["findings"] if each["check"] == "line"]
