"""DynamoGraphDeployment v1alpha1, a graph of services, and the replicas of one service for autoscalers."""

from typing import Annotated

from pydantic import ConfigDict, Field

from ..constraints import PVC_CREATE, RESTART_ON_CREATE, validations
from ..facets import Domain, Filled, Int32, Part, Quantity, Time
from ..kubernetes import Conditions, EnvVar
from ..parts import CheckpointStatus, GraphProgress, GraphSettings
from ..type_constraints import LPX_RESTART_ALPHA
from .component import GraphComponent, RollingUpdateStatus, ServiceReplicaStatus


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


class GraphSpec(GraphSettings):
    """What the graph should look like."""

    model_config = ConfigDict(json_schema_extra=validations(RESTART_ON_CREATE, LPX_RESTART_ALPHA))

    pvcs: Annotated[list[VolumeClaim], Field(max_length=100)] | None = Field(None, description="Claims that services can mount by name.")
    services: Annotated[dict[str, GraphComponent], Field(max_length=25)] | None = Field(
        None, description="The services that the graph consists of, by name; each runs in pods of its own."
    )
    envs: list[EnvVar] | None = Field(None, description="Environment variables for every service.")
    topology_constraint: GraphTopology | None = Field(None, description="Where pods are packed together.")


class GraphStatus(GraphProgress):
    """What was seen of the graph."""

    conditions: Conditions | None = Field(None, description="Aspects of the state, one condition each, in the usual form of Kubernetes.")
    services: dict[str, ServiceReplicaStatus] | None = Field(None, description="Replicas by service.")
    checkpoints: dict[str, CheckpointStatus] | None = Field(None, description="Checkpoints by service.")
    rolling_update: RollingUpdateStatus | None = Field(None, description="The rolling update under way.")


class DynamoGraphDeployment(Part):
    """A graph of services that together serve a model."""

    spec: GraphSpec | None = Field(None, description="What the graph should look like.")
    status: GraphStatus | None = Field(None, description="What was seen; written by the operator.")


class ServiceReference(Part):
    """A service of a graph."""

    name: Filled = Field(description="Name of the graph, in the same namespace.")
    service_name: Filled = Field(description="Name of the service in it.")


class ScalingAdapterSpec(Part):
    """How many replicas are wanted, and of what."""

    replicas: Annotated[Int32, Field(ge=0)] = Field(description="Replicas of the service.")
    dgd_ref: ServiceReference = Field(description="The service that is scaled.")


class ScalingAdapterStatus(Part):
    """What autoscalers read."""

    replicas: Int32 | None = Field(None, description="Replicas that exist.")
    selector: str | None = Field(None, description="Label selector of the service's pods.")
    last_scale_time: Time | None = Field(None, description="When the number last changed.")


class DynamoGraphDeploymentScalingAdapter(Part):
    """Lets autoscalers set the replicas of one service of a graph."""

    spec: ScalingAdapterSpec | None = Field(None, description="How many replicas are wanted, and of what.")
    status: ScalingAdapterStatus | None = Field(None, description="What was seen; written by the operator.")
