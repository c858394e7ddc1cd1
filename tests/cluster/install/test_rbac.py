"""What the service accounts may do: exactly the table of grants.py, said by the API server, and tried with calls in their names."""

import re
from collections import defaultdict
from collections.abc import Iterator
from itertools import product
from pathlib import Path
from typing import Any, Final

import pytest

from dynamo_webhooks.api.line import Line
from tests.cluster.definitions import install, read_files
from tests.cluster.harness import ControlPlane, Outcome
from tests.cluster.install.grants import DENIED, EVERYWHERE, GRANTS, HOME, OPTIONAL, SCOPE, SERVING
from tests.cluster.planes import Planes
from tests.cluster.processes import wait_until
from tests.cluster.rendering import GUARD, MANIFESTS, Node, as_written, charted, composed, kustomized, of_kind, restricted
from tools.crd_files import FOLDERS

NAMESPACE: Final = "dynamo-system"
READ: Final = {"get", "list", "watch"}
READ_SECRETS: Final = {"apiGroups": [""], "resources": ["secrets"], "verbs": ["get", "list", "watch"]}
# (account, where, group, resource, name) -> verbs
Table = dict[tuple[str, str, str, str, str], set[str]]


def _overlay(name: str) -> list[Node]:
    return kustomized(MANIFESTS / "overlays" / name)


def granted(objects: list[Node], home: str) -> Table:
    """What the bindings among the objects give to our accounts."""
    roles = {(each["kind"], each["metadata"]["name"]): each["rules"] for each in of_kind(objects, "Role", "ClusterRole")}
    table: Table = defaultdict(set)
    for binding in of_kind(objects, "RoleBinding", "ClusterRoleBinding"):
        assert {subject["namespace"] for subject in binding["subjects"]} == {home}
        where = HOME if binding["kind"] == "RoleBinding" else EVERYWHERE
        for rule in roles[binding["roleRef"]["kind"], binding["roleRef"]["name"]]:
            for account, group, resource, name in product(
                [subject["name"].removeprefix("dynamo-webhooks-") for subject in binding["subjects"]],
                rule["apiGroups"],
                rule["resources"],
                rule.get("resourceNames", [""]),
            ):
                table[account, where, group, resource, name] |= set(rule["verbs"])
    return dict(table)


def _expected() -> Table:
    return {(each.account, each.where, each.group, each.resource, each.name): set(each.verbs) for each in GRANTS}


def test_the_roles_grant_what_the_table_says_and_nothing_else() -> None:
    assert granted(_overlay("self-signed"), NAMESPACE) == _expected()


@pytest.mark.parametrize("overlay", ["cert-manager", "external-certificate"])
def test_with_certificates_from_elsewhere_the_provisioner_reads_one_secret_and_writes_none(overlay: str) -> None:
    expected = _expected()
    del expected["provisioner", HOME, "", "secrets", f"{SERVING}-ca"]
    del expected["provisioner", HOME, "", "secrets", ""]
    expected["provisioner", HOME, "", "secrets", SERVING] = READ
    assert granted(_overlay(overlay), NAMESPACE) == expected


@pytest.mark.parametrize(
    ("overlay", "home", "values"),
    [("self-signed", NAMESPACE, ()), ("namespaced", "dynamo-restricted", ("namespaceRestriction.enabled=true",))],
)
@pytest.mark.parametrize("component", OPTIONAL)
def test_what_is_optional_is_granted_where_that_is_asked_for(
    tmp_path: Path, overlay: str, home: str, values: tuple[str, ...], component: str
) -> None:
    before = granted(_overlay(overlay), home)
    rights = granted(composed(tmp_path, overlay, f"components/{component}"), home)
    where = HOME if values else EVERYWHERE
    expected = defaultdict(set, before)
    for each in OPTIONAL[component]:
        if values and (each.resource == "nodes" or component == "topology-labels"):
            continue
        expected[each.account, where, each.group, each.resource, each.name] |= {*each.verbs}
    assert rights == expected
    name = re.sub(r"-(\w)", lambda match: match[1].upper(), component)
    assert granted(charted(home, f"reconciler.{name}=true", *values), home) == rights


@pytest.mark.parametrize(
    ("values", "namespaces"),
    [
        (("reconciler.pullSecrets.namespaces={dynamo-graphs}",), ["dynamo-graphs"]),
        (("reconciler.pullSecrets.namespaces={a,b}",), ["a", "b"]),
        (("namespace.allowed={a,b}",), ["a", "b"]),
        (("namespaceRestriction.enabled=true", "namespaceRestriction.targetNamespace=a"), ["a"]),
    ],
)
def test_secrets_may_be_read_in_the_named_namespaces_alone(tmp_path: Path, values: tuple[str, ...], namespaces: list[str]) -> None:
    made = charted(NAMESPACE, "reconciler.pullSecrets.mode=labelled", *values)
    before = charted(NAMESPACE, *[value for value in values if not value.startswith("reconciler.pullSecrets")])
    rights = [each for each in made if each not in before and each["kind"].removeprefix("Cluster") in ("Role", "RoleBinding")]
    assert sorted((each["kind"], each["metadata"]["namespace"]) for each in rights) == sorted(product(("Role", "RoleBinding"), namespaces))
    assert all(each.get("rules", [READ_SECRETS]) == [READ_SECRETS] for each in rights)
    if namespaces == ["dynamo-graphs"]:
        ours = composed(tmp_path, "self-signed", "components/pull-secrets")
        named = [each for each in ours if each["metadata"]["name"].endswith("pull-secrets")]
        assert sorted(map(_without_labels, named), key=str) == sorted(map(_without_labels, rights), key=str)


def _without_labels(obj: Node) -> Node:
    return {**obj, "metadata": {name: value for name, value in obj["metadata"].items() if name != "labels"}}


def test_with_trust_from_elsewhere_too_it_writes_no_configuration() -> None:
    rights = granted(charted(NAMESPACE, "webhook.certificateSecret.external=true", "webhook.caBundle=Y2E="), NAMESPACE)
    injecting = {name: verbs for name, verbs in rights.items() if name[0] == "provisioner" and name[1] == EVERYWHERE}
    assert len(injecting) == 6
    assert all(verbs == READ for verbs in injecting.values())
    assert not [name for name in rights if name[0] == "provisioner" and name[3] == "configmaps"]


def test_in_one_namespace_nothing_is_allowed_elsewhere_but_two_configurations_and_to_read_topologies() -> None:
    rights = granted(_overlay("namespaced"), "dynamo-restricted")
    configurations = {
        (
            "provisioner",
            EVERYWHERE,
            "admissionregistration.k8s.io",
            f"{kind}webhookconfigurations",
            f"dynamo-webhooks-{kind}-dynamo-restricted",
        )
        for kind in ("validating", "mutating")
    }
    topologies = {("server", EVERYWHERE, "grove.io", kind, "") for kind in ("clustertopologies", "clustertopologybindings")}
    assert {name for name in rights if name[1] == EVERYWHERE} == configurations | topologies
    assert all(rights[name] == {"list", "watch"} for name in topologies)
    workloads = {name: verbs for name, verbs in _expected().items() if name[0] == "reconciler" and name[1] == EVERYWHERE}
    elsewhere = {("reconciler", EVERYWHERE, "coordination.k8s.io", "leases", SCOPE)}
    for role in ("planner", "epp"):
        elsewhere.add(("reconciler", EVERYWHERE, "rbac.authorization.k8s.io", "clusterroles", f"dynamo-webhooks-{role}"))
    assert elsewhere <= workloads.keys()
    for (account, _, *rest), verbs in workloads.items():
        if (account, EVERYWHERE, *rest) not in elsewhere:
            assert rights[account, HOME, rest[0], rest[1], rest[2]] == verbs
    assert rights["server", HOME, "coordination.k8s.io", "leases", SCOPE] == {"get", "update", "delete"}


@pytest.fixture(scope="module")
def cluster(planes: Planes) -> Iterator[ControlPlane]:
    """A cluster with the default installation's accounts, roles and configurations, and our kinds."""
    with planes.lend() as plane:
        install(plane, *read_files(FOLDERS[Line.V1_2]))
        kinds = ("ServiceAccount", "Role", "RoleBinding", "ClusterRole", "ClusterRoleBinding")
        objects = _overlay("self-signed")
        plane.apply(restricted(NAMESPACE))
        plane.apply(*of_kind(objects, *kinds, "ValidatingWebhookConfiguration", "MutatingWebhookConfiguration"))
        plane.apply(*[each for each in of_kind(objects, *GUARD) if each["metadata"]["name"].endswith("-reconciler")])
        for name in (SERVING, f"{SERVING}-ca"):
            plane.apply({"apiVersion": "v1", "kind": "Secret", "metadata": {"name": name, "namespace": NAMESPACE}})
        yield plane


def allowed(plane: ControlPlane, account: str, where: str, group: str, resource: str, name: str, verb: str) -> bool:
    """Whether the API server lets one of our accounts call it so."""
    plural, _, part = resource.partition("/")
    attributes = {"namespace": {HOME: NAMESPACE, EVERYWHERE: ""}.get(where, where), "group": group, "resource": plural, "name": name}
    return plane.allows(
        {
            "user": f"system:serviceaccount:{NAMESPACE}:dynamo-webhooks-{account}",
            "groups": ["system:serviceaccounts", f"system:serviceaccounts:{NAMESPACE}", "system:authenticated"],
            "resourceAttributes": {**attributes, "subresource": part, "verb": verb},
        }
    )


def test_the_api_server_allows_every_grant_and_refuses_what_must_not_be(cluster: ControlPlane) -> None:
    assert [(each, verb) for each in GRANTS for verb in each.verbs if not allowed(cluster, *each[:5], verb)] == []
    assert [(each, verb) for each in DENIED for verb in each[5] if allowed(cluster, *each[:5], verb)] == []


def _as(plane: ControlPlane, account: str, *arguments: str, **more: Any) -> Outcome:
    """One kubectl call with nothing but the account's own roles."""
    return plane.kubectl("--as", f"system:serviceaccount:{NAMESPACE}:dynamo-webhooks-{account}", *arguments, **more)


def _forbidden(outcome: Outcome) -> bool:
    return outcome.code != 0 and "forbidden" in outcome.stderr.lower()


def test_the_server_lists_and_watches_by_a_field_selector_and_sees_no_other(cluster: ControlPlane) -> None:
    by_name = f"--field-selector=metadata.name={SERVING}"
    assert _as(cluster, "server", "get", "secrets", "-n", NAMESPACE, by_name).code == 0
    watch = _as(cluster, "server", "get", "secrets", "-n", NAMESPACE, by_name, "--watch-only", "--request-timeout=1s")
    assert not _forbidden(watch)
    assert _forbidden(_as(cluster, "server", "get", "secrets", "-n", NAMESPACE))
    assert _forbidden(_as(cluster, "server", "get", "secrets", "-n", NAMESPACE, f"--field-selector=metadata.name={SERVING}-ca"))
    # and the marks of other operators in every namespace
    assert _as(cluster, "server", "get", "leases", "-A", f"--field-selector=metadata.name={SCOPE}").code == 0
    assert _forbidden(_as(cluster, "server", "get", "leases", "-A"))


def _role(*rules: Node) -> Node:
    metadata = {"name": "g-k8s-service-discovery-role", "namespace": "default"}
    return {"apiVersion": "rbac.authorization.k8s.io/v1", "kind": "Role", "metadata": metadata, "rules": list(rules)}


def test_the_reconciler_passes_on_what_pods_need_to_find_each_other_and_no_more(cluster: ControlPlane) -> None:
    read = sorted(READ)
    discovery = _role(
        {"apiGroups": [""], "resources": ["endpoints", "pods"], "verbs": read},
        {"apiGroups": ["discovery.k8s.io"], "resources": ["endpointslices"], "verbs": read},
        {
            "apiGroups": ["nvidia.com"],
            "resources": ["dynamoworkermetadatas"],
            "verbs": ["create", "get", "list", "watch", "update", "patch", "delete"],
        },
    )
    apply = ("apply", "--server-side", "--dry-run=server", "-f", "-")
    assert _as(cluster, "reconciler", *apply, input=discovery).code == 0
    refused = _as(cluster, "reconciler", *apply, input=_role({"apiGroups": [""], "resources": ["secrets"], "verbs": ["get"]}))
    assert "attempting to grant RBAC permissions not currently held" in refused.stderr


@pytest.mark.parametrize(
    ("role", "allowed"),
    [("dynamo-webhooks-planner", True), ("dynamo-webhooks-epp", True), ("cluster-admin", False), ("system:node", False)],
)
def test_the_reconciler_binds_the_roles_of_planners_and_pickers_and_no_other(cluster: ControlPlane, role: str, *, allowed: bool) -> None:
    binding = {
        "apiVersion": "rbac.authorization.k8s.io/v1",
        "kind": "RoleBinding",
        "metadata": {"name": "planner-serviceaccount-binding", "namespace": "default"},
        "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": role},
        "subjects": [{"kind": "ServiceAccount", "name": "planner-serviceaccount", "namespace": "default"}],
    }
    done = _as(cluster, "reconciler", "create", "--dry-run=server", "-f", "-", input=binding)
    assert done.code == 0 if allowed else _forbidden(done), done.stderr


def _named(kind: str, name: str, namespace: str, **more: Any) -> Node:
    group = "rbac.authorization.k8s.io/v1" if "Role" in kind else "apps/v1" if kind == "Deployment" else "v1"
    return {"apiVersion": group, "kind": kind, "metadata": {"name": name, "namespace": namespace}, **more}


def _bound(name: str, *subjects: Node) -> Node:
    role = {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": "dynamo-webhooks-planner"}
    return _named("RoleBinding", name, "default", roleRef=role, subjects=list(subjects))


def _deployment(account: str) -> Node:
    labels = {"app": "x"}
    pod = {"serviceAccountName": account, "containers": [{"name": "main", "image": "example/x:1"}]}
    return _named(
        "Deployment", "x", NAMESPACE, spec={"selector": {"matchLabels": labels}, "template": {"metadata": {"labels": labels}, "spec": pod}}
    )


_ACCOUNT: Final = {"kind": "ServiceAccount", "name": "planner-serviceaccount", "namespace": "default"}
_GUARDED: Final = (
    (_named("ConfigMap", "x", "default"), ""),
    (_named("ConfigMap", "x", "kube-system"), "must not write in a namespace of Kubernetes itself"),
    (_named("Role", "g-k8s-service-discovery-role", "default", rules=[]), ""),
    (_named("Role", "anything", "default", rules=[]), "of another name than those of graphs"),
    (_bound("planner-serviceaccount-binding", _ACCOUNT), ""),
    (_bound("planner-serviceaccount-binding", {**_ACCOUNT, "namespace": "kube-system"}), "service accounts of the same namespace"),
    (_bound("planner-serviceaccount-binding", {"kind": "User", "name": "jane"}), "service accounts of the same namespace"),
    (_deployment("default"), ""),
    (_deployment("dynamo-webhooks-provisioner"), "must not run pods with an account of the installation"),
)


def test_a_policy_holds_the_reconciler_to_what_it_makes_where_rbac_cannot(cluster: ControlPlane) -> None:
    def tried(obj: Node) -> str:
        done = _as(cluster, "reconciler", "create", "--dry-run=server", "-f", "-", input=obj)
        return done.stderr if done.code else ""

    wait_until(lambda: "must not write" in tried(_GUARDED[1][0]), "the policy being known", cluster.server)
    wrong = [(obj["kind"], error) for obj, words in _GUARDED if (error := tried(obj)) if not words or words not in error]
    wrong += [(obj["kind"], "was admitted") for obj, words in _GUARDED if words and not tried(obj)]
    assert wrong == []
    cluster.apply(_GUARDED[1][0])
    assert "must not write" in _as(cluster, "reconciler", "delete", "configmap", "x", "-n", "kube-system").stderr
    # nobody else is held to it
    assert cluster.kubectl("delete", "configmap", "x", "-n", "kube-system").code == 0


def test_the_page_of_components_grants_by_both_ways_the_same(tmp_path: Path) -> None:
    page, ours = as_written(tmp_path, "components.md")
    values = re.findall(r"--set (reconciler\.\S+)", page)
    assert len(values) == 2
    grants = [granted(objects, NAMESPACE) for objects in (ours, charted(NAMESPACE, *values), _overlay("self-signed"))]
    assert grants[0] == grants[1] != grants[2]
    assert of_kind(ours, "ServiceMonitor")
