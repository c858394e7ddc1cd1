"""Accounts shared by all graphs of a namespace, bound to a ClusterRole of the installation."""

from __future__ import annotations

from typing import Final

from ...conversion.lens.protocol import Fields
from .discovery import RBAC_GROUP, account_labels, binding
from .graph import Graph
from .objects import make_child
from .settings import Settings

ACCOUNT: Final = "planner-serviceaccount"


def rights(graph: Graph, settings: Settings) -> list[Fields]:
    """The planner's account, if the graph has a planner: its role may change every graph of the namespace."""
    return make_shared_account(ACCOUNT, settings.planner_role, graph.namespace, settings) if graph.has_planner else []


def make_shared_account(account: str, role: str, namespace: str, settings: Settings) -> list[Fields]:
    """A service account bound to a ClusterRole, without owner, because other graphs use it.

    None for an operator of one namespace, whose installation has the accounts, or without a configured role.
    """
    if settings.restricted or not role:
        return []
    marks = account_labels(account)
    bound = make_child(f"{RBAC_GROUP}/v1", "RoleBinding", f"{account}-binding", namespace, labels=marks)
    return [make_child("v1", "ServiceAccount", account, namespace, labels=marks), bound | binding("ClusterRole", role, account, namespace)]
