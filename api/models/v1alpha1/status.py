"""Replica counts of one service, as graphs and single components report them in v1alpha1."""

from __future__ import annotations

from typing import Annotated

from pydantic import Field

from dynamo_webhooks.api.models.facets import SINCE_1_5, Int32, Part
from dynamo_webhooks.api.models.graph_parts import ResourceKind, RollingUpdateProgress


class ServiceReplicaStatus(Part):
    """What runs for one service."""

    component_kind: ResourceKind = Field(description="Kind of the resource that runs the pods.")
    component_name: str = Field(description="Name of that resource, or the first of them.")
    component_names: list[str] | None = Field(None, description="Names of all resources that run the service, two during an update.")
    replicas: Annotated[Int32, Field(ge=0)] = Field(description="Replicas that exist.")
    updated_replicas: Annotated[Int32, Field(ge=0)] = Field(description="Replicas that run the current spec.")
    ready_replicas: Annotated[Int32, Field(ge=0)] | None = Field(None, description="Replicas that are ready.")
    scheduled_replicas: Annotated[Int32, SINCE_1_5] | None = Field(None, description="Replicas whose pods have a node.")
    runtime_namespace: Annotated[str, SINCE_1_5] | None = Field(None, description="Dynamo namespace that the pods registered in.")
    available_replicas: Annotated[Int32, Field(ge=0)] | None = Field(None, description="Replicas that have been ready for long enough.")


class RollingUpdateStatus(RollingUpdateProgress):
    """How far a rolling update run by the operator has come."""

    updated_services: list[str] | None = Field(None, description="Services that already run the new spec.")
