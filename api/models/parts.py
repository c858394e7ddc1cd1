"""Parts that read the same in both versions: of graphs and components, of checkpoints, and the configuration of the endpoint picker."""

from typing import Annotated, Literal, TypeAlias, TypeVar

from pydantic import Field

from ..schema import PRESERVE
from .base import Part
from .constraints import KVT, KVT_PREFIX_LENGTH, LOCAL_PARTITIONS, validations
from .facets import (
    AS_SET,
    BY_NAME,
    LABEL_KEY_PATTERN,
    REQUIRED_ANYWAY,
    Anything,
    ContainerName,
    ContainerNames,
    Domain,
    Facets,
    Filled,
    Float32,
    FreeForm,
    Int32,
    Int64,
    Texts,
    Time,
    VersionOverride,
    below,
    since,
)
from .kubernetes import ConfigMapKey

BackendFramework: TypeAlias = Literal["sglang", "vllm", "trtllm"]
GraphState: TypeAlias = Literal["initializing", "pending", "successful", "failed"]
ResourceKind: TypeAlias = Literal["PodClique", "PodCliqueScalingGroup", "Deployment", "LeaderWorkerSet"]


class Plugin(Part):
    """A plugin that the picker loads."""

    name: str | None = Field(None, description="Name by which profiles refer to the plugin; its type when left out.")
    type: str = Field(description="Which implementation to load.")
    parameters: Anything = Field(None, description="Settings of the plugin, in its own form; of any type.")


class ProfilePlugin(Part):
    """A plugin's place in a scheduling profile."""

    plugin_ref: str = Field(description="Name of a plugin in the list of plugins.")
    weight: int | None = Field(None, description="How much a scoring plugin counts.")


class SchedulingProfile(Part):
    """A named way of choosing an endpoint."""

    name: str = Field(description="Name of the profile.")
    plugins: list[ProfilePlugin] = Field(description="Plugins that take part in it.")


class SaturationDetector(Part):
    """Settings that decide when an endpoint counts as saturated."""

    queue_depth_threshold: int | None = Field(None, description="Waiting requests above which an endpoint is saturated.")
    kv_cache_util_threshold: float | None = Field(None, description="Share of the KV cache, 0 to 1, above which it is saturated.")
    metrics_staleness_threshold: str | None = Field(None, description="Age from which its metrics are ignored, such as 200ms.")


class PickerConfig(Part, extra="allow", json_schema_extra={PRESERVE: True}):
    """The picker's own configuration; members that are not listed here are kept as they are."""

    api_version: str | None = Field(None, description="API version of the configuration.")
    kind: str | None = Field(None, description="Kind of the configuration.")
    plugins: list[Plugin] = Field(description="Plugins to load.")
    scheduling_profiles: list[SchedulingProfile] = Field(description="Profiles that use them.")
    feature_gates: list[str] | None = Field(None, description="Features of the picker to switch on.")
    saturation_detector: SaturationDetector | None = Field(None, description="Limits above which an endpoint counts as saturated.")


class ProviderOverride(Part):
    """Changes one resource of the workload provider, such as Grove's PodCliqueSet, before it is applied."""

    api_version: Filled = Field(description="API version of value.")
    target: str | None = Field(None, description="Type of the resource; the default depends on the position.")
    value: FreeForm = Field(description="The part of the resource to override.")


class Placement(Part):
    """Quality of the placement of the graph's pods, as its workload provider reports it."""

    state: Literal["Reported", "Partial", "Unsupported", "Unknown"] | None = Field(None, description="Whether there is a score.")
    score: Annotated[float, Field(le=1)] | None = Field(None, description="Score of the placement; 1 is best.")


class RestartStrategy(Part):
    """Order in which components restart."""

    type: Literal["Sequential", "Parallel"] = Field("Sequential", description="One after the other, or all at once.")
    order: list[str] | None = Field(None, description="Names in the order in which they restart; used by Sequential.")


class Restart(Part):
    """Asks for a restart of the whole graph."""

    id: Filled = Field(description="Any string; changing it starts a restart.")
    strategy: RestartStrategy | None = Field(None, description="Order in which components restart.")


class RestartStatus(Part):
    """Progress of the last restart."""

    observed_id: str | None = Field(None, alias="observedID", description="The id of that restart.")
    phase: str | None = Field(None, description="Phase of the restart.")
    in_progress: list[str] | None = Field(None, description="Components that are restarting now.")


class KvTransferPolicy(Part, json_schema_extra=validations(*KVT)):
    """Keeps transfers of the KV cache between prefill and decode workers inside a topology domain."""

    label_key: (
        Annotated[str, Field(pattern=LABEL_KEY_PATTERN, min_length=1, max_length=317), Facets(validations(KVT_PREFIX_LENGTH))] | None
    ) = Field(None, description="Node label whose value is the domain of a worker.")
    cluster_topology_name: Annotated[Filled, since("1.3")] | None = Field(
        None, description="Cluster topology with the level that domain names, instead of a label."
    )
    domain: Domain = Field(description="Level of the topology, such as rack or zone.")
    enforcement: Literal["required", "preferred"] = Field("required", description="Whether the domain is required or only preferred.")
    preferred_weight: Annotated[Float32, Field(ge=0, le=1)] | None = Field(
        None, description="Weight of the preference, 0 to 1; only if enforcement is preferred."
    )


class GraphExperimental(Part):
    """Features of a whole graph that may still change or go."""

    kv_transfer_policy: KvTransferPolicy | None = Field(None, description="Where KV caches may be transferred to.")


class CheckpointStatus(Part):
    """The checkpoint that one component uses."""

    checkpoint_name: str | None = Field(None, description="Name of the DynamoCheckpoint.")
    identity_hash: str | None = Field(None, description="Hash of what the checkpoint depends on.")
    checkpoint_id: Annotated[str, since("1.3")] | None = Field(
        None, alias="checkpointID", description="Identifier of the checkpoint's data."
    )
    ready: bool | None = Field(None, description="Whether it can be restored from.")


class RollingUpdateProgress(Part):
    """Progress of a rolling update run by the operator."""

    phase: Literal["Pending", "InProgress", "Completed", "Failed", ""] | None = Field(None, description="Phase of the update.")
    start_time: Time | None = Field(None, description="When it began.")
    end_time: Time | None = Field(None, description="When it ended.")


class GraphSettings(Part):
    """Desired state of the graph."""

    annotations: Texts | None = Field(None, description="Annotations for every resource made for the graph.")
    labels: Texts | None = Field(None, description="Labels for every resource made for the graph.")
    priority_class_name: str | None = Field(None, description="Priority class of the graph's pods.")
    backend_framework: BackendFramework | None = Field(None, description="Inference engine of the graph's workers.")
    restart: Restart | None = Field(None, description="Requests a restart of the graph.")
    provider_override: Annotated[ProviderOverride, since("1.5")] | None = Field(
        None, description="Overrides a part of the workload provider's resource for the graph."
    )
    experimental: GraphExperimental | None = Field(None, description="Experimental features, which may change or be removed.")


class GraphProgress(Part):
    """Observed state of the graph."""

    observed_generation: Int64 | None = Field(None, description="Generation that this status describes.")
    state: Annotated[GraphState, REQUIRED_ANYWAY] = Field("initializing", description="State of the deployment.")
    restart: RestartStatus | None = Field(None, description="Progress of the last requested restart.")
    placement: Annotated[Placement, since("1.4")] | None = Field(None, description="How well the graph's pods are placed.")


class Replicas(Part):
    """Numbers of replicas."""

    component_kind: ResourceKind = Field(description="Kind of the resource that runs the pods.")
    replicas: Annotated[Int32, Field(ge=0)] = Field(description="Replicas that exist.")
    updated_replicas: Annotated[Int32, Field(ge=0)] = Field(description="Replicas that run the current spec.")
    ready_replicas: Annotated[Int32, Field(ge=0)] | None = Field(None, description="Replicas that are ready.")
    scheduled_replicas: Annotated[Int32, since("1.4")] | None = Field(None, description="Replicas whose pods are scheduled.")
    runtime_namespace: Annotated[str, since("1.4")] | None = Field(None, description="Dynamo namespace that the pods registered in.")
    available_replicas: Annotated[Int32, Field(ge=0)] | None = Field(None, description="Replicas that have been ready for long enough.")
    # planners of 1.5 read the counts; the others are inferred for single components
    gpus_per_engine: Annotated[Int64, Field(ge=0), since("1.5")] | None = Field(None, description="GPUs of an engine.")
    gpus_per_replica: Annotated[Int64, Field(ge=0), since("1.5")] | None = Field(None, description="GPUs of a replica.")
    gpu_power_limit_watts: Annotated[Int64, Field(ge=1), since("1.6")] | None = Field(None, description="Power limit of a GPU.")
    runtime_component_name: Annotated[str, since("1.6")] | None = Field(None, description="Dynamo component that the pods registered.")
    served_model_name: Annotated[str, since("1.6")] | None = Field(None, description="Model name in requests.")


class Role(Part):
    """One role of the pods of a replica that spans several nodes."""

    name: ContainerName = Field(description="Name of the role: leader or worker; of type lpx agent or conductor.")
    replicas: Annotated[Int32, Field(ge=1), since("1.6")] | None = Field(None, description="Pods of the role in a replica.")


_Role = TypeVar("_Role", bound=Role)
Roles: TypeAlias = Annotated[
    list[_Role],
    Field(max_length=2, description="Roles of a replica on several nodes: list all or none."),
    below("1.6", maxItems=None),
    BY_NAME,
    since("1.5"),
]


class LocalPartitions(Part, json_schema_extra=validations(LOCAL_PARTITIONS)):
    """Which partitions of the local nodes are used."""

    mode: Literal["All", "IDs"] = Field(description="Whether all are used, or those named by ids.")
    ids: Annotated[list[Annotated[Int64, Field(ge=0, le=4294967295)]], Field(min_length=1), AS_SET] | None = Field(
        None, description="Numbers of the partitions; only with the mode IDs."
    )


class LpxExperimental(Part):
    """Experimental settings, which may change or be removed."""

    local_partitions: LocalPartitions | None = Field(None, description="Which partitions of the local nodes are used.")


class LpxScheduling(Part):
    """Scheduling of pods."""

    attempt_deadline_seconds: Annotated[Int64, Field(ge=1, le=9223372036)] | None = Field(
        None, description="Seconds after which an attempt ends."
    )


class Lpx(Part):
    """Settings of a component of type lpx."""

    build_id: Filled = Field(description="Which build of the model is loaded.")
    scheduling: LpxScheduling | None = Field(None, description="How pods are scheduled.")
    experimental: LpxExperimental | None = Field(None, description="Experimental settings, which may change or be removed.")


class ComponentParts(Part):
    """Number of replicas that run, and their version."""

    replicas: Annotated[Int32, Field(ge=0)] | None = Field(None, description="How many replicas run.")
    min_available: Annotated[Int32, Field(ge=1), since("1.3")] | None = Field(
        None, description="Replicas below which the component counts as failed."
    )
    runtime_version_override: VersionOverride | None = None


class Picker(Part):
    """Settings of an endpoint picker, the component that chooses a worker for each request."""

    config_map_ref: ConfigMapKey | None = Field(None, description="Key of a config map that holds the configuration.")
    config: PickerConfig | None = Field(None, description="The configuration itself, in place of a config map.")


class Identity(Part):
    """Everything that makes two checkpoints interchangeable, but for the model."""

    backend_framework: Literal["vllm", "sglang", "trtllm"] = Field(description="Inference engine.")
    dynamo_version: str | None = Field(None, description="Version of Dynamo in the image.")
    tensor_parallel_size: Annotated[Int32, Field(ge=1)] = Field(1, description="GPUs across which each layer is split.")
    pipeline_parallel_size: Annotated[Int32, Field(ge=1)] = Field(1, description="Stages into which the layers are divided.")
    dtype: str | None = Field(None, description="Number format of the weights.")
    max_model_len: Annotated[Int32, Field(ge=1)] | None = Field(None, description="Longest sequence in tokens.")
    extra_parameters: Texts | None = Field(None, description="Other settings that the engine's state depends on.")


class CheckpointJob(Part):
    """Changes to the job that makes the checkpoint."""

    gms_client_containers: ContainerNames | None = Field(None, description="Containers of the job that use the GPU memory service.")
    pod_template: FreeForm | None = Field(None, description="Overlay of the job's pod template.")


class CheckpointPolicy(Part):
    """Which checkpoint is used, and how."""

    mode: Annotated[Literal["Auto", "Manual"], below("1.3", default="Auto")] | None = Field(
        None, description="Whether the operator creates a missing checkpoint."
    )
    startup_policy: Annotated[Literal["Immediate", "WaitForCheckpoint"], since("1.3")] = Field(
        "Immediate", description="Whether pods start cold or wait until the checkpoint exists."
    )
    deletion_policy: Annotated[Literal["Delete", "Retain"], since("1.3")] = Field(
        "Delete", description="Whether the checkpoint is deleted with the component."
    )
    checkpoint_ref: str | None = Field(None, description="Name of an existing DynamoCheckpoint.")
    target_container_name: ContainerName = Field("main", description="Container whose state is saved.")
    job: CheckpointJob | None = Field(None, description="Changes to the job that makes the checkpoint.")
