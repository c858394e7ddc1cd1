"""DynamoGraphDeploymentRequest v1alpha1: profiling first, then a graph that meets the targets."""

from typing import Annotated, Final, Literal

from pydantic import Field

from ..base import Part
from ..constraints import REQUEST_MODEL_ALPHA, validations
from ..facets import REQUIRED_ANYWAY, EmbeddedObject, Envelope, FreeForm, Int64, Texts, VersionOverride, required_below
from ..kubernetes import Conditions, ResourceRequirements, Toleration
from ..parts import GraphState


class ProfilingConfigMap(Part):
    """A key of a config map with the profiler's base configuration."""

    name: str = Field(description="Name of the config map.")
    key: str = Field("disagg.yaml", description="Key of the config map that holds the configuration.")


class ProfilingConfig(Part):
    """Settings of profiling."""

    config: FreeForm | None = Field(None, description="The profiler's own configuration.")
    config_map_ref: ProfilingConfigMap | None = Field(None, description="Base configuration of the graph to profile.")
    profiler_image: str = Field(description="Image of the profiler.")
    output_pvc: str | None = Field(None, alias="outputPVC", description="Claim that the results are written to.")
    resources: ResourceRequirements | None = Field(None, description="Resources of the profiling job.")
    tolerations: list[Toleration] | None = Field(None, description="Taints that the profiling job tolerates.")
    node_selector: Texts | None = Field(None, description="Labels of the nodes that profile.")


class DeploymentOverrides(Part):
    """Metadata of the graph that is made automatically."""

    name: str | None = Field(None, description="Name of the graph.")
    namespace: str | None = Field(None, description="Namespace of the graph.")
    labels: Texts | None = Field(None, description="Labels of the graph.")
    annotations: Texts | None = Field(None, description="Annotations of the graph.")
    workers_image: str | None = Field(None, description="Image of the workers.")


_REQUIRED: Final = ("model", "backend", "profilingConfig")


class RequestSpec(Part, json_schema_extra=required_below("1.7", validations(REQUEST_MODEL_ALPHA), *_REQUIRED)):
    """Desired profiling and deployment."""

    model: str | None = Field(None, description="Model to serve.")
    backend: Literal["auto", "vllm", "sglang", "trtllm"] | None = Field(
        None, description="Inference engine; auto lets the profiler choose."
    )
    use_mocker: bool = Field(False, description="Deploys a simulation that needs no GPU.")
    profiling_config: ProfilingConfig | None = Field(None, description="How profiling runs.")
    enable_gpu_discovery: bool = Field(True, description="Whether the cluster's GPUs are looked up.")
    runtime_version_override: VersionOverride | None = None
    auto_apply: bool = Field(False, description="Whether the graph found is deployed at once.")
    deployment_overrides: DeploymentOverrides | None = Field(None, description="Metadata of a graph deployed at once.")
    v1beta2: Envelope | None = None


class DeploymentStatus(Part):
    """The graph that was deployed at once."""

    name: str | None = Field(None, description="Name of the graph.")
    namespace: str | None = Field(None, description="Namespace of the graph.")
    state: Annotated[GraphState, REQUIRED_ANYWAY] = Field("initializing", description="State of the graph.")
    created: bool | None = Field(None, description="Whether it has been made.")


class RequestStatus(Part):
    """Progress of the request."""

    state: Annotated[
        Literal["Initializing", "Pending", "Profiling", "Deploying", "Ready", "DeploymentDeleted", "Failed"], REQUIRED_ANYWAY
    ] = Field("Initializing", description="State of the request.")
    backend: str | None = Field(None, description="Inference engine that was chosen.")
    observed_generation: Int64 | None = Field(None, description="Generation that this status describes.")
    conditions: Conditions | None = None
    profiling_results: str | None = Field(None, description="Location of the results.")
    generated_deployment: EmbeddedObject | None = Field(None, description="The graph that was found.")
    deployment: DeploymentStatus | None = Field(None, description="The graph that was deployed at once.")
    v1beta2: Envelope | None = None


class DynamoGraphDeploymentRequest(Part):
    """Asks for a graph that serves a model within given targets. Deprecated: use v1beta1."""

    spec: RequestSpec | None = Field(None, description="What should be profiled and deployed.")
    status: RequestStatus | None = Field(None, description="Observed state; written by the operator.")
