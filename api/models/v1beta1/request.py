"""DynamoGraphDeploymentRequest v1beta1: a model and targets in, a graph out."""

from typing import Annotated, Final, Literal, TypeAlias, get_args

from pydantic import Field

from ..base import Part
from ..constraints import REQUEST_MODEL, validations
from ..facets import TWICE, EmbeddedObject, Envelope, Filled, FreeForm, Int32, Int64, VersionOverride, below, required_below, since
from ..kubernetes import ConditionsByType, JobSpec

GpuSku: TypeAlias = Literal[
    "gb200",
    "gb200_sxm",
    "gb10",
    "b300_sxm",
    "b200_sxm",
    "h200_sxm",
    "h100_sxm",
    "h100_pcie",
    "a100_sxm",
    "a100_pcie",
    "a30",
    "l40s",
    "l40",
    "l4",
    "v100_sxm",
    "v100_pcie",
    "t4",
    "mi200",
    "mi300",
]
# below line 1.6; line 1.5 may have them already
_SKUS: Final = [sku for sku in get_args(GpuSku) if sku not in ("gb200", "b300_sxm")]
ProfilingPhase: TypeAlias = Literal[
    "Initializing", "SweepingPrefill", "SweepingDecode", "SelectingConfig", "BuildingCurves", "GeneratingDGD", "Done"
]


class ModelCache(Part):
    """A claim that already holds the model's weights."""

    pvc_name: str | None = Field(None, description="Name of the claim.")
    pvc_model_path: str | None = Field(None, description="Directory of the model in the claim.")
    pvc_mount_path: str = Field("/opt/model-cache", description="Directory to mount the claim at.")


class Hardware(Part):
    """GPUs for profiling and deployment; omitted values are read from the cluster."""

    gpu_sku: Annotated[GpuSku, TWICE, below("1.6", allOf=[{"enum": _SKUS}] * 2)] | None = Field(
        None, description="Model of GPU; only nodes that have it are considered."
    )
    vram_mb: float | None = Field(None, description="Memory of one GPU in MiB.")
    total_gpus: Int32 | None = Field(None, description="GPUs that may be used.")
    num_gpus_per_node: Int32 | None = Field(None, description="GPUs in a node.")
    interconnect: str | None = Field(None, description="What links the GPUs of a node.")
    rdma: bool | None = Field(None, description="Whether nodes reach each other's memory directly.")


class Workload(Part):
    """Expected traffic."""

    isl: Int32 = Field(4000, description="Length of the input in tokens.")
    osl: Int32 = Field(1000, description="Length of the output in tokens.")
    concurrency: float | None = Field(None, description="Concurrent requests.")
    request_rate: float | None = Field(None, description="Requests per second.")


class Targets(Part):
    """Latencies to be met, in milliseconds, or a direction to optimise in."""

    ttft: float | None = Field(None, description="Time to the first token, in milliseconds.")
    itl: float | None = Field(None, description="Time between tokens, in milliseconds.")
    e2e_latency: float | None = Field(None, description="Time to the end of the answer, in milliseconds.")
    optimization_type: Literal["latency", "throughput"] | None = Field(None, description="What to favour when no latency is given.")


class Overrides(Part):
    """Changes to what the controller makes."""

    profiling_job: JobSpec | None = Field(None, description="Overlay of the profiling job.")
    dgd: EmbeddedObject | None = Field(None, description="Overlay of the graph, as an object with apiVersion and kind.")
    # line 1.5 may have it already
    trust_remote_code: Annotated[bool, since("1.6")] = Field(False, description="Whether code that comes with a model may run.")


class Mocker(Part):
    """A simulated backend that needs no GPU."""

    enabled: bool | None = Field(None, description="Whether it is deployed in place of an engine.")


class KvRouter(Part):
    """Routing by the content of caches."""

    enabled: bool | None = Field(None, description="Whether requests are routed so.")


class Features(Part):
    """Optional parts of the graph."""

    planner: FreeForm | None = Field(None, description="Settings of the planner, in its own form.")
    mocker: Mocker | None = Field(None, description="A simulated backend.")
    kv_router: Annotated[KvRouter, since("1.6")] | None = Field(None, description="Routing by the content of caches.")


class RequestSpec(Part, json_schema_extra=required_below("1.7", validations(REQUEST_MODEL), "model")):
    """Desired profiling and deployment."""

    model: Filled | None = Field(None, description="Model to serve.")
    backend: Annotated[Literal["auto", "sglang", "trtllm", "vllm"], TWICE, below("1.7", default="auto")] | None = Field(
        None, description="Inference engine; auto lets the profiler choose."
    )
    image: str | None = Field(None, description="Image of profiler and workers.")
    model_cache: ModelCache | None = Field(None, description="A claim that holds the weights.")
    hardware: Hardware | None = Field(None, description="GPUs for profiling and deployment; omitted values are read from the cluster.")
    workload: Workload | None = Field(None, description="Expected traffic.")
    sla: Targets | None = Field(None, description="Target latencies, or what to optimise.")
    overrides: Overrides | None = Field(None, description="Changes to the profiling job and to the generated graph.")
    features: Features | None = Field(None, description="Optional parts of the graph: a planner, or a simulated backend.")
    search_strategy: Annotated[Literal["rapid", "thorough"], TWICE, below("1.7", default="rapid")] | None = Field(
        None, description="Search strategy of the profiler."
    )
    runtime_version_override: VersionOverride | None = None
    auto_apply: Annotated[bool, below("1.7", default=True)] | None = Field(None, description="Whether the graph found is deployed at once.")
    v1beta2: Envelope | None = None


class ParetoConfig(Part):
    """One configuration that no other beats in every respect."""

    config: FreeForm | None = Field(None, description="The configuration, in the profiler's own form.")


class ProfilingResults(Part):
    """Results of profiling."""

    pareto: list[ParetoConfig] | None = Field(None, description="Configurations to choose from.")
    selected_config: FreeForm | None = Field(None, description="The configuration that was chosen, in the profiler's own form.")


class DeploymentInfo(Part):
    """The deployed graph in short."""

    replicas: Int32 | None = Field(None, description="Replicas wanted.")
    available_replicas: Int32 | None = Field(None, description="Replicas available.")


class RequestStatus(Part):
    """Progress of the request."""

    phase: Literal["Pending", "Profiling", "Ready", "Deploying", "Deployed", "Failed"] | None = Field(
        None,
        description=(
            "Pending before the profiling Job, Profiling during it, Ready with a graph to apply, "
            "Deploying and Deployed with one applied, Failed as conditions say."
        ),
    )
    profiling_phase: ProfilingPhase | None = Field(None, description="Step of the profiling under way.")
    dgd_name: str | None = Field(None, description="Name of the graph.")
    profiling_job_name: str | None = Field(None, description="Name of the profiling job.")
    conditions: ConditionsByType | None = None
    profiling_results: ProfilingResults | None = Field(None, description="What profiling found.")
    deployment_info: DeploymentInfo | None = Field(None, description="The deployed graph in short.")
    observed_generation: Int64 | None = Field(None, description="Generation that this status describes.")
    v1beta2: Envelope | None = None


class DynamoGraphDeploymentRequest(Part):
    """Asks for a graph that serves a model within given targets; only the model must be named."""

    spec: RequestSpec | None = Field(None, description="What should be profiled and deployed.")
    status: RequestStatus | None = Field(None, description="Observed state; written by the operator.")
