"""Replica counts of one component, as graphs and single components report them in v1beta1."""

from __future__ import annotations

from typing import Annotated

from pydantic import Field

from dynamo_webhooks.api.models.facets import SINCE_1_5, Int32, Part
from dynamo_webhooks.api.models.graph_parts import ResourceKind, RollingUpdateProgress


class ComponentReplicaStatus(Part):
    """What runs for one component."""

    component_kind: ResourceKind = Field(description="Kind of the resource that runs the pods.")
    component_names: list[str] | None = Field(None, description="Names of all resources that run the component, two during an update.")
    replicas: Annotated[Int32, Field(ge=0)] = Field(description="Replicas that exist.")
    updated_replicas: Annotated[Int32, Field(ge=0)] = Field(description="Replicas that run the current spec.")
    ready_replicas: Annotated[Int32, Field(ge=0)] | None = Field(None, description="Replicas that are ready.")
    scheduled_replicas: Annotated[Int32, SINCE_1_5] | None = Field(None, description="Replicas whose pods have a node.")
    runtime_namespace: Annotated[str, SINCE_1_5] | None = Field(None, description="Dynamo namespace that the pods registered in.")
    available_replicas: Annotated[Int32, Field(ge=0)] | None = Field(None, description="Replicas that have been ready for long enough.")


class RollingUpdateStatus(RollingUpdateProgress):
    """How far a rolling update run by the operator has come."""

    updated_components: list[str] | None = Field(None, description="Components that already run the new spec.")
