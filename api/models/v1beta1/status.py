"""Replica counts of one component, as graphs and single components report them in v1beta1."""

from __future__ import annotations

from pydantic import Field

from ..graph_parts import Replicas, RollingUpdateProgress


class ComponentReplicaStatus(Replicas):
    """What runs for one component."""

    component_names: list[str] | None = Field(None, description="Names of all resources that run the component, two during an update.")


class RollingUpdateStatus(RollingUpdateProgress):
    """How far a rolling update run by the operator has come."""

    updated_components: list[str] | None = Field(None, description="Components that already run the new spec.")
