"""DynamoGraphDeployment v1beta1: a graph of components."""

from __future__ import annotations

from typing import Annotated

from pydantic import ConfigDict, Field

from dynamo_webhooks.api.models.constraints import ONE_EPP, RESTART_ON_CREATE, UNIQUE_NAMES, validations, validations_by_line
from dynamo_webhooks.api.models.facets import BY_NAME, REQUIRED_ANYWAY, SINCE_1_5, Domain, Facets, Filled, Int64, Part, Texts
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
from dynamo_webhooks.api.models.kubernetes import ConditionsByType, EnvVar
from dynamo_webhooks.api.models.v1beta1.component import Component
from dynamo_webhooks.api.models.v1beta1.status import ComponentReplicaStatus, RollingUpdateStatus


class GraphTopology(Part):
    """Where the pods of the graph are packed together."""

    cluster_topology_name: Filled = Field(description="Name of the ClusterTopology that defines the domains.")
    pack_domain: Domain | None = Field(None, description="Domain for the components that name none themselves.")


class GraphSpec(Part):
    """What the graph should look like."""

    model_config = ConfigDict(json_schema_extra=validations_by_line((), (RESTART_ON_CREATE,)))

    annotations: Texts | None = Field(None, description="Annotations for every resource made for the graph.")
    labels: Texts | None = Field(None, description="Labels for every resource made for the graph.")
    priority_class_name: str | None = Field(None, description="Priority class of the graph's pods.")
    components: Annotated[list[Component], Field(max_length=25), BY_NAME, Facets(validations(ONE_EPP, UNIQUE_NAMES))] | None = Field(
        None, description="The components that the graph consists of, each with a name and pods of its own."
    )
    env: list[EnvVar] | None = Field(None, description="Environment variables for every component.")
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
    conditions: ConditionsByType | None = Field(
        None, description="Aspects of the state, one condition each, in the usual form of Kubernetes."
    )
    components: dict[str, ComponentReplicaStatus] | None = Field(None, description="Replicas by component.")
    restart: RestartStatus | None = Field(None, description="How far the restart has come that was asked for last.")
    checkpoints: dict[str, CheckpointStatus] | None = Field(None, description="Checkpoints by component.")
    placement: Annotated[Placement, SINCE_1_5] | None = Field(None, description="How well the graph's pods are placed.")
    rolling_update: RollingUpdateStatus | None = Field(None, description="The rolling update under way.")


class DynamoGraphDeployment(Part):
    """A graph of components that together serve a model."""

    spec: GraphSpec | None = Field(None, description="What the graph should look like.")
    status: GraphStatus | None = Field(None, description="What was seen; written by the operator.")
