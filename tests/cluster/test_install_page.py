"""The commands of docs/install.md, run as they stand there, on a cluster with controllers."""

import base64
import json
import os
import re
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Final

import pytest

from dynamo_webhooks.api.kinds import ALPHA, BETA, GROUP
from dynamo_webhooks.reconciler.render.discovery import make_shared_account
from dynamo_webhooks.reconciler.render.names import PICKER_ACCOUNT, PLANNER_ACCOUNT
from dynamo_webhooks.reconciler.render.settings import Settings
from tests.cluster.admission import Admission
from tests.cluster.conversion import KINDS as CONVERTING
from tests.cluster.harness import ControlPlane, control_plane
from tests.cluster.processes import wait_until
from tests.cluster.rendering import MANIFESTS, Node

ROOT: Final = MANIFESTS.parent
PAGE: Final = (ROOT / "docs" / "install.md").read_text()
BLOCKS: Final = dict(re.findall(r"^```sh\n# (.+)\n((?:.*\n)+?)^```$", PAGE, re.MULTILINE))
PATH: Final = f"/apis/{GROUP}/{ALPHA}/namespaces/default/dynamographdeployments"
GRAPH: Final[Node] = {
    "apiVersion": f"{GROUP}/{ALPHA}",
    "kind": "DynamoGraphDeployment",
    "metadata": {"name": "g"},
    "spec": {"services": {"w": {"componentType": "worker", "dynamoNamespace": "old"}}},
}


def test_the_page_has_these_blocks() -> None:
    removing = {"uninstall: keep the objects", "uninstall: what Helm leaves", "uninstall: remove everything"}
    assert BLOCKS.keys() == {"install: kustomize", "install: helm"} | removing


@pytest.fixture(scope="module")
def cluster(assets: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[ControlPlane]:
    """A cluster whose namespaces are cleared when they are deleted."""
    with control_plane(assets, tmp_path_factory.mktemp("page"), controllers=True) as plane:
        yield plane


def _run(plane: ControlPlane, block: str) -> None:
    """Runs a block in the root of the project, with a kubectl that knows the cluster."""
    programs = plane.home / "programs"
    programs.mkdir(exist_ok=True)
    script = programs / "kubectl"
    script.write_text(f'#!/bin/sh\nexec "{plane.assets / "kubectl"}" --kubeconfig "{plane.kubeconfig}" "$@"\n')
    script.chmod(0o755)
    environment = {**os.environ, "PATH": f"{programs}:{os.environ['PATH']}", "HOME": str(plane.home)}
    # no pod runs here, so that nothing would ever be ready; test_install_up.py runs the wait, too
    text = "".join(line for line in BLOCKS[block].splitlines(keepends=True) if "rollout status" not in line)
    command = ["bash", "-euo", "pipefail", "-c", text]
    done = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True, check=False, timeout=300)
    assert done.returncode == 0, done.stderr


def _ours(plane: ControlPlane) -> list[str]:
    """What is left of an installation outside of namespaces, and the namespace."""
    kinds = "clusterrole,clusterrolebinding,validatingwebhookconfiguration,mutatingwebhookconfiguration,namespace"
    kinds += ",validatingadmissionpolicy,validatingadmissionpolicybinding"
    found = plane.kubectl("get", kinds, "-l", "app.kubernetes.io/part-of=dynamo-operator", "-o", "name")
    assert found.code == 0, found.stderr
    return found.stdout.split()


def _install(plane: ControlPlane) -> None:
    """Runs the first block, with one graph that is there before anybody could refuse it."""
    definitions = BLOCKS["install: kustomize"].splitlines()[0]
    assert definitions == "kubectl apply -f manifests/crds/"
    assert plane.kubectl("apply", "-f", str(MANIFESTS / "crds")).code == 0
    wait_until(lambda: plane.request("POST", PATH, GRAPH).status in (201, 409), "the kind being served", plane.server)
    _run(plane, "install: kustomize")
    assert len(_ours(plane)) == 13


def test_what_keeps_the_objects_leaves_a_cluster_that_reads_and_writes_them(cluster: ControlPlane) -> None:
    _install(cluster)
    before = cluster.request("GET", f"{PATH}/g").body["spec"]
    _run(cluster, "uninstall: keep the objects")
    assert _ours(cluster) == []
    label = {"metadata": {"labels": {"written": "again"}}}
    # the API server forgets a deleted configuration with a delay
    wait_until(
        lambda: cluster.request("PATCH", f"{PATH}/g", label, kind="application/merge-patch+json").status == 200,
        "writes being accepted",
        cluster.server,
    )
    assert cluster.request("GET", f"{PATH}/g").body["spec"] == before
    gone = PATH.replace(ALPHA, BETA)
    wait_until(lambda: cluster.request("GET", gone).status == 404, "the other version no longer being served", cluster.server)
    # the namespace controller reads every version that is served
    cluster.apply({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "leaving"}})
    assert cluster.request("POST", PATH.replace("default", "leaving"), GRAPH).status == 201
    assert cluster.kubectl("delete", "namespace", "leaving", "--wait=false").code == 0
    wait_until(lambda: cluster.request("GET", "/api/v1/namespaces/leaving").status == 404, "the namespace being gone", cluster.server)


def test_what_removes_everything_removes_everything(cluster: ControlPlane, admission: Admission) -> None:
    _install(cluster)
    other = {"apiVersion": "v1", "kind": "ServiceAccount", "metadata": {"name": "planner", "namespace": "default"}}
    shared = [
        obj
        for name in (PLANNER_ACCOUNT, PICKER_ACCOUNT)
        for obj in make_shared_account(name, "dynamo-webhooks-planner", "default", Settings())
    ]
    cluster.apply(other, *shared)
    client = {"url": f"{admission.url}/convert", "caBundle": base64.b64encode(admission.ca).decode(), "service": None}
    stanza = {"spec": {"conversion": {"strategy": "Webhook", "webhook": {"clientConfig": client, "conversionReviewVersions": ["v1"]}}}}
    for kind in CONVERTING:  # services lead nowhere here, so that another server converts
        done = cluster.kubectl("patch", "crd", f"{kind.lower()}s.{GROUP}", "--type=merge", "-p", json.dumps(stanza))
        assert done.code == 0, done.stderr
    listed = PATH.replace(ALPHA, BETA)
    wait_until(lambda: cluster.request("GET", listed).status == 200, "the other version being served", cluster.server)
    _run(cluster, "uninstall: remove everything")
    assert _ours(cluster) == []
    left = cluster.request("GET", "/apis/apiextensions.k8s.io/v1/customresourcedefinitions").body["items"]
    assert [each["metadata"]["name"] for each in left] == []
    found = cluster.kubectl("get", "serviceaccounts,rolebindings", "-n", "default", "-o", "name").stdout.split()
    assert [name for name in found if not name.endswith("/default")] == ["serviceaccount/planner"]
