"""Accounts shared by all graphs of a namespace, bound to a ClusterRole of the installation."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from dynamo_webhooks.reconciler.render.discovery import RBAC_GROUP, account_labels, binding
from dynamo_webhooks.reconciler.render.objects import child

if TYPE_CHECKING:
    from dynamo_webhooks.conversion.lens.protocol import Fields
    from dynamo_webhooks.reconciler.render.graph import Graph
    from dynamo_webhooks.reconciler.render.settings import Settings

ACCOUNT: Final = "planner-serviceaccount"


def rights(graph: Graph, settings: Settings) -> list[Fields]:
    """The planner's account, if the graph has a planner: its role may change every graph of the namespace."""
    return shared_account(ACCOUNT, settings.planner_role, graph.namespace, settings) if graph.has_planner else []


def shared_account(account: str, role: str, namespace: str, settings: Settings) -> list[Fields]:
    """A service account bound to a ClusterRole, without owner, because other graphs use it.

    None for an operator of one namespace, whose installation has the accounts, or without a configured role.
    """
    if settings.restricted or not role:
        return []
    marks = account_labels(account)
    bound = child(f"{RBAC_GROUP}/v1", "RoleBinding", f"{account}-binding", namespace, labels=marks)
    return [child("v1", "ServiceAccount", account, namespace, labels=marks), bound | binding("ClusterRole", role, account, namespace)]
