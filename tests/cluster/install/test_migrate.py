"""The Job that migrates: kustomize and the chart say the same, it applies, its pod is restricted, and its account may do nothing else."""

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Final

import pytest

from dynamo_webhooks.cli.main import main
from dynamo_webhooks.kube.resources import CRDS
from tests.cluster import etcd
from tests.cluster.harness import ControlPlane
from tests.cluster.install.grants import EVERYWHERE, HOME, MIGRATE, Grant
from tests.cluster.install.test_install import comparable
from tests.cluster.install.test_rbac import allowed, granted
from tests.cluster.migrating import PLURALS, Site, create, objects, site
from tests.cluster.objects import graph
from tests.cluster.planes import Planes
from tests.cluster.rendering import MANIFESTS, Node, charted, key, kustomized, of_kind, refused, restricted

NAMESPACE: Final = "dynamo-system"
ACCOUNT: Final = "dynamo-webhooks-migrate"
ON: Final = "migrate.enabled=true"
# what an account that may patch four definitions and four kinds of status must not reach
DENIED: Final = (
    Grant("migrate", "default", "nvidia.com", "dynamographdeployments", "", ("create", "update", "patch", "delete"), "specs"),
    Grant("migrate", "default", "nvidia.com", "dynamographdeployments/status", "", ("update",), "a whole status"),
    Grant("migrate", "default", "nvidia.com", "dynamocheckpoints/status", "", ("patch",), "kinds of one version"),
    Grant("migrate", EVERYWHERE, CRDS.group, CRDS.plural, "", ("list", "create", "patch"), "others"),
    Grant("migrate", EVERYWHERE, CRDS.group, CRDS.plural, "dynamomodels.nvidia.com", ("get", "patch"), "others"),
    Grant("migrate", NAMESPACE, "discovery.k8s.io", "endpointslices", "", ("get", "list"), "other Services"),
    Grant("migrate", NAMESPACE, "", "secrets", "", ("get", "list", "create"), "keys"),
    Grant("migrate", "default", "", "pods", "", ("get", "list", "create"), "workloads"),
)


def _manifest() -> list[Node]:
    return kustomized(MANIFESTS / "overlays" / "migrate")


def _of_the_chart(*values: str) -> list[Node]:
    """What the value adds to the chart."""
    without = {key(each) for each in charted(NAMESPACE, *values)}
    return [each for each in charted(NAMESPACE, *values, ON) if key(each) not in without]


def _job(objects: list[Node]) -> Node:
    [job] = of_kind(objects, "Job")
    return job


def test_the_chart_says_what_kustomize_says() -> None:
    theirs, ours = _of_the_chart(), _manifest()
    job = _job(theirs)["metadata"]
    assert re.fullmatch(rf"{ACCOUNT}-[0-9a-f]{{8}}", job["name"])
    job["name"] = ACCOUNT
    assert sorted(map(comparable, theirs), key=str) == sorted(map(comparable, ours), key=str)


def test_another_specification_is_another_job_because_none_can_be_changed() -> None:
    names = {
        _job(_of_the_chart(*values))["metadata"]["name"]
        for values in ((), ("migrate.to=v1alpha1",), ("controllerManager.manager.image.tag=v2",), ("migrate.resources.limits.memory=1Gi",))
    }
    assert len(names) == 4
    assert _job(_of_the_chart("controllerManager.replicas=3"))["metadata"]["name"] in names, "it runs once more for nothing"


def test_the_installation_for_one_namespace_migrates_nothing_and_none_to_an_unknown_version() -> None:
    assert "migrate.enabled: must be false with namespaceRestriction.enabled" in refused(ON, "namespaceRestriction.enabled=true")
    assert "/migrate/to" in refused(ON, "migrate.to=v1")


@pytest.fixture(scope="module")
def migrating(planes: Planes, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Site]:
    """A cluster of line 1.5 whose objects are stored in v1alpha1, with a namespace that enforces restricted pod security."""
    with site(planes, tmp_path_factory.mktemp("migrate-job")) as cluster:
        cluster.plane.apply(restricted(NAMESPACE))
        yield cluster


@pytest.fixture
def emptied(migrating: Site) -> Site:
    """The same without objects, which stores in v1alpha1."""
    migrating.empty()
    return migrating


def test_it_applies_again_and_again_and_strictly_and_its_pod_is_restricted(migrating: Site) -> None:
    cluster = migrating.plane
    listed: Node = {"apiVersion": "v1", "kind": "List", "items": _manifest()}
    strict = cluster.kubectl("apply", "--server-side", "--dry-run=server", "--validate=strict", "-f", "-", input=listed)
    assert (strict.code, strict.stderr) == (0, ""), "a warning says that the pod would be refused"
    assert cluster.kubectl("apply", "-f", "-", input=listed).code == 0
    again = cluster.kubectl("apply", "-f", "-", input=listed)
    assert (again.code, {line.split()[-1] for line in again.stdout.splitlines()}) == (0, {"unchanged"})
    template = _job(_manifest())["spec"]["template"]
    pod = {"apiVersion": "v1", "kind": "Pod", "metadata": {**template["metadata"], "name": "probe"}, "spec": template["spec"]}
    reply = cluster.request("POST", f"/api/v1/namespaces/{NAMESPACE}/pods?dryRun=All", pod)
    assert (reply.status, reply.warnings) == (201, ()), reply.body


def test_its_roles_grant_what_the_table_says_and_nothing_else() -> None:
    table = {(each.account, EVERYWHERE if each.where == EVERYWHERE else HOME, *each[2:5]): {*each.verbs} for each in MIGRATE}
    assert granted(_manifest(), NAMESPACE) == table


def test_the_api_server_allows_every_grant_and_nothing_beside(migrating: Site) -> None:
    cluster = migrating.plane
    _permit(cluster)
    assert [(each, verb) for each in MIGRATE for verb in each.verbs if not allowed(cluster, *each[:5], verb)] == []
    assert [(each, verb) for each in DENIED for verb in each.verbs if allowed(cluster, *each[:5], verb)] == []


def _permit(plane: ControlPlane) -> None:
    plane.apply(*of_kind(_manifest(), "ServiceAccount", "Role", "RoleBinding", "ClusterRole", "ClusterRoleBinding"))


def _as_the_job(plane: ControlPlane, folder: Path) -> str:
    """A kubeconfig with nothing but the rights of the Job's account."""
    _permit(plane)
    return str(plane.kubeconfig_of(ACCOUNT, NAMESPACE, folder / "kubeconfig"))


def _doctors_findings(plane: ControlPlane, capsys: pytest.CaptureFixture[str]) -> dict[str, str]:
    """What the doctor says of versions in storage, by definition."""
    capsys.readouterr()
    main(["doctor", "--kubeconfig", str(plane.kubeconfig), "-o", "json"])
    findings = [each for each in json.loads(capsys.readouterr().out)["findings"] if each["check"] == "stored-versions"]
    return {each["object"].split()[1].partition(".")[0]: f"{each['level']}: {each['text']}" for each in findings}


def test_with_its_permissions_alone_everything_is_moved_and_the_doctor_sees_it(
    emptied: Site, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    plane = emptied.plane
    namespace = plane.namespace()
    # the schema of v1beta1 requires a path, so that it is stored through v1alpha1
    pathless = graph(namespace, {"w": {"volumeMounts": [{"name": "v"}]}}, name="pathless")
    create(plane, [*objects(namespace, 24), pathless])
    assert _doctors_findings(plane, capsys) == {}
    emptied.store_in("v1beta1")
    finding = "info: objects may be stored in v1alpha1 and v1beta1, new ones in v1beta1"
    assert _doctors_findings(plane, capsys) == dict.fromkeys(PLURALS, finding)
    kubeconfig = _as_the_job(plane, tmp_path)
    [container] = _job(_manifest())["spec"]["template"]["spec"]["containers"]
    report = emptied.run("--kubeconfig", kubeconfig, *container["args"][1:])
    assert (report["proven"], report["warnings"]) == (True, [])
    assert etcd.versions(plane) == {"nvidia.com/v1beta1": 25}
    assert _doctors_findings(plane, capsys) == {}
