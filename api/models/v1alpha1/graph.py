"""DynamoGraphDeployment v1alpha1: a graph of services."""

from __future__ import annotations

from typing import Annotated

from pydantic import ConfigDict, Field

from dynamo_webhooks.api.models.constraints import PVC_CREATE, RESTART_ON_CREATE, validations, validations_by_line
from dynamo_webhooks.api.models.facets import REQUIRED_ANYWAY, SINCE_1_5, Domain, Filled, Int64, Part, Quantity, Texts
from dynamo_webhooks.api.models.graph_parts import (
    BackendFramework,
    CheckpointStatus,
    GraphExperimental,
    GraphState,
    Placement,
    ProviderOverride,
    Restart,
    RestartStatus,
)
from dynamo_webhooks.api.models.kubernetes import Conditions, EnvVar
from dynamo_webhooks.api.models.v1alpha1.component import GraphComponent
from dynamo_webhooks.api.models.v1alpha1.status import RollingUpdateStatus, ServiceReplicaStatus


class VolumeClaim(Part):
    """A persistent volume claim that services can mount."""

    model_config = ConfigDict(json_schema_extra=validations(PVC_CREATE))

    create: bool | None = Field(None, description="Whether the operator creates the claim; otherwise it must exist.")
    name: str = Field(description="Name of the claim.")
    storage_class: str | None = Field(None, description="Storage class of a claim to create.")
    size: Quantity | None = Field(None, description="Size of a claim to create.")
    volume_access_mode: str | None = Field(None, description="Access mode of a claim to create, such as ReadWriteMany.")


class GraphTopology(Part):
    """Where the pods of the graph are packed together."""

    topology_profile: Filled = Field(description="Name of the ClusterTopology that defines the domains.")
    pack_domain: Domain | None = Field(None, description="Domain for the services that name none themselves.")


class GraphSpec(Part):
    """What the graph should look like."""

    model_config = ConfigDict(json_schema_extra=validations_by_line((), (RESTART_ON_CREATE,)))

    annotations: Texts | None = Field(None, description="Annotations for every resource made for the graph.")
    labels: Texts | None = Field(None, description="Labels for every resource made for the graph.")
    priority_class_name: str | None = Field(None, description="Priority class of the graph's pods.")
    pvcs: Annotated[list[VolumeClaim], Field(max_length=100)] | None = Field(None, description="Claims that services can mount by name.")
    services: Annotated[dict[str, GraphComponent], Field(max_length=25)] | None = Field(
        None, description="The services that the graph consists of, by name; each runs in pods of its own."
    )
    envs: list[EnvVar] | None = Field(None, description="Environment variables for every service.")
    backend_framework: BackendFramework | None = Field(None, description="Inference engine of the graph's workers.")
    restart: Restart | None = Field(None, description="Asks for a restart of the graph.")
    topology_constraint: GraphTopology | None = Field(None, description="Where pods are packed together.")
    provider_override: Annotated[ProviderOverride, SINCE_1_5] | None = Field(
        None, description="Changes the resource that the workload provider runs the graph by."
    )
    experimental: GraphExperimental | None = Field(None, description="Features that may still change or go.")


class GraphStatus(Part):
    """What was seen of the graph."""

    observed_generation: Int64 | None = Field(None, description="Generation that this status is about.")
    state: Annotated[GraphState, REQUIRED_ANYWAY] = Field("initializing", description="Where the deployment stands.")
    conditions: Conditions | None = Field(None, description="Aspects of the state, one condition each, in the usual form of Kubernetes.")
    services: dict[str, ServiceReplicaStatus] | None = Field(None, description="Replicas by service.")
    restart: RestartStatus | None = Field(None, description="How far the restart has come that was asked for last.")
    checkpoints: dict[str, CheckpointStatus] | None = Field(None, description="Checkpoints by service.")
    placement: Annotated[Placement, SINCE_1_5] | None = Field(None, description="How well the graph's pods are placed.")
    rolling_update: RollingUpdateStatus | None = Field(None, description="The rolling update under way.")


class DynamoGraphDeployment(Part):
    """A graph of services that together serve a model."""

    spec: GraphSpec | None = Field(None, description="What the graph should look like.")
    status: GraphStatus | None = Field(None, description="What was seen; written by the operator.")
