"""DynamoGraphDeployment v1beta1, a graph of components, and the replicas of one component for autoscalers."""

from typing import Annotated

from pydantic import ConfigDict, Field

from ..constraints import ONE_EPP, RESTART_ON_CREATE, UNIQUE_NAMES, validations
from ..facets import BY_NAME, Domain, Facets, Filled, Int32, Part, Time
from ..kubernetes import ConditionsByType, EnvVar
from ..parts import CheckpointStatus, GraphProgress, GraphSettings
from ..type_constraints import LPX_RESTART_BETA
from .component import Component, ComponentReplicaStatus, RollingUpdateStatus


class GraphTopology(Part):
    """Where the pods of the graph are packed together."""

    cluster_topology_name: Filled = Field(description="Name of the ClusterTopology that defines the domains.")
    pack_domain: Domain | None = Field(None, description="Domain for the components that name none themselves.")


class GraphSpec(GraphSettings):
    """What the graph should look like."""

    model_config = ConfigDict(json_schema_extra=validations(RESTART_ON_CREATE, LPX_RESTART_BETA))

    components: Annotated[list[Component], Field(max_length=25), BY_NAME, Facets(validations(ONE_EPP, UNIQUE_NAMES))] | None = Field(
        None, description="The components that the graph consists of, each with a name and pods of its own."
    )
    env: list[EnvVar] | None = Field(None, description="Environment variables for every component.")
    topology_constraint: GraphTopology | None = Field(None, description="Where pods are packed together.")


class GraphStatus(GraphProgress):
    """What was seen of the graph."""

    conditions: ConditionsByType | None = Field(
        None, description="Aspects of the state, one condition each, in the usual form of Kubernetes."
    )
    components: dict[str, ComponentReplicaStatus] | None = Field(None, description="Replicas by component.")
    checkpoints: dict[str, CheckpointStatus] | None = Field(None, description="Checkpoints by component.")
    rolling_update: RollingUpdateStatus | None = Field(None, description="The rolling update under way.")


class DynamoGraphDeployment(Part):
    """A graph of components that together serve a model."""

    spec: GraphSpec | None = Field(None, description="What the graph should look like.")
    status: GraphStatus | None = Field(None, description="What was seen; written by the operator.")


class ComponentReference(Part):
    """A component of a graph."""

    name: Filled = Field(description="Name of the graph, in the same namespace.")
    component_name: Filled = Field(description="Name of the component in it.")


class ScalingAdapterSpec(Part):
    """How many replicas are wanted, and of what."""

    replicas: Annotated[Int32, Field(ge=0)] = Field(description="Replicas of the component.")
    dgd_ref: ComponentReference = Field(description="The component that is scaled.")


class ScalingAdapterStatus(Part):
    """What autoscalers read."""

    replicas: Int32 = Field(description="Replicas that exist.")
    selector: str | None = Field(None, description="Label selector of the component's pods.")
    last_scale_time: Time | None = Field(None, description="When the number last changed.")


class DynamoGraphDeploymentScalingAdapter(Part):
    """Lets autoscalers set the replicas of one component of a graph."""

    spec: ScalingAdapterSpec | None = Field(None, description="How many replicas are wanted, and of what.")
    status: ScalingAdapterStatus | None = Field(None, description="What was seen; written by the operator.")
