"""The kinds that v1alpha1 alone has: kept states of warm containers, models served by pods, and what workers publish for discovery."""

from typing import Annotated, Literal

from pydantic import Field

from ..base import Part
from ..constraints import CKPT_IDENTITY_IMMUTABLE, validations
from ..facets import ContainerName, FreeForm, Int32, Int64, Time, since
from ..kubernetes import Conditions, PodTemplate
from .component import CheckpointIdentity, GpuMemoryService, SharedMemory


class CheckpointJobSpec(Part):
    """The job that makes the checkpoint."""

    pod_template_spec: PodTemplate = Field(description="Template of the job's pod.")
    target_container_name: ContainerName = Field("main", description="Container whose state is saved.")
    shared_memory: SharedMemory | None = Field(None, description="The shared memory volume of the pod.")
    active_deadline_seconds: Annotated[Int64, Field(ge=1)] = Field(3600, description="Seconds after which the job is given up.")
    backoff_limit: Annotated[Int32, Field(ge=0)] | None = Field(None, description="Deprecated and ignored.")
    ttl_seconds_after_finished: Annotated[Int32, Field(ge=0)] | None = Field(None, description="Deprecated and ignored.")


class CheckpointSpec(Part):
    """Checkpoint to save, and how to save it."""

    identity: CheckpointIdentity = Field(description="What the checkpoint depends on.")
    gpu_memory_service: GpuMemoryService | None = Field(None, description="Shares GPU memory between containers of the job.")
    job: CheckpointJobSpec = Field(description="The job that makes the checkpoint.")


class CheckpointStatus(Part):
    """Progress of the checkpoint."""

    phase: Literal["Pending", "Creating", "Ready", "Failed"] | None = Field(None, description="Phase of the checkpoint.")
    identity_hash: str | None = Field(None, description="Hash of the identity.")
    checkpoint_id: Annotated[str, since("1.4")] | None = Field(
        None, alias="checkpointID", description="Identifier of the checkpoint's data."
    )
    pod_snapshot_name: Annotated[str, since("1.4")] | None = Field(None, description="Name of the snapshot of the pod.")
    location: str | None = Field(None, description="Deprecated: location of the checkpoint.")
    storage_type: Literal["pvc", "s3", "oci"] | None = Field(None, description="Deprecated: storage type of the checkpoint.")
    job_name: str | None = Field(None, description="Name of the job that makes it.")
    created_at: Time | None = Field(None, description="When it became ready.")
    message: str | None = Field(None, description="Details for people.")
    conditions: Conditions | None = None


class DynamoCheckpoint(Part, json_schema_extra=validations(CKPT_IDENTITY_IMMUTABLE)):
    """A checkpoint of a container, from which pods start warm."""

    spec: CheckpointSpec | None = Field(None, description="What to save, and how.")
    status: CheckpointStatus | None = Field(None, description="Observed state; written by the operator.")


class ModelSource(Part):
    """Source that a model is loaded from."""

    uri: str = Field(description="Address of the model, such as s3://bucket/path or hf://owner/name.")


class ModelSpec(Part):
    """Model, and where it is loaded from."""

    model_name: str = Field(description="Full name of the model.")
    base_model_name: str = Field(description="Name of the base model, by which the serving pods are found.")
    model_type: Literal["base", "lora", "adapter"] = Field("base", description="Whether this is a base model or an addition to one.")
    source: ModelSource | None = Field(None, description="Where the model is loaded from; only for additions.")


class Endpoint(Part):
    """One pod that serves the model."""

    address: str = Field(description="Address of the pod.")
    pod_name: str | None = Field(None, description="Name of the pod.")
    ready: bool = Field(description="Whether the model is loaded there.")
    lora_fallback_covered: Annotated[bool, since("1.4")] | None = Field(
        None, description="Whether requests for it fall back to the base model there."
    )


class ModelStatus(Part):
    """Endpoints that serve the model."""

    endpoints: list[Endpoint] | None = Field(None, description="Pods that serve the base model.")
    ready_endpoints: int = Field(description="How many endpoints are ready.")
    total_endpoints: int = Field(description="How many endpoints there are, ready or not.")
    lora_fallback_covered_endpoints: Annotated[int, since("1.4")] | None = Field(
        None, description="How many endpoints fall back to the base model."
    )
    conditions: Conditions | None = None


class DynamoModel(Part):
    """A model, and where it is served."""

    spec: ModelSpec | None = Field(None, description="Model, and where it is loaded from.")
    status: ModelStatus | None = Field(None, description="Observed state; written by the operator.")


class WorkerMetadataSpec(Part):
    """Data that the worker publishes."""

    data: FreeForm = Field(description="Endpoints and capabilities, in the runtime's own form.")


class DynamoWorkerMetadata(Part):
    """What one worker publishes for discovery; written by the worker itself."""

    spec: WorkerMetadataSpec | None = Field(None, description="What the worker publishes.")
