"""DynamoGraphDeploymentRequest v1beta2: a search for graphs that suit a workload best.

Only what all known states of its definition refuse is refused, and members that are not known are kept.
"""

from typing import Annotated, Any, Final, Literal, TypeAlias

from pydantic import Field

from ...schema import PRESERVE
from ..base import Part
from ..constraints import REMOTE_CODE, REQUEST_OF_1_7, REQUEST_STATUS, SEARCH_GOAL, SEARCH_RATE, SEARCH_SLA, SEARCH_WORKLOAD, TRACE_SOURCE
from ..constraints import validations as rules
from ..facets import EmbeddedObject, Facets, Filled, FreeForm, Int32, Int64
from ..kubernetes import ConditionsByType


def preserve_unknown(*constraints: Any) -> dict[str, Any]:
    """The schema of an object that keeps unknown members, and has to follow some rules."""
    return {PRESERVE: True, **rules(*constraints)}


Metric: TypeAlias = Literal["throughput", "throughputPerGpu", "throughputPerUser", "e2eLatency", "goodput", "goodputPerGpu"]
_Above: Final = Facets({"minimum": 0, "exclusiveMinimum": True})
Above: TypeAlias = Annotated[float, _Above]
Count: TypeAlias = Annotated[Int32, Field(ge=1)]


class ModelClaim(Part, json_schema_extra=preserve_unknown()):
    """A claim that already holds the model's weights."""

    name: Filled = Field(description="Name of the claim.")
    model_path: Filled = Field(description="Directory of the model in the claim.")
    mount_path: Annotated[str, Field(pattern="^/")] = Field(description="Directory to mount the claim at.")


class ModelCache(Part, json_schema_extra=preserve_unknown()):
    """Place of the model's weights."""

    pvc: ModelClaim | None = Field(None, description="A claim that holds the weights.")


class ModelReference(Part, json_schema_extra=preserve_unknown(REMOTE_CODE)):
    """The model to serve."""

    name: Filled = Field(description="Name of the model.")
    revision: str | None = Field(None, description="Revision of the model.")
    remote_code: Literal["Never", "TrustCacheAndRevision", "AlwaysTrust"] = Field(
        "Never", description="Whether code that comes with the model may run."
    )
    cache: ModelCache | None = Field(None, description="Where the model's weights are.")


class Gpu(Part, json_schema_extra=preserve_unknown()):
    """The GPUs to plan for."""

    sku: Filled = Field(description="Model of GPU, by its name in the simulator.")
    budget: Count = Field(description="GPUs that may be used.")


class Hardware(Part, json_schema_extra=preserve_unknown()):
    """Hardware to plan for."""

    gpu: Gpu | None = Field(None, description="The GPUs to plan for.")


class TraceClaim(Part, json_schema_extra=preserve_unknown()):
    """A file in a claim."""

    claim_name: Filled = Field(description="Name of the claim.")
    path: Filled = Field(description="Path of the file.")


class TraceSource(Part, json_schema_extra=preserve_unknown(TRACE_SOURCE)):
    """Place of a trace."""

    pvc: TraceClaim | None = Field(None, description="A file in a claim.")
    uri: Filled | None = Field(None, description="Address of the trace.")


class Replay(Part, json_schema_extra=preserve_unknown()):
    """Settings for replaying a trace."""

    arrival_speedup_ratio: Annotated[float, _Above] = Field(1, description="Factor of the rate at which requests arrive.")
    concurrency: Count | None = Field(None, description="Concurrent requests.")


class Trace(Part, json_schema_extra=preserve_unknown()):
    """Recorded traffic."""

    format: Filled = Field("mooncake", description="Format of the trace.")
    source: TraceSource = Field(description="Where the trace is.")
    replay: Replay | None = Field(None, description="How the trace is replayed.")


class Static(Part, json_schema_extra=preserve_unknown(SEARCH_RATE)):
    """Even traffic."""

    isl: Count = Field(description="Length of the input in tokens.")
    osl: Count = Field(description="Length of the output in tokens.")
    num_request_ratio: Annotated[float, Field(ge=1), Facets({"minimum": 1})] = Field(description="Requests for each concurrent one.")
    request_rate: Above | None = Field(None, description="Requests per second.")
    concurrency: Count | None = Field(None, description="Concurrent requests.")
    kv_load_ratio: Annotated[list[Above], Field(min_length=1, max_length=2)] | None = Field(None, description="Load of the KV cache.")


class Workload(Part, json_schema_extra=preserve_unknown(SEARCH_WORKLOAD)):
    """Expected traffic: recorded or even."""

    trace: Trace | None = Field(None, description="Recorded traffic.")
    static: Static | None = Field(None, description="Even traffic.")


class Targets(Part, json_schema_extra=preserve_unknown(SEARCH_SLA)):
    """Latencies to be met, in milliseconds."""

    ttft_ms: Above | None = Field(None, description="Time to the first token.")
    itl_ms: Above | None = Field(None, description="Time between tokens.")
    e2e_ms: Above | None = Field(None, description="Time to the end of the answer.")


class Objective(Part, json_schema_extra=preserve_unknown(*SEARCH_GOAL)):
    """Goal of the search."""

    mode: Literal["optimize", "pareto"] = Field(description="The best by one metric, or all that no other beats.")
    metric: Metric | None = Field(None, description="Metric to optimise.")
    metrics: Annotated[list[Metric], Field(min_length=2)] | None = Field(None, description="Metrics to weigh against each other.")
    sla: Targets | None = Field(None, description="Latencies to be met.")


class Budget(Part, json_schema_extra=preserve_unknown()):
    """Limits of the search."""

    max_rounds: Count = Field(description="Rounds at most.")
    parallel_evaluations: Count = Field(description="Evaluations at the same time.")
    candidates_per_round: Count | None = Field(None, description="Candidates in a round.")
    max_evaluation_duration: str | None = Field(None, description="Duration of one evaluation at most.")


class Search(Part, json_schema_extra=preserve_unknown()):
    """Settings of the search."""

    budget: Budget | None = Field(None, description="Limits of the search.")
    parameters: FreeForm | None = Field(None, description="Parameters of the search, in its own form.")


class Recommendation(Part, json_schema_extra=preserve_unknown()):
    """Part of the result that is published."""

    max_candidates: Count = Field(5, description="Candidates at most.")


class Rerun(Part, json_schema_extra=preserve_unknown()):
    """Asks for another run."""

    reason: Filled = Field(description="Why; each new text starts a run.")


class Overrides(Part, json_schema_extra=preserve_unknown()):
    """Changes to what the controller makes."""

    profiling_job: FreeForm | None = Field(None, description="Overlay of the search job.")
    dgd: EmbeddedObject | None = Field(None, description="Overlay of the graph, as an object with apiVersion and kind.")


class RequestSpec(Part, json_schema_extra=preserve_unknown(*REQUEST_OF_1_7)):
    """Desired search."""

    model_ref: ModelReference | None = Field(None, description="The model to serve.")
    backends: Annotated[list[Literal["vllm", "sglang", "trtllm"]], Field(min_length=1)] | None = Field(
        None, description="Inference engines to choose from."
    )
    image: Filled | None = Field(None, description="Image of search and workers.")
    hardware: Hardware | None = Field(None, description="Hardware to plan for.")
    workload: Workload | None = Field(None, description="Expected traffic.")
    objective: Objective | None = Field(None, description="What to search for.")
    search: Search | None = Field(None, description="How to search.")
    recommendation: Recommendation | None = Field(None, description="Part of the result that is published.")
    rerun: Rerun | None = Field(None, description="Asks for another run.")
    overrides: Overrides | None = Field(None, description="Changes to the search job and to the graphs that it finds.")
    v1beta1: FreeForm | None = Field(
        None, description="The spec of a request that was written as v1beta1; only that version may change it."
    )


class RunReference(Part, json_schema_extra=preserve_unknown()):
    """A run of the same namespace."""

    name: str | None = Field(None, description="Name of the run.")


class RequestStatus(Part, json_schema_extra=preserve_unknown(REQUEST_STATUS)):
    """Progress of the search."""

    observed_generation: Int64 | None = Field(None, description="Generation that this status describes.")
    active_run_ref: RunReference | None = Field(None, description="The run under way.")
    recent_run_refs: list[RunReference] | None = Field(None, description="Earlier runs.")
    conditions: ConditionsByType | None = None
    v1beta1: FreeForm | None = Field(None, description="The status of a request that was written as v1beta1.")


class DynamoGraphDeploymentRequest(Part):
    """Asks for a search of graphs that suit a workload best, each published as a candidate."""

    spec: RequestSpec | None = Field(None, description="What should be searched for.")
    status: RequestStatus | None = Field(None, description="How far the search has come; written by the operator.")
