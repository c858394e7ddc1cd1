"""The service accounts of pods, with their permissions."""

from typing import Final

from ...conversion.lens.protocol import Fields
from . import names
from .discovery import uses_kubernetes
from .graph import Graph
from .objects import make_child
from .settings import Settings

RBAC_GROUP: Final = "rbac.authorization.k8s.io"
_READ: Final = ("get", "list", "watch")
_WRITE: Final = ("create", "get", "list", "watch", "update", "patch", "delete")


def make_account_labels(account: str) -> dict[str, str]:
    """The labels of a service account, its role and binding; the name is cut to a label's length."""
    return {names.MANAGED_BY: names.OPERATOR, names.PART: "rbac", names.APP: names.as_label(account)}


def make_graph_account(graph: Graph, settings: Settings) -> list[Fields]:
    """The service account of a graph's pods, with permission to watch endpoints and to publish what they serve, where they need it."""
    if not uses_kubernetes(graph.annotations, settings):
        return []
    account, owner = names.discovery_account(graph.name), graph.object
    marks = make_account_labels(account)
    rules = [
        {"apiGroups": [""], "resources": ["endpoints", "pods"], "verbs": [*_READ]},
        {"apiGroups": ["discovery.k8s.io"], "resources": ["endpointslices"], "verbs": [*_READ]},
        {"apiGroups": ["nvidia.com"], "resources": ["dynamoworkermetadatas"], "verbs": [*_WRITE]},
    ]
    bound = make_binding("Role", f"{account}-role", account, graph.namespace)
    return [
        make_child("v1", "ServiceAccount", account, labels=marks, owner=owner),
        make_child(f"{RBAC_GROUP}/v1", "Role", f"{account}-role", labels=marks, owner=owner, rules=rules),
        make_child(f"{RBAC_GROUP}/v1", "RoleBinding", f"{account}-binding", labels=marks, owner=owner, **bound),
    ]


def make_shared_accounts(graph: Graph, settings: Settings) -> list[Fields]:
    """The accounts of a graph's planner, whose role may change every graph of the namespace, and of its picker, if it has these."""
    out = []
    if any(member.type == names.PLANNER for member in graph.members):
        out += make_shared_account(names.PLANNER_ACCOUNT, settings.planner_role, graph.namespace, settings)
    if graph.picker:
        out += make_shared_account(names.PICKER_ACCOUNT, settings.epp_role, graph.namespace, settings)
    return out


def make_shared_account(account: str, role: str, namespace: str, settings: Settings) -> list[Fields]:
    """A service account bound to a ClusterRole, without owner, as graphs share it; none without a role, or if the installation has it."""
    if settings.restricted or not role:
        return []
    marks = make_account_labels(account)
    bound = make_child(f"{RBAC_GROUP}/v1", "RoleBinding", f"{account}-binding", namespace, labels=marks)
    return [
        make_child("v1", "ServiceAccount", account, namespace, labels=marks),
        bound | make_binding("ClusterRole", role, account, namespace),
    ]


def account_of(name: str) -> str:
    """The account that an object of `make_graph_account` is for."""
    return name.removesuffix("-role").removesuffix("-binding")


def make_binding(kind: str, role: str, account: str, namespace: str) -> Fields:
    """The content of a RoleBinding: one role for one service account of its own namespace."""
    return {
        "roleRef": {"apiGroup": RBAC_GROUP, "kind": kind, "name": role},
        "subjects": [{"kind": "ServiceAccount", "name": account, "namespace": namespace}],
    }
