"""What an installation consists of, and what `doctor` finds of it: by Helm, by kubectl, and where little may be read."""

import base64
import gzip
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import yaml

from dynamo_webhooks.certs.state import TargetKind
from dynamo_webhooks.cli.commands.doctor import workloads
from dynamo_webhooks.cli.commands.doctor.command import examine
from dynamo_webhooks.cli.commands.doctor.finding import DoctorFinding, Level
from dynamo_webhooks.cli.commands.doctor.rights import check_permissions
from dynamo_webhooks.cli.commands.doctor.workloads import NamespaceState
from dynamo_webhooks.cli.installation import names
from dynamo_webhooks.cli.installation import parts as parts_module
from dynamo_webhooks.cli.installation.parts import APPLIED, RELEASE, RELEASE_NAMESPACE, RESOURCES, InstalledObjects, Installer, read_parts
from dynamo_webhooks.kube.resources import CLUSTER_ROLE_BINDINGS, DEPLOYMENTS, LEASES, SECRETS, SERVICES, VALIDATING
from tests.cluster.cli.breakages import BREAKAGES, BREAKING
from tests.kube.memory import MemoryCluster
from tests.rows import run_each

NAMESPACE = "dynamo-system"
ABOUT = names.make_default_installation(NAMESPACE)
Node = dict[str, Any]


async def installed(cluster: MemoryCluster, change: Callable[[Node], Node] = lambda obj: obj) -> InstalledObjects:
    """Stores all objects of the default installation, each changed."""
    parts = await read_parts(cluster, ABOUT)
    for (kind, *_), obj in parts.wanted.items():
        await cluster.create(RESOURCES[kind], change(json.loads(json.dumps(obj))))
    return parts


@pytest.fixture
async def cluster() -> MemoryCluster:
    """A cluster with the default installation."""
    made = MemoryCluster()
    await installed(made)
    return made


def _operator(namespace: str) -> Node:
    """A Deployment of the Go operator."""
    pod = {"containers": [{"name": "m", "image": "i", "args": ["--operator-version", "1.2.0"]}]}
    metadata = {"name": "operator", "namespace": namespace}
    return {"apiVersion": "apps/v1", "kind": "Deployment", "metadata": metadata, "spec": {"template": {"spec": pod}}}


def test_the_page_has_the_causes_that_are_tested() -> None:
    assert [each.cause for each in BREAKAGES] == [*BREAKING]
    assert len(BREAKAGES) >= 27


async def test_objects_of_a_helm_release_are_created_again_as_the_release_has_them() -> None:
    cluster = MemoryCluster()
    notes = {RELEASE: "mine", RELEASE_NAMESPACE: NAMESPACE}
    await installed(cluster, lambda obj: {**obj, "metadata": {**obj["metadata"], "annotations": notes}})
    service = {"apiVersion": "v1", "kind": "Service", "metadata": {"name": "own"}, "spec": {"ports": []}}
    text = json.dumps({"manifest": f"---\n# Source: chart\n{yaml.safe_dump(service)}"}).encode()
    data = base64.b64encode(base64.b64encode(gzip.compress(text))).decode()
    labels = {"owner": "helm", "name": "mine", "status": "deployed", "version": "3"}
    metadata = {"name": "sh.helm.release.v1.mine.v3", "namespace": NAMESPACE, "labels": labels}
    await cluster.create(SECRETS, {"apiVersion": "v1", "kind": "Secret", "metadata": metadata, "data": {"release": data}})
    parts = await read_parts(cluster, ABOUT)
    assert (parts.installer, parts.release, list(parts.wanted)) == (Installer.HELM, "mine", [("Service", NAMESPACE, "own")])
    assert parts.restore("Service", "own").endswith("--print Service/own | kubectl create -f -")
    printed = parts.printed(("Service", NAMESPACE, "own"))["metadata"]
    assert (printed["annotations"], printed["labels"]) == (notes, {"app.kubernetes.io/managed-by": "Helm"})
    # what the release holds may be unknown; then nothing but our overlay is
    cluster.denied.add(("list", "secrets"))
    parts = await read_parts(cluster, ABOUT)
    assert (parts.installer, "Helm release mine" in parts.forbidden) == (Installer.HELM, True)
    assert parts.find("Service", "own") is None


@run_each(
    ("change", "installer"),
    [
        (lambda obj: obj, Installer.OTHER),
        (lambda obj: {**obj, "metadata": {**obj["metadata"], "annotations": {APPLIED: json.dumps(obj)}}}, Installer.CLIENT_SIDE),
        (lambda obj: {**obj, "metadata": {**obj["metadata"], "annotations": {APPLIED: "{"}}}, Installer.OTHER),
    ],
)
async def test_the_way_of_an_installation_is_recognised(change: Callable[[Node], Node], installer: Installer) -> None:
    cluster = MemoryCluster()
    await installed(cluster, change)
    assert (await read_parts(cluster, ABOUT)).installer is installer


async def test_objects_of_a_server_side_apply_are_applied_again() -> None:
    cluster = MemoryCluster()
    for (kind, *_), obj in (await read_parts(cluster, ABOUT)).wanted.items():
        await cluster.apply(RESOURCES[kind], obj, manager="kubectl")
    parts = await read_parts(cluster, ABOUT)
    assert parts.restore("Service", "dynamo-webhooks").endswith(" | kubectl apply --server-side -f -")


@pytest.mark.parametrize("overlay", ["self-signed", "external-certificate", "namespaced"])
async def test_an_installation_as_shipped_lacks_nothing(overlay: str) -> None:
    """In another namespace, too; what it consists of follows from its configuration."""
    cluster, namespace = MemoryCluster(), "team"
    shipped = json.loads(Path(parts_module.__file__).with_name("shipped.json").read_text())
    text = json.dumps([shipped["objects"][index] for index in shipped["overlays"][overlay]])
    for usual in ("dynamo-system", "dynamo-restricted"):
        text = text.replace(usual, namespace)
    for obj in json.loads(text):
        await cluster.create(RESOURCES[obj["kind"]], obj)
    about, wrong = await names.find_installation(cluster, namespace)
    assert (about.restricted, wrong) == (overlay == "namespaced", "")
    parts = await read_parts(cluster, about)
    assert len(parts.wanted) == len(shipped["overlays"][overlay])
    assert None not in parts.live.values()
    assert await check_permissions(cluster, about, parts) == []
    assert {each.check for each in workloads.check_workloads(parts, NamespaceState())} == {"workloads"}, "no pod runs here"
    assert all(parts.find(str(kind), name) for kind, name in about.targets if kind is not TargetKind.CRD)


async def test_a_deployment_is_created_again_with_the_image_of_the_others() -> None:
    cluster = MemoryCluster()

    def own(obj: Node) -> Node:
        if obj["kind"] == "Deployment":
            pod = obj["spec"]["template"]["spec"]
            pod["containers"][0]["image"], pod["imagePullSecrets"] = "registry.example/own:1", [{"name": "pull"}]
        return obj

    await installed(cluster, own)
    await cluster.delete(DEPLOYMENTS, "dynamo-webhooks-reconciler", NAMESPACE)
    parts = await read_parts(cluster, ABOUT)
    pod = parts.printed(("Deployment", NAMESPACE, "dynamo-webhooks-reconciler"))["spec"]["template"]["spec"]
    assert (pod["containers"][0]["image"], pod["containers"][0]["name"]) == ("registry.example/own:1", "reconciler")
    assert pod["imagePullSecrets"] == [{"name": "pull"}]


async def test_rights_that_are_denied_although_the_roles_are_right(cluster: MemoryCluster) -> None:
    """As by an authorizer other than RBAC; and reviews may be forbidden."""
    cluster.refused.add(("list", "secrets"))
    findings = await check_permissions(cluster, ABOUT, await read_parts(cluster, ABOUT))
    assert [(each.object, each.repair) for each in findings] == [("Role dynamo-webhooks-server", "")]
    assert "must be allowed to list secrets webhook-server-cert in namespace dynamo-system" in findings[0].text
    cluster.denied.add(("create", "subjectaccessreviews"))
    [unknown] = await check_permissions(cluster, ABOUT, await read_parts(cluster, ABOUT))
    assert (unknown.level, unknown.check) == (Level.WARNING, "permission")


async def test_a_binding_of_another_role_is_replaced(cluster: MemoryCluster) -> None:
    name = "dynamo-webhooks-server"
    await cluster.merge_patch(CLUSTER_ROLE_BINDINGS, name, {"roleRef": {"name": "view"}})
    cluster.refused.add(("list", "clustertopologies"))
    [finding] = await check_permissions(cluster, ABOUT, await read_parts(cluster, ABOUT))
    assert finding.text.startswith("roleRef must name dynamo-webhooks-server, and names view")
    assert finding.repair.endswith(f"--print ClusterRoleBinding/{name} | kubectl replace --force -f -")


def _running(**members: Any) -> NamespaceState:
    running = NamespaceState()
    for name, value in members.items():
        setattr(running, name, value)
    return running


def _pod(**status: Any) -> Node:
    labels = {"app.kubernetes.io/name": "dynamo-webhooks", "app.kubernetes.io/component": "server"}
    return {"metadata": {"name": "p", "labels": labels}, "status": status}


@run_each(
    ("running", "words", "repair"),
    [
        ({}, "has no available pod", "describe pods"),
        (
            {"events": [{"reason": "FailedCreate", "involvedObject": {"name": "dynamo-webhooks-server-1"}, "message": "quota exceeded"}]},
            "pods are refused: quota exceeded",
            "",
        ),
        (
            {"pods": [_pod(conditions=[{"type": "PodScheduled", "status": "False", "reason": "Unschedulable", "message": "0/3 nodes"}])]},
            "no node takes Pod p: 0/3 nodes",
            "",
        ),
        (
            {
                "pods": [
                    _pod(
                        containerStatuses=[
                            {
                                "name": "server",
                                "state": {"waiting": {"reason": "CrashLoopBackOff", "message": "back-off"}},
                                "lastState": {"terminated": {"message": "config.yaml:3: unknown key"}},
                            }
                        ]
                    )
                ]
            },
            "waits (CrashLoopBackOff): back-off; it said: config.yaml:3: unknown key",
            "logs deployment/dynamo-webhooks-server --previous",
        ),
    ],
)
async def test_why_pods_do_not_run(cluster: MemoryCluster, running: Node, words: str, repair: str) -> None:
    parts = await read_parts(cluster, ABOUT)
    faults = [each for each in workloads.check_workloads(parts, _running(**running)) if each.object == "Deployment dynamo-webhooks-server"]
    assert [(words in each.text, repair in each.repair, bool(each.repair)) for each in faults] == [(True, True, bool(repair))], faults


async def test_webhooks_without_a_reconciler_are_an_installation(cluster: MemoryCluster) -> None:
    await cluster.delete(DEPLOYMENTS, "dynamo-webhooks-reconciler", NAMESPACE)
    await cluster.delete(RESOURCES["ServiceAccount"], "dynamo-webhooks-reconciler", NAMESPACE)
    parts = await read_parts(cluster, ABOUT)
    findings = [each for each in workloads.check_workloads(parts, NamespaceState()) if "reconciler" in each.object + each.text]
    assert [(each.level, each.text.partition(":")[0]) for each in findings] == [(Level.INFO, "has no reconciler")]
    cluster.refused.add(("list", "dynamomodels"))
    assert await check_permissions(cluster, ABOUT, parts) == []


def _lease(name: str, namespace: str, holder: str, at: str) -> Node:
    spec = {"holderIdentity": holder, "leaseDurationSeconds": 3600, "renewTime": at}
    return {"apiVersion": "coordination.k8s.io/v1", "kind": "Lease", "metadata": {"name": name, "namespace": namespace}, "spec": spec}


def _of(findings: list[DoctorFinding], check: str) -> list[tuple[str, str]]:
    return [(each.level.value, each.object) for each in findings if each.check == check]


async def test_an_operator_of_a_claimed_namespace_is_no_second_one_and_one_outside_the_cluster_is(cluster: MemoryCluster) -> None:
    now = f"{await cluster.server_time():%Y-%m-%dT%H:%M:%SZ}"
    for namespace in ("team", "other"):
        await cluster.create(DEPLOYMENTS, _operator(namespace))
    await cluster.create(LEASES, _lease("dynamo-operator-namespace-scope", "team", "operator", now))
    await cluster.create(LEASES, _lease("dynamo.nvidia.com", "kube-system", "laptop_1", now))
    await cluster.create(LEASES, _lease("dynamo.nvidia.com", "stale", "gone_1", "2020-01-01T00:00:00Z"))
    findings = await examine(cluster, NAMESPACE, None, removing=False)
    assert _of(findings, "operators") == [
        ("error", "Deployment other/operator"),
        ("info", "Deployment team/operator"),
        ("error", "Lease kube-system/dynamo.nvidia.com"),
    ]


async def test_the_account_that_groves_authorizer_must_exempt_is_named(cluster: MemoryCluster) -> None:
    rule = {"apiGroups": [""], "apiVersions": ["v1"], "operations": ["UPDATE"], "resources": ["pods"]}
    for name in ("grove-authorizer", "quota"):
        client = {"service": {"name": name, "namespace": "a"}}
        entry = {"name": f"{name}.example.com", "rules": [rule], "clientConfig": client, "sideEffects": "None", "failurePolicy": "Fail"}
        configuration = {"apiVersion": "admissionregistration.k8s.io/v1", "kind": "ValidatingWebhookConfiguration", "webhooks": [entry]}
        await cluster.create(VALIDATING, {**configuration, "metadata": {"name": name}})
    findings = [finding for finding in await examine(cluster, NAMESPACE, None, removing=False) if finding.check == "authorizer"]
    assert [(finding.level, finding.object) for finding in findings] == [(Level.INFO, "ValidatingWebhookConfiguration grove-authorizer")]
    assert f"system:serviceaccount:{NAMESPACE}:dynamo-webhooks-reconciler" in findings[0].text


async def test_others_leave_alone_what_an_installation_for_one_namespace_has_claimed() -> None:
    cluster, own = MemoryCluster(), "dynamo-restricted"
    text = (Path(__file__).parents[3] / "manifests/overlays/namespaced/config.yaml").read_text()
    metadata = {"name": "dynamo-webhooks-config", "namespace": own}
    await cluster.create(RESOURCES["ConfigMap"], {"kind": "ConfigMap", "metadata": metadata, "data": {"config.yaml": text}})
    await cluster.create(DEPLOYMENTS, _operator("other"))
    for claimed, level in ((False, "error"), (True, "info")):
        if claimed:
            now = f"{await cluster.server_time():%Y-%m-%dT%H:%M:%SZ}"
            await cluster.create(LEASES, _lease("dynamo-operator-namespace-scope", own, "we", now))
        findings = await examine(cluster, own, None, removing=False)
        assert (level, "Deployment other/operator") in _of(findings, "operators")


async def test_what_may_not_be_read_is_a_warning(cluster: MemoryCluster) -> None:
    cluster.denied |= {("list", plural) for plural in ("deployments", "pods", "events", "networkpolicies", "leases")}
    cluster.denied.add(("get", "roles"))
    findings = await examine(cluster, NAMESPACE, None, removing=False)
    unread = {each.object for each in findings if each.check == "permission"}
    assert {f"pods of {NAMESPACE}", f"events of {NAMESPACE}", "Role dynamo-webhooks-server", "deployments", "leases"} <= unread


@pytest.mark.parametrize(("given", "code"), [("Service/dynamo-webhooks", 0), ("Service/other", 2), ("nonsense", 2)])
def test_one_object_is_printed(given: str, code: int, connected: Callable[..., Any], command: Callable[..., Any]) -> None:
    connected(cluster := MemoryCluster())
    ran = command("doctor", "--print", given)
    assert ran.code == code
    if code:
        assert "must be an object of the installation" in ran.err
    else:
        assert yaml.safe_load(ran.out)["spec"]["ports"][0]["port"] == 443
    assert cluster.names(SERVICES) == set()
