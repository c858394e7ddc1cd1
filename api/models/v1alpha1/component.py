"""One service of a graph, and DynamoComponentDeployment v1alpha1: the same on its own."""

from __future__ import annotations

from typing import Annotated

from pydantic import ConfigDict, Field

from dynamo_webhooks.api.models.constraints import MIN_AVAILABLE, SHM_SIZE, validations, validations_by_line
from dynamo_webhooks.api.models.endpoint_picker import PickerConfig
from dynamo_webhooks.api.models.facets import REQUIRED_ANYWAY, SINCE_1_5, Domain, Int32, Int64, Part, Quantity, Texts, VersionNumbers
from dynamo_webhooks.api.models.graph_parts import BackendFramework, ProviderOverride
from dynamo_webhooks.api.models.kubernetes import Conditions, ConfigMapKey, EnvVar, ExtraPodSpec, Probe
from dynamo_webhooks.api.models.v1alpha1.features import Checkpoint, Failover, GpuMemoryService
from dynamo_webhooks.api.models.v1alpha1.network import Autoscaling, Ingress, Resources
from dynamo_webhooks.api.models.v1alpha1.status import ServiceReplicaStatus


class VolumeMount(Part):
    """Mounts one of the graph's claims."""

    name: str = Field(description="Name of the claim in the graph's list.")
    mount_point: str | None = Field(None, description="Directory to mount it at; may be left out for a compilation cache.")
    use_as_compilation_cache: bool = Field(False, description="Whether the engine keeps compiled kernels there.")


class ModelReference(Part):
    """A model that the service serves."""

    name: str = Field(description="Name of the model.")
    revision: str | None = Field(None, description="Revision of the model.")


class SharedMemory(Part):
    """The shared memory volume of the pods."""

    model_config = ConfigDict(json_schema_extra=validations(SHM_SIZE))

    disabled: bool | None = Field(None, description="Leaves the volume out.")
    size: Quantity | None = Field(None, description="Size of the volume, such as 16Gi; needed unless the volume is disabled.")


class ExtraPodMetadata(Part):
    """Metadata added to the pods."""

    annotations: Texts | None = Field(None, description="Annotations to add.")
    labels: Texts | None = Field(None, description="Labels to add.")


class Multinode(Part):
    """Spreads each replica over several nodes."""

    node_count: Annotated[Int32, Field(ge=2), REQUIRED_ANYWAY] = Field(2, description="Nodes of a replica.")


class NodeRole(Part):
    """What is said of the leader, or of the workers, of a replica over several nodes."""

    provider_override: ProviderOverride | None = Field(None, description="Changes the resource that the workload provider runs them by.")


class GraphMultinode(Multinode):
    """Spreads each replica over several nodes."""

    leader: Annotated[NodeRole, SINCE_1_5] | None = Field(None, description="What is said of the leader.")
    worker: Annotated[NodeRole, SINCE_1_5] | None = Field(None, description="What is said of the workers.")


class ScalingAdapter(Part):
    """Hands the number of replicas to a scaling adapter."""

    enabled: bool = Field(False, description="Whether an adapter is made and owns the replicas.")


class EndpointPicker(Part):
    """Settings of an endpoint picker component."""

    config_map_ref: ConfigMapKey | None = Field(None, description="Key of a config map that holds the configuration.")
    config: PickerConfig | None = Field(None, description="The configuration itself, in place of a config map.")


class FrontendSidecar(Part):
    """A frontend that runs beside the main container."""

    image: str = Field(description="Image of the sidecar.")
    args: list[str] | None = Field(None, description="Arguments in place of the usual ones.")
    env_from_secret: str | None = Field(None, description="Secret whose keys become environment variables.")
    envs: list[EnvVar] | None = Field(None, description="Further environment variables.")


class ServiceTopology(Part):
    """Where the pods of the service are packed together."""

    pack_domain: Domain = Field(description="Domain of the graph's topology.")


class Component(Part):
    """One service: what runs, how often, and with which extras."""

    model_config = ConfigDict(json_schema_extra=validations_by_line((), MIN_AVAILABLE))

    annotations: Texts | None = Field(None, description="Annotations for the service's resources.")
    labels: Texts | None = Field(None, description="Labels for the service's resources.")
    service_name: str | None = Field(None, description="Name of the service; in a graph its key.")
    component_type: str | None = Field(None, description="Role of the service, such as frontend or worker.")
    sub_component_type: str | None = Field(None, description="Finer role of a worker, such as prefill or decode.")
    dynamo_namespace: str | None = Field(None, description="Deprecated and ignored: the Dynamo namespace follows from the graph.")
    global_dynamo_namespace: bool | None = Field(None, description="Puts the service into the namespace that all graphs share.")
    resources: Resources | None = Field(None, description="Resources of the main container.")
    autoscaling: Autoscaling | None = Field(None, description="Deprecated and ignored: use a scaling adapter.")
    envs: list[EnvVar] | None = Field(None, description="Environment variables of the main container.")
    env_from_secret: str | None = Field(None, description="Secret whose keys become environment variables.")
    volume_mounts: list[VolumeMount] | None = Field(None, description="Claims of the graph to mount.")
    ingress: Ingress | None = Field(None, description="How the service is reached from outside.")
    model_ref: ModelReference | None = Field(None, description="Model that the service serves, for endpoint discovery.")
    shared_memory: SharedMemory | None = Field(None, description="The shared memory volume of the pods.")
    extra_pod_metadata: ExtraPodMetadata | None = Field(None, description="Metadata added to the pods.")
    extra_pod_spec: ExtraPodSpec | None = Field(None, description="Overlay of the pod, and of its main container.")
    liveness_probe: Probe | None = Field(None, description="Liveness probe of the main container.")
    readiness_probe: Probe | None = Field(None, description="Readiness probe of the main container.")
    replicas: Annotated[Int32, Field(ge=0)] | None = Field(None, description="How many replicas run.")
    min_available: Annotated[Int32, Field(ge=1), SINCE_1_5] | None = Field(
        None, description="Replicas below which the component counts as failed."
    )
    runtime_version_override: Annotated[VersionNumbers, SINCE_1_5] | None = Field(
        None, description="Version of Dynamo in an image whose tag does not tell it."
    )
    multinode: Multinode | None = Field(None, description="Spreads each replica over several nodes.")
    scaling_adapter: ScalingAdapter | None = Field(None, description="Hands the number of replicas to a scaling adapter.")
    epp_config: EndpointPicker | None = Field(
        None, description="Settings of an endpoint picker, the component that chooses a worker for each request."
    )
    frontend_sidecar: FrontendSidecar | None = Field(None, description="A frontend beside the main container.")
    checkpoint: Checkpoint | None = Field(None, description="Starts pods from a checkpoint.")
    topology_constraint: ServiceTopology | None = Field(None, description="Where the pods are packed together.")
    gpu_memory_service: GpuMemoryService | None = Field(None, description="Shares GPU memory between engines.")
    failover: Failover | None = Field(None, description="Keeps standby engines ready.")


class GraphComponent(Component):
    """One service: what runs, how often, and with which extras."""

    multinode: GraphMultinode | None = Field(None, description="Spreads each replica over several nodes.")
    provider_override: Annotated[ProviderOverride, SINCE_1_5] | None = Field(
        None, description="Changes the resource that the workload provider runs the component by."
    )


class ComponentSpec(Component):
    """What the component should look like."""

    backend_framework: BackendFramework | None = Field(None, description="Inference engine of the component.")


class ComponentStatus(Part):
    """What was seen of the component."""

    observed_generation: Int64 | None = Field(None, description="Generation that this status is about.")
    conditions: Conditions = Field(description="Aspects of the state, one condition each, in the usual form of Kubernetes.")
    pod_selector: Texts | None = Field(None, description="Labels of the component's pods.")
    service: ServiceReplicaStatus | None = Field(None, description="Replicas of the component.")


class DynamoComponentDeployment(Part):
    """One component of a graph as an object of its own, usually made by the operator."""

    spec: ComponentSpec | None = Field(None, description="What the component should look like.")
    status: ComponentStatus | None = Field(None, description="What was seen; written by the operator.")
