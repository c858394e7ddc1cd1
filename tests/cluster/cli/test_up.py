"""`dynamo-webhooks up` on a real API server: from nothing to a refused graph and a running one, and nothing left behind."""

import contextlib
import os
import re
import signal
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Final

import pytest

from dynamo_webhooks.api.line import DEFAULT_LINE
from dynamo_webhooks.webhooks import child_process
from tests.cluster.harness import ControlPlane
from tests.cluster.planes import Planes
from tests.cluster.processes import Process, StartError, wait_until
from tests.cluster.reconciling import GRAPHS, Pods
from tests.cluster.trying import COMMAND, made, trying, until_running

PATHS: Final = (
    "/apis/apiextensions.k8s.io/v1/customresourcedefinitions",
    *(f"/apis/admissionregistration.k8s.io/v1/{kind}webhookconfigurations" for kind in ("validating", "mutating")),
    *(f"/apis/apps/v1/{plural}" for plural in ("deployments", "replicasets")),
    *(f"/apis/rbac.authorization.k8s.io/v1/{plural}" for plural in ("roles", "rolebindings")),
    "/apis/coordination.k8s.io/v1/leases",
    *(f"/api/v1/{plural}" for plural in ("services", "pods", "serviceaccounts", "configmaps", "secrets")),
)
NAMES: Final = "application/json;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1"


@pytest.fixture(scope="module")
def plane(planes: Planes) -> Iterator[ControlPlane]:
    with planes.lend(managed=True) as lent, Pods(lent):
        yield lent


def _there(plane: ControlPlane) -> set[str]:
    """All that isn't Kubernetes' own: what it makes for itself, it makes when it comes to it."""
    objects = set()
    for path in PATHS:
        named = (obj["metadata"] for obj in plane.request("GET", path, accept=NAMES).done()["items"] or ())
        objects |= {(path, metadata.get("namespace", ""), metadata["name"]) for metadata in named}
    return {" ".join(obj) for obj in objects if not obj[1].startswith("kube-") and obj[2] not in ("default", "kube-root-ca.crt")}


def _wait_until_nothing_is_left(plane: ControlPlane, before: set[str]) -> None:
    with contextlib.suppress(StartError):
        wait_until(lambda: _there(plane) == before, "nothing being left", plane.server)
    assert _there(plane) == before


def _once(plane: ControlPlane, *more: str) -> tuple[int, str]:
    words = [*COMMAND, str(plane.kubeconfig), *more]
    done = subprocess.run(words, capture_output=True, text=True, check=False, timeout=300, env=child_process.environment())
    return done.returncode, done.stderr


def _stopped(process: Process) -> int:
    os.kill(process.pid, signal.SIGINT)
    wait_until(lambda: process.ended() is not None, "its end")
    return int(process.ended() or 0)


@pytest.mark.parametrize("line", ["", "1.2"], ids=["default", "1.2"])
def test_from_nothing_to_a_refused_graph_and_to_a_running_one_and_nothing_is_left(plane: ControlPlane, tmp_path: Path, line: str) -> None:
    before = _there(plane)
    with trying(plane, tmp_path, *(["--line", line] if line else [])) as process:
        assert f" as operator {line or DEFAULT_LINE}: " in process.text()
        until_running(plane, process)
        shown = plane.kubectl("get", "dgd").stdout
        assert "MESSAGE" in shown
        assert "All resources are ready" in shown
        old = plane.request("GET", GRAPHS.format("default").replace("v1beta1", "v1alpha1") + "/g")
        assert set(old.body["spec"]["services"]) == {"Frontend", "planner"}
        assert _stopped(process) == 0, process.text()
        # one of DynamoCheckpoint's, which 1.5 and later no longer have
        assert f"removed {9 if line == '1.2' else 8} registrations" in process.text()
        assert "Traceback" not in process.text()
    _wait_until_nothing_is_left(plane, before)


def test_what_a_killed_one_left_is_taken_over_or_removed(plane: ControlPlane, tmp_path: Path) -> None:
    before = _there(plane)
    with trying(plane, tmp_path) as process:
        for more in ((), ("--clean",)):
            code, output = _once(plane, *more)
            assert (code, "another `up` serves the cluster at https://127.0.0.1:" in output) == (1, True), output
        assert plane.kubectl("apply", "-f", "-", input=made()).code == 0
        process.kill()
    assert any("dynamographdeployments" in name for name in _there(plane))
    with trying(plane, tmp_path / "second") as process:
        assert plane.request("GET", GRAPHS.format("default") + "/g").status == 200
        process.kill()
    code, output = _once(plane, "--clean")
    assert code == 0, output
    assert "removed 8 registrations" in output
    _wait_until_nothing_is_left(plane, before)
    assert _once(plane, "--clean") == (0, "nothing of `up` is there\n")


def test_an_address_that_the_api_server_does_not_reach_is_named_with_another(plane: ControlPlane, tmp_path: Path) -> None:
    before = _there(plane)
    code, output = _once(plane, "--address", "nowhere.invalid:0")
    assert code == 1, output
    assert re.search(r"the API server can't reach https://nowhere.invalid:\d+: .*; name an address of this machine .*--address", output)
    _wait_until_nothing_is_left(plane, before)
