"""Version v1beta1 of a graph of components, of one component on its own, and of the replicas of one for autoscalers."""

from typing import Annotated, Final, Literal, TypeAlias

from pydantic import Field

from ..base import Part
from ..constraints import (
    ALONE_BETA,
    CHECKPOINT_BETA,
    EPP_ONE_SOURCE,
    GMS_BETA,
    LPX_RESTART_BETA,
    ONE_EPP,
    PART_BETA,
    RESTART_ON_CREATE,
    UNIQUE_NAMES,
    validations,
)
from ..facets import (
    BRIEF,
    BY_NAME,
    COMPONENT_PATTERN,
    ContainerName,
    ContainerNames,
    Domain,
    Facets,
    Filled,
    FreeForm,
    Int32,
    Int64,
    Quantity,
    Time,
    below,
    since,
)
from ..kubernetes import ComponentPodTemplate, ConditionsByType, EnvVar
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


class ComponentReplicaStatus(Replicas):
    """What runs for one component."""

    component_names: list[str] | None = Field(None, description="Names of all resources that run the component, two during an update.")


class RollingUpdateStatus(RollingUpdateProgress):
    """Progress of a rolling update run by the operator."""

    updated_components: list[str] | None = Field(None, description="Components that already run the new spec.")


Layout: TypeAlias = Literal["IntraPod", "InterPod"]


class CheckpointIdentity(Identity):
    """Everything that makes two checkpoints interchangeable."""

    model: Filled = Field(description="Name of the model.")


class Checkpoint(CheckpointPolicy, json_schema_extra=validations(*CHECKPOINT_BETA)):
    """Starts the pods of a component from a checkpoint; below line 1.5 its presence switches that on."""

    enabled: Annotated[bool, since("1.3")] = Field(description="Whether pods start from a checkpoint.")
    identity: CheckpointIdentity | None = Field(None, description="Identity by which a checkpoint is found or created.")


class GmsClientPod(Part):
    """One more pod that uses the GPU memory service."""

    name: ContainerName = Field(description="Name of the pod within the component.")
    pod_template: FreeForm = Field(description="Template of the pod.")


class GpuMemoryService(Part, json_schema_extra=validations(*GMS_BETA)):
    """Keeps weights in GPU memory that several engines share; its presence switches that on."""

    mode: Layout = Field("IntraPod", description="Whether the sharing engines are in one pod or in several.")
    device_class_name: str = Field("gpu.nvidia.com", description="Device class of the shared GPUs.")
    extra_client_containers: ContainerNames | None = Field(None, description="Further containers that use the service.")
    extra_client_pods: Annotated[list[GmsClientPod], BY_NAME] | None = Field(None, description="Reserved for further pods.")


class Failover(Part):
    """Keeps a standby engine that takes over when the active one fails; its presence switches that on."""

    mode: Layout = Field("IntraPod", description="Whether it is in the pod of the active engine; as in gpuMemoryService.")
    num_shadows: Annotated[Int32, Field(ge=1, le=1)] = Field(1, description="How many standby engines run; only one is possible.")


class Grove(Part):
    """Settings of a component that Grove runs."""

    force_scaling_group: bool | None = Field(None, description="Runs a single-node component in its own scaling group, too.")


class Experimental(Part):
    """Experimental features, which may change or be removed."""

    gpu_memory_service: GpuMemoryService | None = Field(None, description="Shares GPU memory between engines.")
    failover: Failover | None = Field(None, description="Keeps a standby engine ready.")
    checkpoint: Checkpoint | None = Field(None, description="Starts pods from a checkpoint.")
    grove: Annotated[Grove, since("1.5")] | None = Field(None, description="Settings of a component that Grove runs.")


_TYPES: Final = ["frontend", "worker", "prefill", "decode", "planner", "epp"]  # below line 1.6
ComponentName: TypeAlias = Annotated[str, Field(pattern=COMPONENT_PATTERN, min_length=1, max_length=63)]


class ModelReference(Part):
    """A model that the component serves."""

    name: Filled = Field(description="Name of the model.")
    revision: str | None = Field(None, description="Revision of the model.")


class Multinode(Part):
    """Spreads each replica over several nodes."""

    node_count: Annotated[Int32, Field(ge=2)] = Field(2, description="Nodes of a replica.")


class ComponentRole(Role):
    """One role of the pods of a replica that spans several nodes."""

    pod_template: Annotated[ComponentPodTemplate, BRIEF, since("1.6")] | None = Field(
        None, description="Template of the role's pods, in place of the component's."
    )


class GraphRole(ComponentRole):
    """One role of the pods of a replica that spans several nodes."""

    provider_override: ProviderOverride | None = Field(
        None, description="Overrides a part of the workload provider's resource for the role."
    )


class ScalingAdapter(Part):
    """Hands the number of replicas to a scaling adapter; has no settings, its presence switches that on."""


class EndpointPicker(Picker, json_schema_extra=validations(EPP_ONE_SOURCE)):
    """Settings of an endpoint picker, the component that chooses a worker for each request."""


class CompilationCache(Part):
    """A claim in which the engine keeps compiled kernels."""

    pvc_name: Filled = Field(description="Name of the claim.")
    mount_path: str | None = Field(None, description="Directory to mount it at; the engine's usual one when left out.")


class ComponentTopology(Part):
    """Domain in which the pods of the component are packed together."""

    pack_domain: Domain = Field(description="Domain of the graph's topology.")


class ComponentSettings(ComponentParts):
    """Settings that a component in a graph and one on its own have in common, but for the name."""

    type: Annotated[Literal["frontend", "worker", "prefill", "decode", "planner", "epp", "lpx"], below("1.6", enum=_TYPES)] | None = Field(
        None, description="Role in the graph, which decides the defaults of its pods."
    )
    global_dynamo_namespace: bool | None = Field(None, description="Puts the component into the namespace that all graphs share.")
    pod_template: ComponentPodTemplate | None = Field(None, description="Template of the pods; the container main runs the component.")
    multinode: Multinode | None = Field(None, description="Spreads each replica over several nodes.")
    shared_memory_size: Quantity | None = Field(None, description="Size of the shared memory volume; zero leaves it out.")
    model_ref: ModelReference | None = Field(None, description="Model that the component serves, for endpoint discovery.")
    scaling_adapter: ScalingAdapter | None = Field(None, description="Lets a scaling adapter own the number of replicas.")
    epp_config: EndpointPicker | None = None
    frontend_sidecar: str | None = Field(None, description="Name of the container that runs a frontend beside the main one.")
    compilation_cache: CompilationCache | None = Field(None, description="A claim for compiled kernels.")
    topology_constraint: ComponentTopology | None = Field(None, description="Where the pods are packed together.")
    experimental: Experimental | None = Field(None, description="Experimental features, which may change or be removed.")


class Component(ComponentSettings, json_schema_extra=validations(*PART_BETA)):
    """One component: what runs, how often, and with which extras."""

    name: ComponentName = Field(description="Name of the component, unique in the graph.")
    provider_override: Annotated[ProviderOverride, since("1.5")] | None = Field(
        None, description="Overrides a part of the workload provider's resource for the component."
    )
    roles: Roles[GraphRole] | None = None
    lpx: Annotated[Lpx, since("1.6")] | None = Field(None, description="Settings of a component of type lpx.")


class ComponentSpec(ComponentSettings, json_schema_extra=validations(*ALONE_BETA)):
    """Desired state of the component."""

    # Recorded answers of the API server accept a component on its own without a name.
    name: ComponentName | None = Field(None, description="Name of the component in its graph.")
    backend_framework: BackendFramework | None = Field(None, description="Inference engine of the component.")
    roles: Roles[ComponentRole] | None = None


class ComponentStatus(Part):
    """Observed state of the component."""

    observed_generation: Int64 | None = Field(None, description="Generation that this status describes.")
    conditions: ConditionsByType | None = None
    component: ComponentReplicaStatus | None = Field(None, description="Replicas of the component.")


class DynamoComponentDeployment(Part):
    """One component of a graph as an object of its own, usually made by the operator."""

    spec: ComponentSpec | None = Field(None, description="Desired state of the component.")
    status: ComponentStatus | None = Field(None, description="Observed state; written by the operator.")


class GraphTopology(Part):
    """Topology in which the pods of the graph are packed together."""

    cluster_topology_name: Filled = Field(description="Name of the ClusterTopology that defines the domains.")
    pack_domain: Domain | None = Field(None, description="Domain for the components that name none themselves.")


class GraphSpec(GraphSettings, json_schema_extra=validations(RESTART_ON_CREATE, LPX_RESTART_BETA)):
    """Desired state of the graph."""

    components: Annotated[list[Component], Field(max_length=25), BY_NAME, Facets(validations(ONE_EPP, UNIQUE_NAMES))] | None = Field(
        None, description="The components that the graph consists of, each with a name and pods of its own."
    )
    env: list[EnvVar] | None = Field(None, description="Environment variables for every component.")
    topology_constraint: GraphTopology | None = Field(None, description="Where pods are packed together.")


class GraphStatus(GraphProgress):
    """Observed state of the graph."""

    conditions: ConditionsByType | None = None
    components: dict[str, ComponentReplicaStatus] | None = Field(None, description="Replicas by component.")
    checkpoints: dict[str, CheckpointStatus] | None = Field(None, description="Checkpoints by component.")
    rolling_update: RollingUpdateStatus | None = Field(None, description="The rolling update under way.")


class DynamoGraphDeployment(Part):
    """A graph of components that together serve a model."""

    spec: GraphSpec | None = Field(None, description="Desired state of the graph.")
    status: GraphStatus | None = Field(None, description="Observed state; written by the operator.")


class ComponentReference(Part):
    """A component of a graph."""

    name: Filled = Field(description="Name of the graph, in the same namespace.")
    component_name: Filled = Field(description="Name of the component in it.")


class ScalingAdapterSpec(Part):
    """Replicas and the target to scale."""

    replicas: Annotated[Int32, Field(ge=0)] = Field(description="Replicas of the component.")
    dgd_ref: ComponentReference = Field(description="The component that is scaled.")


class ScalingAdapterStatus(Part):
    """Status that autoscalers read."""

    replicas: Int32 = Field(description="Replicas that exist.")
    selector: str | None = Field(None, description="Label selector of the component's pods.")
    last_scale_time: Time | None = Field(None, description="When the number last changed.")


class DynamoGraphDeploymentScalingAdapter(Part):
    """Lets autoscalers set the replicas of one component of a graph."""

    spec: ScalingAdapterSpec | None = Field(None, description="Replicas and the target to scale.")
    status: ScalingAdapterStatus | None = Field(None, description="Observed state; written by the operator.")
