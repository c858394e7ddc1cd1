"""The oldest and the newest Kubernetes that we support: an installation guards, converts and judges, and a graph runs end to end."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Final, TypeAlias

import pytest
import yaml

from dynamo_webhooks.api.definition_guard import NAME
from dynamo_webhooks.api.kinds import ALPHA, BETA, GROUP
from tests.cluster.assets.build import NEWEST, OLDEST, VERSIONS
from tests.cluster.assets.wanted import wanted
from tests.cluster.harness import Reply
from tests.cluster.neighbours.neighbourhood import SERVED
from tests.cluster.objects import DISCOVERY, graph, path_of
from tests.cluster.processes import wait_until
from tests.cluster.provisioning import CRDS, MERGE_PATCH, Installed, installed
from tests.cluster.reconciling import ADAPTERS, COMPONENTS, DEPLOYMENTS, GRAPHS, SERVICES, Pods, Reconciled, controllers
from tests.cluster.rendering import GUARD, MANIFESTS, of_kind
from tests.reconciler import rendering

Node: TypeAlias = dict[str, Any]
SERVICE: Final[Node] = {"w": {"replicas": 2, "envFromSecret": "s"}}


@dataclass
class Site:
    """An installation on one version."""

    minor: str
    found: Installed
    runs: Reconciled


@pytest.fixture(scope="module", params=[OLDEST, NEWEST])
def site(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Site]:
    """Server, provisioner, policy, reconciler and Kubernetes' own controllers, all of one version."""
    home = tmp_path_factory.mktemp(f"kubernetes-{request.param}")
    with installed(wanted(VERSIONS[request.param]), home) as found, controllers(found.plane), Pods(found.plane) as pods:
        (home / "facts.yaml").write_text(yaml.safe_dump(SERVED))
        found.serve("server")
        found.provision()
        found.plane.apply(*of_kind(found.objects, *GUARD))
        found.wait_until_stable()
        found.kubeconfig("reconciler")
        runs = Reconciled(found.plane, home, pods)
        runs.reconcile()
        try:
            yield Site(request.param, found, runs)
        finally:
            for process in [*runs.processes]:
                process.stop()


def _create(site: Site, obj: Node) -> Reply:
    return site.found.plane.request("POST", path_of(obj), obj)


def test_applying_the_installation_again_changes_nothing(site: Site) -> None:
    """Every field of the definitions, the roles and the policy is one that this version knows."""
    objects = [each for each in site.found.objects if each["kind"] not in ("Deployment", "Namespace")]
    for words, given in ((("-f", str(MANIFESTS / "crds")), None), (("-f", "-"), {"apiVersion": "v1", "kind": "List", "items": objects})):
        done = site.found.plane.kubectl("apply", "--server-side", "--dry-run=server", "--validate=strict", *words, input=given)
        assert (done.code, done.stderr) == (0, "")


def test_the_policy_refuses_to_switch_conversion_off(site: Site) -> None:
    off = {"spec": {"conversion": {"strategy": "None", "webhook": None}}}
    path = f"{CRDS['dynamographdeployment']}?dryRun=All"
    wait_until(lambda: site.found.plane.request("PATCH", path, off, kind=MERGE_PATCH).status == 422, "the policy being in force")
    told = site.found.plane.request("PATCH", path, off, kind=MERGE_PATCH)
    assert f"ValidatingAdmissionPolicy '{NAME}'" in told.body["message"]
    kept = site.found.plane.request("PATCH", path, {"metadata": {"labels": {"a": "b"}}}, kind=MERGE_PATCH)
    assert kept.status == 200, kept.body


def test_graphs_are_converted_and_come_back_as_they_were_written(site: Site) -> None:
    namespace = site.found.plane.namespace()
    written = graph(namespace, SERVICE)
    assert _create(site, written).status == 201
    newer = site.found.plane.request("GET", f"/apis/{GROUP}/{BETA}/namespaces/{namespace}/dynamographdeployments/t").body
    assert [(one["name"], one["replicas"]) for one in newer["spec"]["components"]] == [("w", 2)]
    older = site.found.plane.request("GET", path_of(written, named=True)).body
    assert older["apiVersion"] == f"{GROUP}/{ALPHA}"
    assert older["spec"]["services"] == SERVICE


def test_refusals_name_every_cause(site: Site) -> None:
    namespace = site.found.plane.namespace()
    refused = _create(site, graph(namespace, spec={"pvcs": [{"name": ""}]}, annotations={DISCOVERY: "Pod"}))
    assert (refused.status, refused.body["reason"]) == (422, "Invalid")
    assert {f"metadata.annotations[{DISCOVERY}]", "spec.pvcs[0].name"} <= {field for field, _ in refused.causes()}
    schema = _create(site, graph(namespace, {"w": {"multinode": {"nodeCount": 1}}}))
    assert schema.causes() == {("spec.services.w.multinode.nodeCount", "FieldValueInvalid")}


def test_a_graph_runs_scales_and_goes(site: Site) -> None:
    namespace, plane = site.found.plane.namespace(), site.found.plane
    frontend = rendering.component("Frontend", "frontend", {"image": "img:1"}, replicas=1)
    made = rendering.graph(frontend, rendering.vllm("decode", "decode", replicas=2, scalingAdapter={}))
    made["metadata"]["namespace"] = namespace
    plane.apply(made)
    site.runs.ready(namespace)
    assert len(site.runs.names(DEPLOYMENTS, namespace)) == 2
    done = plane.kubectl("scale", "-n", namespace, "dynamographdeploymentscalingadapter/g-decode", "--replicas=3")
    assert done.code == 0, done.stderr
    [decode] = [name for name in site.runs.names(DEPLOYMENTS, namespace) if "decode" in name]

    def available() -> int:
        return int(site.runs.get(DEPLOYMENTS, namespace, decode).get("status", {}).get("availableReplicas", 0))

    site.runs.until(lambda: available() == 3, "three pods being available")
    site.runs.ready(namespace)
    assert plane.request("DELETE", f"{GRAPHS.format(namespace)}/g").status == 200
    everything = (COMPONENTS, DEPLOYMENTS, SERVICES, ADAPTERS)
    site.runs.until(lambda: not any(site.runs.names(path, namespace) for path in everything), "everything being collected")
