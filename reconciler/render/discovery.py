"""Discovery: the effective backend and mode, the runtime's labels, the permissions of pods."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from ...conversion.lens.protocol import Fields
from .names import APP, DISCOVERY_BACKEND, DISCOVERY_ENABLED, DISCOVERY_MODE, MANAGED_BY, OPERATOR, PART, as_label, discovery_account
from .objects import make_child
from .settings import KUBERNETES, Settings

CONTAINER_MODE: Final = "container"
RBAC_GROUP: Final = "rbac.authorization.k8s.io"
_READ: Final = ("get", "list", "watch")
_WRITE: Final = ("create", "get", "list", "watch", "update", "patch", "delete")


def backend(annotations: Mapping[str, str], settings: Settings) -> str:
    """The effective backend: an annotation overrides the configuration."""
    return annotations.get(DISCOVERY_BACKEND, settings.discovery)


def by_kubernetes(annotations: Mapping[str, str], settings: Settings) -> bool:
    """Whether pods discover each other through the API server."""
    return backend(annotations, settings) == KUBERNETES


def in_containers(annotations: Mapping[str, str]) -> bool:
    """Whether containers of a pod are discovered separately."""
    return annotations.get(DISCOVERY_MODE) == CONTAINER_MODE


def labels(annotations: Mapping[str, str], settings: Settings) -> dict[str, str]:
    """The runtime's labels on pods and EndpointSlices."""
    return {DISCOVERY_BACKEND: KUBERNETES, DISCOVERY_ENABLED: "true"} if by_kubernetes(annotations, settings) else {}


def account_labels(account: str) -> dict[str, str]:
    """The labels of a service account, its role and binding; the name is cut to a label's length."""
    return {MANAGED_BY: OPERATOR, PART: "rbac", APP: as_label(account)}


def rights(owner: Fields, namespace: str) -> list[Fields]:
    """The service account of a graph's pods, with permission to watch endpoints and to publish what they serve."""
    account = discovery_account(owner["metadata"]["name"])
    marks = account_labels(account)
    rules = [
        {"apiGroups": [""], "resources": ["endpoints", "pods"], "verbs": [*_READ]},
        {"apiGroups": ["discovery.k8s.io"], "resources": ["endpointslices"], "verbs": [*_READ]},
        {"apiGroups": ["nvidia.com"], "resources": ["dynamoworkermetadatas"], "verbs": [*_WRITE]},
    ]
    bound = binding("Role", f"{account}-role", account, namespace)
    return [
        make_child("v1", "ServiceAccount", account, namespace, labels=marks, owner=owner),
        make_child(f"{RBAC_GROUP}/v1", "Role", f"{account}-role", namespace, labels=marks, owner=owner, rules=rules),
        make_child(f"{RBAC_GROUP}/v1", "RoleBinding", f"{account}-binding", namespace, labels=marks, owner=owner, **bound),
    ]


def account_of(name: str) -> str:
    """The account that an object of `rights` is for."""
    return name.removesuffix("-role").removesuffix("-binding")


def binding(kind: str, role: str, account: str, namespace: str) -> Fields:
    """The content of a RoleBinding: one role for one service account of its own namespace."""
    return {
        "roleRef": {"apiGroup": RBAC_GROUP, "kind": kind, "name": role},
        "subjects": [{"kind": "ServiceAccount", "name": account, "namespace": namespace}],
    }
