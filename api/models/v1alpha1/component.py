"""Version v1alpha1 of a graph of services, of one service on its own, and of the replicas of one for autoscalers."""

from typing import Annotated, Literal, TypeAlias

from pydantic import Field

from ..base import Part
from ..constraints import (
    ALONE_ALPHA,
    CHECKPOINT_ALPHA,
    GMS_ALPHA,
    LPX_RESTART_ALPHA,
    PART_ALPHA,
    PVC_CREATE,
    RESTART_ON_CREATE,
    SHM_SIZE,
    validations,
)
from ..facets import (
    BRIEF,
    BY_NAME,
    REQUIRED_ANYWAY,
    ContainerName,
    ContainerNames,
    Domain,
    Filled,
    FreeForm,
    Int32,
    Int64,
    Quantity,
    Texts,
    Time,
    since,
)
from ..kubernetes import Conditions, EnvVar, ExtraPodSpec, MetricSpec, PodTemplate, Probe, ResourceClaim, ScalingBehaviour
from ..parts import (
    BackendFramework,
    CheckpointPolicy,
    CheckpointStatus,
    ComponentParts,
    GraphProgress,
    GraphSettings,
    Identity,
    Lpx,
    Picker,
    ProviderOverride,
    Replicas,
    Role,
    Roles,
    RollingUpdateProgress,
)


class ServiceReplicaStatus(Replicas):
    """What runs for one service."""

    component_name: str = Field(description="Name of that resource, or the first of them.")
    component_names: list[str] | None = Field(None, description="Names of all resources that run the service, two during an update.")


class RollingUpdateStatus(RollingUpdateProgress):
    """Progress of a rolling update run by the operator."""

    updated_services: list[str] | None = Field(None, description="Services that already run the new spec.")


class ResourceItem(Part):
    """Amounts of the usual resources; all of them texts."""

    cpu: str | None = Field(None, description="Processor time, such as 2 or 500m.")
    memory: str | None = Field(None, description="Memory, such as 16Gi.")
    gpu: str | None = Field(None, description="Number of GPUs as text, such as '8'.")
    gpu_type: str | None = Field(None, description="Resource name under which the GPUs are counted.")
    custom: Texts | None = Field(None, description="Amounts of other resources by name.")


class Resources(Part):
    """Resources that the main container asks for and may use."""

    requests: ResourceItem | None = Field(None, description="Resources that are reserved for the container.")
    limits: ResourceItem | None = Field(None, description="What the container may use at most.")
    claims: list[ResourceClaim] | None = Field(None, description="Claims of the pod that the container uses.")


class Autoscaling(Part):
    """Deprecated and ignored settings of an autoscaler."""

    enabled: bool | None = Field(None, description="Whether to scale; ignored.")
    min_replicas: int | None = Field(None, description="Fewest replicas; ignored.")
    max_replicas: int | None = Field(None, description="Most replicas; ignored.")
    behavior: ScalingBehaviour | None = Field(None, description="How fast to scale; ignored.")
    metrics: list[MetricSpec] | None = Field(None, description="What to scale by; ignored.")


class IngressTls(Part):
    """Secret with the certificate of the ingress."""

    secret_name: str | None = Field(None, description="Secret with the certificate.")


class Ingress(Part):
    """Access to a service from outside the cluster."""

    enabled: bool | None = Field(None, description="Whether the service is reached from outside at all.")
    host: str | None = Field(None, description="Host name without prefix and suffix.")
    use_virtual_service: bool | None = Field(None, description="Makes an Istio VirtualService in place of an Ingress.")
    virtual_service_gateway: str | None = Field(None, description="Gateway of the VirtualService.")
    host_prefix: str | None = Field(None, description="Put before the host name.")
    annotations: Texts | None = Field(None, description="Annotations of the Ingress or VirtualService.")
    labels: Texts | None = Field(None, description="Labels of the Ingress or VirtualService.")
    tls: IngressTls | None = Field(None, description="Secret with the certificate of the ingress.")
    host_suffix: str | None = Field(None, description="Domain put after the host name.")
    ingress_controller_class_name: str | None = Field(None, description="Class of the ingress controller.")


Layout: TypeAlias = Literal["intraPod", "interPod"]


class CheckpointIdentity(Identity):
    """Everything that makes two checkpoints interchangeable."""

    model: str = Field(description="Name of the model.")


class Checkpoint(CheckpointPolicy, json_schema_extra=validations(*CHECKPOINT_ALPHA)):
    """Starts the pods of a service from a checkpoint."""

    enabled: bool = Field(False, description="Whether pods start from a checkpoint.")
    identity: CheckpointIdentity | None = Field(None, description="Identity by which a checkpoint is found or created.")


class GmsClientPod(Part):
    """One more pod that uses the GPU memory service."""

    name: ContainerName = Field(description="Name of the pod within the service.")
    pod_template: FreeForm = Field(description="Template of the pod.")


class GpuMemoryService(Part, json_schema_extra=validations(*GMS_ALPHA)):
    """Keeps weights in GPU memory that several engines share."""

    enabled: bool = Field(description="Whether the service runs.")
    mode: Layout = Field("intraPod", description="Whether the sharing engines are in one pod or in several.")
    device_class_name: str = Field("gpu.nvidia.com", description="Device class of the shared GPUs.")
    extra_client_containers: ContainerNames | None = Field(None, description="Further containers that use the service.")
    extra_client_pods: Annotated[list[GmsClientPod], BY_NAME] | None = Field(None, description="Reserved for further pods.")


class Failover(Part):
    """Keeps standby engines that take over when the active one fails."""

    enabled: bool = Field(description="Whether standby engines run.")
    mode: Layout = Field("intraPod", description="Whether they are in the pod of the active engine; as in gpuMemoryService.")
    num_shadows: Annotated[Int32, Field(ge=1)] = Field(1, description="How many standby engines run.")


class VolumeMount(Part):
    """Mounts one of the graph's claims."""

    name: str = Field(description="Name of the claim in the graph's list.")
    mount_point: str | None = Field(None, description="Directory to mount it at; may be left out for a compilation cache.")
    use_as_compilation_cache: bool = Field(False, description="Whether the engine keeps compiled kernels there.")


class ModelReference(Part):
    """A model that the service serves."""

    name: str = Field(description="Name of the model.")
    revision: str | None = Field(None, description="Revision of the model.")


class SharedMemory(Part, json_schema_extra=validations(SHM_SIZE)):
    """The shared memory volume of the pods."""

    disabled: bool | None = Field(None, description="Leaves the volume out.")
    size: Quantity | None = Field(None, description="Size of the volume, such as 16Gi; needed unless the volume is disabled.")


class ExtraPodMetadata(Part):
    """Metadata added to the pods."""

    annotations: Texts | None = Field(None, description="Annotations to add.")
    labels: Texts | None = Field(None, description="Labels to add.")


class Multinode(Part):
    """Spreads each replica over several nodes."""

    node_count: Annotated[Int32, Field(ge=2), REQUIRED_ANYWAY] = Field(2, description="Nodes of a replica.")


class ComponentRole(Role):
    """One role of the pods of a replica that spans several nodes."""

    pod_template: Annotated[PodTemplate, BRIEF, since("1.6")] | None = Field(
        None, description="Template of the role's pods, in place of the component's."
    )


class GraphRole(ComponentRole):
    """One role of the pods of a replica that spans several nodes."""

    provider_override: ProviderOverride | None = Field(
        None, description="Overrides a part of the workload provider's resource for the role."
    )


class ScalingAdapter(Part):
    """Lets a scaling adapter own the number of replicas."""

    enabled: bool = Field(False, description="Whether an adapter is created and owns the replicas.")


class FrontendSidecar(Part):
    """A frontend that runs beside the main container."""

    image: str = Field(description="Image of the sidecar.")
    args: list[str] | None = Field(None, description="Arguments in place of the usual ones.")
    env_from_secret: str | None = Field(None, description="Secret whose keys become environment variables.")
    envs: list[EnvVar] | None = Field(None, description="Further environment variables.")


class ServiceTopology(Part):
    """Domain in which the pods of the service are packed together."""

    pack_domain: Domain = Field(description="Domain of the graph's topology.")


class Component(ComponentParts):
    """One service: what runs, how often, and with which extras."""

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
    multinode: Multinode | None = Field(None, description="Spreads each replica over several nodes.")
    scaling_adapter: ScalingAdapter | None = Field(None, description="Lets a scaling adapter own the number of replicas.")
    epp_config: Picker | None = None
    frontend_sidecar: FrontendSidecar | None = Field(None, description="A frontend beside the main container.")
    checkpoint: Checkpoint | None = Field(None, description="Starts pods from a checkpoint.")
    topology_constraint: ServiceTopology | None = Field(None, description="Where the pods are packed together.")
    gpu_memory_service: GpuMemoryService | None = Field(None, description="Shares GPU memory between engines.")
    failover: Failover | None = Field(None, description="Keeps standby engines ready.")


class GraphComponent(Component, json_schema_extra=validations(*PART_ALPHA)):
    """One service: what runs, how often, and with which extras."""

    provider_override: Annotated[ProviderOverride, since("1.5")] | None = Field(
        None, description="Overrides a part of the workload provider's resource for the component."
    )
    roles: Roles[GraphRole] | None = None
    lpx: Annotated[Lpx, since("1.6")] | None = Field(None, description="Settings of a component of type lpx.")


class ComponentSpec(Component, json_schema_extra=validations(*ALONE_ALPHA)):
    """Desired state of the component."""

    backend_framework: BackendFramework | None = Field(None, description="Inference engine of the component.")
    roles: Roles[ComponentRole] | None = None


class ComponentStatus(Part):
    """Observed state of the component."""

    observed_generation: Int64 | None = Field(None, description="Generation that this status describes.")
    conditions: Conditions
    pod_selector: Texts | None = Field(None, description="Labels of the component's pods.")
    service: ServiceReplicaStatus | None = Field(None, description="Replicas of the component.")


class DynamoComponentDeployment(Part):
    """One component of a graph as an object of its own, usually made by the operator."""

    spec: ComponentSpec | None = Field(None, description="Desired state of the component.")
    status: ComponentStatus | None = Field(None, description="Observed state; written by the operator.")


class VolumeClaim(Part, json_schema_extra=validations(PVC_CREATE)):
    """A persistent volume claim that services can mount."""

    create: bool | None = Field(None, description="Whether the operator creates the claim; otherwise it must exist.")
    name: str = Field(description="Name of the claim.")
    storage_class: str | None = Field(None, description="Storage class of a claim to create.")
    size: Quantity | None = Field(None, description="Size of a claim to create.")
    volume_access_mode: str | None = Field(None, description="Access mode of a claim to create, such as ReadWriteMany.")


class GraphTopology(Part):
    """Topology in which the pods of the graph are packed together."""

    topology_profile: Filled = Field(description="Name of the ClusterTopology that defines the domains.")
    pack_domain: Domain | None = Field(None, description="Domain for the services that name none themselves.")


class GraphSpec(GraphSettings, json_schema_extra=validations(RESTART_ON_CREATE, LPX_RESTART_ALPHA)):
    """Desired state of the graph."""

    pvcs: Annotated[list[VolumeClaim], Field(max_length=100)] | None = Field(None, description="Claims that services can mount by name.")
    services: Annotated[dict[str, GraphComponent], Field(max_length=25)] | None = Field(
        None, description="The services that the graph consists of, by name; each runs in pods of its own."
    )
    envs: list[EnvVar] | None = Field(None, description="Environment variables for every service.")
    topology_constraint: GraphTopology | None = Field(None, description="Where pods are packed together.")


class GraphStatus(GraphProgress):
    """Observed state of the graph."""

    conditions: Conditions | None = None
    services: dict[str, ServiceReplicaStatus] | None = Field(None, description="Replicas by service.")
    checkpoints: dict[str, CheckpointStatus] | None = Field(None, description="Checkpoints by service.")
    rolling_update: RollingUpdateStatus | None = Field(None, description="The rolling update under way.")


class DynamoGraphDeployment(Part):
    """A graph of services that together serve a model."""

    spec: GraphSpec | None = Field(None, description="Desired state of the graph.")
    status: GraphStatus | None = Field(None, description="Observed state; written by the operator.")


class ServiceReference(Part):
    """A service of a graph."""

    name: Filled = Field(description="Name of the graph, in the same namespace.")
    service_name: Filled = Field(description="Name of the service in it.")


class ScalingAdapterSpec(Part):
    """Replicas and the target to scale."""

    replicas: Annotated[Int32, Field(ge=0)] = Field(description="Replicas of the service.")
    dgd_ref: ServiceReference = Field(description="The service that is scaled.")


class ScalingAdapterStatus(Part):
    """Status that autoscalers read."""

    replicas: Int32 | None = Field(None, description="Replicas that exist.")
    selector: str | None = Field(None, description="Label selector of the service's pods.")
    last_scale_time: Time | None = Field(None, description="When the number last changed.")


class DynamoGraphDeploymentScalingAdapter(Part):
    """Lets autoscalers set the replicas of one service of a graph."""

    spec: ScalingAdapterSpec | None = Field(None, description="Replicas and the target to scale.")
    status: ScalingAdapterStatus | None = Field(None, description="Observed state; written by the operator.")
