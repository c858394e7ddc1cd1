"""Replica counts of one service, as graphs and single components report them in v1alpha1."""

from __future__ import annotations

from pydantic import Field

from ..graph_parts import Replicas, RollingUpdateProgress


class ServiceReplicaStatus(Replicas):
    """What runs for one service."""

    component_name: str = Field(description="Name of that resource, or the first of them.")
    component_names: list[str] | None = Field(None, description="Names of all resources that run the service, two during an update.")


class RollingUpdateStatus(RollingUpdateProgress):
    """How far a rolling update run by the operator has come."""

    updated_services: list[str] | None = Field(None, description="Services that already run the new spec.")
