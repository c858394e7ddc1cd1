"""The chart by itself: installed, upgraded and removed by Helm, small enough, its names short enough, and what it refuses and why."""

import base64
import contextlib
import io
import json
import re
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Final

import pytest
import trustme
import yaml

from dynamo_webhooks.api.line import Line
from dynamo_webhooks.cli.installation.configuration import load_configuration
from dynamo_webhooks.cli.main import main
from tests.cluster.admission import COMMAND
from tests.cluster.definitions import install, read_files
from tests.cluster.harness import ADMIN, ControlPlane
from tests.cluster.planes import Planes
from tests.cluster.processes import wait_until
from tests.cluster.rendering import (
    CHART,
    GUARD,
    MANIFESTS,
    RELEASE,
    Node,
    charted,
    composed,
    helm,
    key,
    kustomized,
    of_kind,
    refused,
    settings,
)
from tools.crd_files import FOLDERS

NAMESPACE: Final = "dynamo-system"
BUNDLE: Final = base64.b64encode(trustme.CA().cert_pem.bytes()).decode()
SECRET_LIMIT: Final = 1_048_576  # bytes of data in a Secret, by the API server


@pytest.fixture(scope="module")
def cluster(planes: Planes) -> Iterator[ControlPlane]:
    """A cluster with the CRDs of the manifests."""
    with planes.lend() as plane:
        install(plane, *read_files(FOLDERS[Line.V1_2]))
        yield plane


def _helm(plane: ControlPlane, *arguments: str) -> str:
    done = helm(*arguments, kubeconfig=plane.kubeconfig)
    assert done.returncode == 0, done.stderr
    return done.stdout


def _trust(plane: ControlPlane) -> set[str]:
    """The bundles of both configurations."""
    paths = [f"/apis/admissionregistration.k8s.io/v1/{kind}webhookconfigurations/{RELEASE}-{kind}" for kind in ("validating", "mutating")]
    return {hook["clientConfig"].get("caBundle", "") for path in paths for hook in plane.request("GET", path).body["webhooks"]}


def _publish_trust(plane: ControlPlane) -> None:
    """Writes a bundle into each entry, as the provisioner does."""
    for kind, count in (("validating", 9), ("mutating", 6)):
        patch = json.dumps([{"op": "add", "path": f"/webhooks/{i}/clientConfig/caBundle", "value": BUNDLE} for i in range(count)])
        plane.kubectl("patch", f"{kind}webhookconfiguration", f"{RELEASE}-{kind}", "--type=json", "-p", patch).done()


def _restore(plane: ControlPlane, name: str, check: str) -> None:
    """Deletes an object, and creates it again by the repair that `doctor` names: the release then owns it as before."""
    kind, _, named = name.partition("/")
    where = ("-n", NAMESPACE) if kind == "Deployment" else ()
    before = plane.kubectl("get", kind, named, *where, "-o", "json").json()
    assert plane.kubectl("delete", kind, named, *where).code == 0
    with contextlib.redirect_stdout(io.StringIO()) as out:
        main(["doctor", "--kubeconfig", str(plane.kubeconfig), "-o", "json"])
    repairs = {each["repair"] for each in json.loads(out.getvalue())["findings"] if each["check"] == check}
    flag = f" --kubeconfig {plane.kubeconfig}"
    assert f"dynamo-webhooks doctor{flag} --namespace {NAMESPACE} --print {name} | kubectl{flag} create -f -" in repairs
    with contextlib.redirect_stdout(io.StringIO()) as out:
        assert main(["doctor", *flag.split(), "--namespace", NAMESPACE, "--print", name]) == 0
    plane.kubectl("create", "-f", "-", input=out.getvalue()).done()
    after = plane.kubectl("get", kind, named, *where, "-o", "json").json()
    assert [after["metadata"][part] for part in ("labels", "annotations")] == [
        before["metadata"][part] for part in ("labels", "annotations")
    ]


def test_it_installs_upgrades_and_leaves_nothing_but_the_definitions_and_the_objects(cluster: ControlPlane) -> None:
    notes = _helm(cluster, "install", RELEASE, str(CHART), "-n", NAMESPACE, "--create-namespace")
    assert "dynamo-webhooks crds --cluster | kubectl apply --server-side -f -" in notes
    text = cluster.request("GET", f"/api/v1/namespaces/{NAMESPACE}/configmaps/{RELEASE}-config").body["data"]["config.yaml"]
    assert yaml.safe_load(text)["operator"] == {"version": "1.2.0"}, "the cluster's definitions decide"
    graph = {"apiVersion": "nvidia.com/v1alpha1", "kind": "DynamoGraphDeployment", "metadata": {"name": "g"}, "spec": {}}
    path = "/apis/nvidia.com/v1alpha1/namespaces/default/dynamographdeployments?dryRun=All"

    def answered(status: int) -> bool:
        return cluster.request("POST", path, graph).status == status

    # nobody answers for the webhook here, and it fails closed
    wait_until(lambda: answered(500), "writes being refused", cluster.server)

    _publish_trust(cluster)
    _restore(cluster, f"ClusterRoleBinding/{RELEASE}-server", "rights")
    _restore(cluster, f"Deployment/{RELEASE}-reconciler", "workloads")
    _helm(cluster, "upgrade", RELEASE, str(CHART), "-n", NAMESPACE, "--set", "controllerManager.replicas=3")
    deployment = cluster.request("GET", f"/apis/apps/v1/namespaces/{NAMESPACE}/deployments/{RELEASE}-server").body
    assert deployment["spec"]["replicas"] == 3
    _helm(cluster, "rollback", RELEASE, "1", "-n", NAMESPACE)
    assert _trust(cluster) == {BUNDLE}, "Helm took away what the provisioner had published"

    secrets = cluster.request("GET", f"/api/v1/namespaces/{NAMESPACE}/secrets?labelSelector=owner%3Dhelm").body["items"]
    assert len(secrets) == 3
    for secret in secrets:
        assert len(base64.b64decode(secret["data"]["release"])) < SECRET_LIMIT // 10

    _helm(cluster, "uninstall", RELEASE, "-n", NAMESPACE)
    wait_until(lambda: answered(201), "no configuration being left that blocks a write", cluster.server)
    definitions = cluster.request("GET", "/apis/apiextensions.k8s.io/v1/customresourcedefinitions").body["items"]
    assert len([each for each in definitions if each["spec"]["group"] == "nvidia.com"]) == 7


def _refusal(plane: ControlPlane, release: str, namespace: str, *values: str) -> str:
    """What helm says to an installation that is only tried; empty when it would be made."""
    done = helm("install", release, str(CHART), "-n", namespace, "--dry-run=server", *settings(values), kubeconfig=plane.kubeconfig)
    assert not done.returncode or "execution error" in done.stderr, done.stderr
    return done.stderr if done.returncode else ""


SECOND: Final = "allowSecondInstallation: must be true beside another installation for the whole cluster, and "
CONVERTED: Final = "config.certificates.takeOverConversion: must be true to take conversion from another Service, and "


def test_a_second_installation_for_the_whole_cluster_is_refused(cluster: ControlPlane) -> None:
    _helm(cluster, "install", RELEASE, str(CHART), "-n", NAMESPACE, "--create-namespace")
    other = _refusal(cluster, "other", "team")
    assert f"{SECOND}{RELEASE} in namespace {NAMESPACE} is one (ClusterRole {RELEASE}-provisioner)" in other
    assert f"{CONVERTED}{NAMESPACE}/{RELEASE} converts dynamocomponentdeployments, " in other
    assert "dynamo-webhooks crds --cluster --namespace team --service other-dynamo-webhooks | kubectl apply" in other
    assert SECOND in _refusal(cluster, RELEASE, "team", "config.certificates.takeOverConversion=true"), "its names collide"
    assert not _refusal(cluster, "other", "team", "allowSecondInstallation=true")
    assert not _refusal(cluster, "other", "team", "namespaceRestriction.enabled=true")
    _helm(cluster, "upgrade", RELEASE, str(CHART), "-n", NAMESPACE, "--dry-run=server", "--set", "fullnameOverride=renamed")
    _helm(cluster, "uninstall", RELEASE, "-n", NAMESPACE)

    # one for a namespace keeps nobody from serving the rest of the cluster, and one that kustomize made is seen, too
    _helm(cluster, "install", "team", str(CHART), "-n", "team", "--create-namespace", "--set", "namespaceRestriction.enabled=true")
    assert not _refusal(cluster, RELEASE, NAMESPACE)
    _helm(cluster, "uninstall", "team", "-n", "team")
    roles = of_kind(kustomized(MANIFESTS / "overlays" / "self-signed"), "ClusterRole")
    cluster.apply(*(each for each in roles if each["metadata"]["name"] == f"{RELEASE}-provisioner"))
    assert SECOND in _refusal(cluster, "other", "team", "config.certificates.takeOverConversion=true")
    cluster.request("DELETE", f"/apis/rbac.authorization.k8s.io/v1/clusterroles/{RELEASE}-provisioner")


def test_after_the_go_operator_definitions_come_first_or_conversion_is_taken_over(cluster: ControlPlane) -> None:
    path = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions/dynamographdeployments.nvidia.com"
    theirs = {"name": "platform-webhook-service", "namespace": "platform"}
    stanza = {"spec": {"conversion": {"webhook": {"clientConfig": {"service": theirs}}}}}
    assert cluster.request("PATCH", path, stanza, kind="application/merge-patch+json").status == 200
    message = _refusal(cluster, RELEASE, NAMESPACE)
    assert f"{CONVERTED}platform/platform-webhook-service converts dynamographdeployments; " in message
    assert SECOND not in message
    assert not _refusal(cluster, RELEASE, NAMESPACE, "config.certificates.takeOverConversion=true")
    [(command, way)] = re.findall(r"dynamo-webhooks (crds --cluster) \| kubectl (apply .+)$", message, re.MULTILINE)
    words = [str(COMMAND), *command.split(), "--kubeconfig", str(cluster.kubeconfig), "--context", ADMIN]
    printed = subprocess.run(words, capture_output=True, text=True, check=True).stdout
    cluster.kubectl(*way.split(), input=printed).done()
    assert not _refusal(cluster, RELEASE, NAMESPACE)


def test_names_are_cut_at_their_base_so_that_each_applies(cluster: ControlPlane) -> None:
    release, namespace = "r" * 53, "n" * 63
    cluster.apply({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": namespace}})
    objects = charted(namespace, "metricsService.enabled=true", "migrate.enabled=true", release=release)
    for each in of_kind(objects, "Service", "Deployment", "ServiceAccount", "ConfigMap", "PodDisruptionBudget", "Job"):
        assert len(each["metadata"]["name"]) <= 63, key(each)
    assert len({key(each) for each in objects}) == len(objects)
    services = {each["metadata"]["name"] for each in of_kind(objects, "Service")}
    assert {hook["clientConfig"]["service"]["name"] for hook in _hooks(objects)} <= services
    done = cluster.kubectl(
        "apply", "--server-side", "--dry-run=server", "-f", "-", input={"apiVersion": "v1", "kind": "List", "items": objects}
    )
    assert done.code == 0, done.stderr


GONE: Final = {
    "webhook.enabled=true": "webhook.enabled: ",
    "webhook.certGenerator.enabled=true": "webhook.certGenerator: ",
    "webhook.certificateValidity=3650": "config.certificates.leafValidity",
    "webhook.certManager.issuerRef.name=x": "webhook.certManager.issuerRef: ",
    "nats.enabled=true": "nats.enabled: ",
    "dynamo.mpiRun.sshKeygen.enabled=true": "dynamo.mpiRun.sshKeygen: ",
    "checkpoint.readyForCheckpointFilePath=/x": "checkpoint.readyForCheckpointFilePath: ",
    "dynamo.internalImages.debugger=x": "dynamo.internalImages: ",
    "dynamo.enableRestrictedSecurityContext=true": "dynamo.enableRestrictedSecurityContext: ",
    "controllerManager.manager.args={--x}": "settings go into config",
    "upgradeCRD=true": "kubectl apply --server-side",
    "controllerManager.manager.env[0].name=DYN_OPERATOR_ALLOW_GMS_SNAPSHOT": "set featureGates.gmsSnapshot",
    "webhook.caBundle=Y2E=": "webhook.caBundle: must be empty unless",
    "namespaceRestriction.targetNamespace=x": "must be empty unless namespaceRestriction.enabled is true",
    "config.server.webhook.secretName=x": "set webhook.certificateSecret.name",
    "config.server.webhook.serviceName=x": "set fullnameOverride",
    "config.server.webhook.certProvisionMode=provided": "set webhook.certManager.enabled or webhook.certificateSecret.external",
    "config.server.webhook.certDir=/x": "config.server.webhook.certDir: must not be set",
    "config.certificates.caSecretName=x": "config.certificates.caSecretName: must not be set",
    "config.certificates.trustConfigMapName=x": "config.certificates.trustConfigMapName: must not be set",
    "config.certificates.leaseName=x": "config.certificates.leaseName: must not be set",
    "config.certificates.validatingConfiguration=x": "config.certificates.validatingConfiguration: must not be set",
    "config.certificates.mutatingConfiguration=x": "config.certificates.mutatingConfiguration: must not be set",
    "config.leaderElection.id=x": "set controllerManager.leaderElection.id",
    "config.leaderElection.namespace=x": "set controllerManager.leaderElection.namespace",
    "config.namespace.restricted=x": "set namespaceRestriction.enabled",
    "reconciler.pullSecrets.mode=all": "reconciler.pullSecrets.namespaces: must name the namespaces",
    "config.secrets.pull=all": "set reconciler.pullSecrets",
    "config.server.metrics.secure=true": "must not differ from metricsService.secure",
    "config.namespace.allowed={a}": "config.namespace.allowed: must not be set",
}


CONTRADICTIONS: Final = {
    "webhook.certManager.enabled=true": "webhook.certManager.enabled: ",
    "webhook.certificateSecret.external=true": "webhook.certManager.enabled: ",
    "namespaceRestriction.enabled=true": "webhook.namespaceSelector: ",
    "namespace.allowed={a}": "namespace.allowed: must be empty with",
    "webhook.namespaceSelector.matchLabels.a=b": "webhook.namespaceSelector: ",
    "upgradeCRD=true": "upgradeCRD: ",
}
# values -> words of the schema's refusal; a table is told at once
SENSELESS: Final = (
    {
        "webhok.port=1": "webhok",
        "webhook.timeoutSeconds=31": "/webhook/timeoutSeconds",
        "webhook.failurePolicy=Perhaps": "/webhook/failurePolicy",
        "controllerManager.replicas=0": "/controllerManager/replicas",
        "namespaceRestriction.lease.duration=soon": "/namespaceRestriction/lease/duration",
        "discoveryBackend=files": "/discoveryBackend",
        "config.server.metrics.port=telnet": "/config/server/metrics/port",
        "config.server.healthProbe.port=65536": "/config/server/healthProbe/port",
        "config.certificates=7": "/config/certificates",
        "config.secrets=7": "/config/secrets",
        "config.operator.version=garbage": "/config/operator/version",
        "controllerManager.leaderElection.id=A_B": "/controllerManager/leaderElection/id",
        "fullnameOverride=A_B": "/fullnameOverride",
        "nameOverride=A_B": "/nameOverride",
    },
    {
        "controllerManager.manager.image=null": "at '/controllerManager/manager': missing property 'image'",
        "dynamo.mpiRun=null": "at '/dynamo': missing property 'mpiRun'",
        "config.operator.version=-1": "/config/operator/version",
        "fullnameOverride=1a": "/fullnameOverride",
    },
    {"config=null": "missing property 'config'"},
    {"webhook=null": "missing property 'webhook'"},
)


@pytest.mark.parametrize("table", [GONE, CONTRADICTIONS, *SENSELESS], ids=("gone", "opposed", "senseless", "left out", "config", "webhook"))
def test_values_that_are_gone_or_senseless_or_cannot_be_fail_with_what_to_do(table: dict[str, str]) -> None:
    message = refused(*table)
    assert [(value, words) for value, words in table.items() if words not in message] == []


def test_the_schema_takes_a_cleared_block_that_may_be_empty_and_a_version_that_yaml_reads_as_a_number() -> None:
    assert charted(NAMESPACE, "controllerManager.manager.resources=null", "webhook.namespaceSelector=null", "config.operator.version=1.5")


def _hooks(objects: list[Node]) -> list[Node]:
    return [
        hook for each in of_kind(objects, "ValidatingWebhookConfiguration", "MutatingWebhookConfiguration") for hook in each["webhooks"]
    ]


def _configured(*values: str) -> Node:
    [config_map] = of_kind(charted(NAMESPACE, *values), "ConfigMap")
    parsed: Node = yaml.safe_load(config_map["data"]["config.yaml"])
    return parsed


def test_the_values_of_the_go_operators_chart_reach_every_webhook() -> None:
    values = ("webhook.failurePolicy=Ignore", "webhook.timeoutSeconds=7", "webhook.namespaceSelector.matchLabels.team=a")
    hooks = _hooks(charted(NAMESPACE, *values))
    assert len(hooks) == 15
    for hook in hooks:
        assert (hook["failurePolicy"], hook["timeoutSeconds"]) == ("Ignore", 7)
        assert hook["namespaceSelector"] == {"matchLabels": {"team": "a"}}
        assert "caBundle" not in hook["clientConfig"]


@pytest.mark.parametrize("given", ["-----BEGIN CERTIFICATE-----\nx\n-----END CERTIFICATE-----\n", "Y2E="])
def test_a_given_bundle_is_written_once_encoded_and_nothing_is_injected(given: str, tmp_path: Path) -> None:
    file = tmp_path / "values.yaml"
    file.write_text(yaml.safe_dump({"webhook": {"caBundle": given, "certificateSecret": {"external": True}}}))
    done = helm("template", RELEASE, str(CHART), "-n", NAMESPACE, "--kube-version", "v1.34.4", "-f", str(file))
    assert done.returncode == 0, done.stderr
    objects = [each for each in yaml.safe_load_all(done.stdout) if each]
    bundles = {hook["clientConfig"]["caBundle"] for each in of_kind(objects, "ValidatingWebhookConfiguration") for hook in each["webhooks"]}
    assert bundles == {given if given == "Y2E=" else base64.b64encode(given.encode()).decode()}
    [config] = of_kind(objects, "ConfigMap")
    assert yaml.safe_load(config["data"]["config.yaml"])["server"]["webhook"]["certProvisionMode"] == "external-injection"


def test_a_restricted_installation_serves_its_target_namespace_from_its_own() -> None:
    values = ("namespaceRestriction.enabled=true", "namespaceRestriction.targetNamespace=team")
    assert {json.dumps(hook["namespaceSelector"]) for hook in _hooks(charted(NAMESPACE, *values))} == {
        '{"matchLabels": {"kubernetes.io/metadata.name": "team"}}'
    }
    assert _configured(*values)["namespace"] == {"restricted": "team"}
    roles = {each["metadata"]["name"]: each["metadata"]["namespace"] for each in of_kind(charted(NAMESPACE, *values), "Role")}
    assert roles[f"{RELEASE}-reconciler-workloads"] == roles[f"{RELEASE}-server-scope"] == "team"
    assert roles[f"{RELEASE}-server"] == roles[f"{RELEASE}-provisioner"] == NAMESPACE


def test_values_become_keys_of_the_configuration_and_config_has_the_last_word() -> None:
    values = "gpuDiscovery.enabled=false featureGates.gmsSnapshot=true discoveryBackend=etcd dynamo.groveTerminationDelay=4h "
    values += "dynamo.mpiRun.secretName=key controllerManager.leaderElection.id=lock "
    values += "controllerManager.leaderElection.namespace=kube-system webhook.port=10250 config.serving.drainTimeout=25s"
    configuration = _configured(*values.split())
    assert configuration["gpu"] == {"discoveryEnabled": False}
    assert configuration["featureGates"] == {"gmsSnapshot": True}
    assert configuration["discovery"] == {"backend": "etcd"}
    assert configuration["orchestrators"] == {"grove": {"terminationDelay": "4h"}}
    assert configuration["mpi"]["sshSecretName"] == "key"
    assert configuration["leaderElection"] == {"enabled": True, "id": "lock", "namespace": "kube-system"}
    assert configuration["server"]["webhook"]["port"] == 10250
    assert configuration["serving"] == {"drainTimeout": "25s", "drainLag": "15s"}


@pytest.mark.parametrize(
    ("values", "ports"),
    [
        ((), (9443, 8081, 8080)),
        (("webhook.port=10250",), (10250, 8081, 8080)),
        (("config.server.healthProbe.port=18081", "config.server.metrics.port=18080"), (9443, 18081, 18080)),
        (("webhook.port=10250", "config.server.webhook.port=10443", "config.server.metrics.port=0"), (10443, 8081, 8080)),
        (("webhook.port=10250", "config.server.webhook.port=0"), (10250, 8081, 8080)),
    ],
)
def test_ports_of_pods_services_and_policies_are_where_the_configuration_listens(
    values: tuple[str, ...], ports: tuple[int, int, int], tmp_path: Path
) -> None:
    objects = charted(NAMESPACE, "metricsService.enabled=true", *values)
    [config] = [each for each in of_kind(objects, "ConfigMap") if "config.yaml" in each["data"]]
    file = tmp_path / "config.yaml"
    file.write_text(config["data"]["config.yaml"])
    listening = load_configuration(str(file), {"POD_NAMESPACE": NAMESPACE}).configuration.server
    assert (listening.webhook.port, listening.health_probe.port, listening.metrics.port) == ports
    named = dict(zip(("webhook", "probes", "metrics"), ports, strict=True))
    for deployment in of_kind(objects, "Deployment"):
        template = deployment["spec"]["template"]
        [container] = template["spec"]["containers"]
        server = container["name"] == "server"
        wanted = named if server else {name: port for name, port in named.items() if name != "webhook"}
        assert {each["name"]: each["containerPort"] for each in container["ports"]} == wanted
        assert {container[probe]["httpGet"]["port"] for probe in ("livenessProbe", "readinessProbe")} == {"probes"}
        meshes = {value for name, value in template["metadata"]["annotations"].items() if "nbound" in name}
        assert meshes == ({str(ports[0])} if server else set())
    for policy in of_kind(objects, "NetworkPolicy"):
        opened = {each["port"] for rule in policy["spec"]["ingress"] for each in rule["ports"]}
        assert opened == (set(named) if policy["metadata"]["name"].endswith("-server") else {"probes", "metrics"})
    services = {each["metadata"]["name"]: each["spec"]["ports"] for each in of_kind(objects, "Service")}
    assert [(each["port"], each["targetPort"]) for each in services[RELEASE]] == [(443, "webhook")]
    assert [(each["port"], each["targetPort"]) for each in services[f"{RELEASE}-metrics"]] == [(ports[2], "metrics")], "it is headless"


def test_policies_of_ones_own_are_mounted_into_server_and_reconciler(tmp_path: Path) -> None:
    def mounted(objects: list[Node]) -> dict[str, tuple[Node, Node]]:
        pods = {obj["metadata"]["name"].rpartition("-")[2]: obj["spec"]["template"]["spec"] for obj in of_kind(objects, "Deployment")}
        return {
            name: (volume, mount)
            for name, pod in pods.items()
            for volume in pod["volumes"]
            for mount in pod["containers"][0]["volumeMounts"]
            if volume["name"] == mount["name"] == "policies"
        }

    objects = charted("dynamo-system", "policies=dynamo-webhooks-policies")
    mounts = mounted(objects)
    assert mounts.keys() == {"server", "reconciler"}
    assert mounts == mounted(composed(tmp_path, "self-signed", "components/policies"))
    [configuration] = [obj for obj in of_kind(objects, "ConfigMap") if "config.yaml" in obj["data"]]
    assert yaml.safe_load(configuration["data"]["config.yaml"])["serving"]["policies"] == mounts["server"][1]["mountPath"]


def test_without_a_reconciler_nothing_of_it_is_there() -> None:
    objects = charted(NAMESPACE, "reconciler.enabled=false")
    assert not [key(each) for each in objects if each["metadata"]["name"].endswith(("-reconciler", "-planner"))]
    assert len(of_kind(objects, "Deployment")) == 2


def test_lint_has_nothing_to_say() -> None:
    done = helm("lint", "--strict", str(CHART), "--kube-version", "v1.34.4", *settings(()))
    assert done.returncode == 0, done.stdout


ROLES: Final = ("Role", "ClusterRole")


def test_a_list_of_namespaces_gives_the_reconciler_roles_there_and_no_cluster_role() -> None:
    usual = {key(each): each for each in of_kind(charted(NAMESPACE), *ROLES)}
    listed = {key(each): each for each in of_kind(charted(NAMESPACE, "namespace.allowed={a,b}"), *ROLES)}
    everywhere = ("ClusterRole", "", f"{RELEASE}-reconciler")
    there = {("Role", namespace, f"{RELEASE}-reconciler-workloads") for namespace in ("a", "b")}
    assert usual.keys() - listed.keys() == {everywhere}
    assert listed.keys() - usual.keys() == there
    for name in there:  # the same rules, but for what a Role can't grant
        without_get = [{**rule, "verbs": ["bind"]} if "bind" in rule["verbs"] else rule for rule in usual[everywhere]["rules"]]
        assert listed[name]["rules"] == without_get
    assert _configured("namespace.allowed={a,b}")["namespace"] == {"allowed": ["a", "b"]}


def test_the_notes_say_what_stays_and_what_the_namespace_lacks(cluster: ControlPlane) -> None:
    """The command that the notes name removes all that processes made; a namespace that enforces restricted pods is not told of."""
    namespace = "noted"
    notes = _helm(cluster, "install", RELEASE, str(CHART), "-n", namespace, "--create-namespace", "--set", "allowSecondInstallation=true")
    [label] = re.findall(r"^  kubectl (label namespace .+)$", notes, re.MULTILINE)
    [delete] = re.findall(r"^  kubectl (-n noted delete .+)$", notes, re.MULTILINE)
    page = (MANIFESTS.parent / "docs" / "install.md").read_text().replace("\\\n  ", "")
    assert f"kubectl {delete.replace('noted', NAMESPACE)}\n" in page, "the page has the same command for the default names"
    names = ("webhook-server-cert", "webhook-server-cert-ca")
    for name in names:
        cluster.apply({"apiVersion": "v1", "kind": "Secret", "metadata": {"name": name, "namespace": namespace}})
    assert cluster.kubectl(*label.split()).code == 0
    again = _helm(cluster, "upgrade", RELEASE, str(CHART), "-n", namespace, "--set", "allowSecondInstallation=true")
    assert "pod-security" not in again
    _helm(cluster, "uninstall", RELEASE, "-n", namespace)
    assert cluster.kubectl(*delete.split()).code == 0
    left = cluster.request("GET", f"/api/v1/namespaces/{namespace}/secrets").body["items"]
    assert [each["metadata"]["name"] for each in left] == []


def test_the_guard_of_the_definitions_exempts_the_provisioner_of_this_release_and_can_be_left_out() -> None:
    [policy, binding] = of_kind(charted("team", "reconciler.guard=false", release="other"), *GUARD)
    assert policy["metadata"]["name"] == binding["metadata"]["name"] == binding["spec"]["policyName"] == "other-dynamo-webhooks-definitions"
    exempt = {each["name"]: each["expression"] for each in policy["spec"]["matchConditions"]}["not-the-provisioner"]
    assert exempt == "request.userInfo.username != 'system:serviceaccount:team:other-dynamo-webhooks-provisioner'"
    assert of_kind(charted(NAMESPACE, "definitionGuard.enabled=false", "reconciler.guard=false"), *GUARD) == []
    assert of_kind(charted("team", "namespaceRestriction.enabled=true"), *GUARD) == []


def test_the_guard_of_the_reconciler_names_the_account_of_this_release() -> None:
    [policy, binding] = of_kind(charted("team", "definitionGuard.enabled=false", release="other"), *GUARD)
    assert policy["metadata"]["name"] == binding["metadata"]["name"] == binding["spec"]["policyName"] == "other-dynamo-webhooks-reconciler"
    [user, _] = policy["spec"]["matchConditions"]
    assert user["expression"] == "request.userInfo.username == 'system:serviceaccount:team:other-dynamo-webhooks-reconciler'"
    assert "startsWith('other-dynamo-webhooks-')" in policy["spec"]["validations"][-1]["expression"]
    assert of_kind(charted("team", "definitionGuard.enabled=false", "reconciler.enabled=false"), *GUARD) == []
