"""DynamoCheckpoint v1alpha1: the kept state of a warm container."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import ConfigDict, Field

from ..constraints import CKPT_IDENTITY_IMMUTABLE, validations
from ..facets import ContainerName, Int32, Int64, Part, Time, since
from ..kubernetes import Conditions, PodTemplate
from .component import CheckpointIdentity, GpuMemoryService, SharedMemory


class CheckpointJobSpec(Part):
    """The job that makes the checkpoint."""

    pod_template_spec: PodTemplate = Field(description="Template of the job's pod.")
    target_container_name: ContainerName = Field("main", description="Container whose state is kept.")
    shared_memory: SharedMemory | None = Field(None, description="The shared memory volume of the pod.")
    active_deadline_seconds: Annotated[Int64, Field(ge=1)] = Field(3600, description="Seconds after which the job is given up.")
    backoff_limit: Annotated[Int32, Field(ge=0)] | None = Field(None, description="Deprecated and ignored.")
    ttl_seconds_after_finished: Annotated[Int32, Field(ge=0)] | None = Field(None, description="Deprecated and ignored.")


class CheckpointSpec(Part):
    """What is kept and how."""

    identity: CheckpointIdentity = Field(description="What the checkpoint depends on.")
    gpu_memory_service: GpuMemoryService | None = Field(None, description="Shares GPU memory between containers of the job.")
    job: CheckpointJobSpec = Field(description="The job that makes the checkpoint.")


class CheckpointStatus(Part):
    """How far the checkpoint has come."""

    phase: Literal["Pending", "Creating", "Ready", "Failed"] | None = Field(None, description="Where the checkpoint stands.")
    identity_hash: str | None = Field(None, description="Hash of the identity.")
    checkpoint_id: Annotated[str, since("1.4")] | None = Field(
        None, alias="checkpointID", description="Identifier of the checkpoint's data."
    )
    pod_snapshot_name: Annotated[str, since("1.4")] | None = Field(None, description="Name of the snapshot of the pod.")
    location: str | None = Field(None, description="Deprecated: where the checkpoint lies.")
    storage_type: Literal["pvc", "s3", "oci"] | None = Field(None, description="Deprecated: kind of storage it lies in.")
    job_name: str | None = Field(None, description="Name of the job that makes it.")
    created_at: Time | None = Field(None, description="When it became ready.")
    message: str | None = Field(None, description="Details for people.")
    conditions: Conditions | None = Field(None, description="Aspects of the state, one condition each, in the usual form of Kubernetes.")


class DynamoCheckpoint(Part):
    """A checkpoint of a container, from which pods start warm."""

    model_config = ConfigDict(json_schema_extra=validations(CKPT_IDENTITY_IMMUTABLE))

    spec: CheckpointSpec | None = Field(None, description="What is kept and how.")
    status: CheckpointStatus | None = Field(None, description="What was seen; written by the operator.")
