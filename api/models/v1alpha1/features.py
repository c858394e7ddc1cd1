"""Checkpoints, GPU memory service and failover of a v1alpha1 service."""

from __future__ import annotations

from typing import Annotated, Literal, TypeAlias

from pydantic import ConfigDict, Field

from dynamo_webhooks.api.models.constraints import CHECKPOINT_ALPHA, CHECKPOINT_SINCE_1_5, GMS_ALPHA, validations, validations_by_line
from dynamo_webhooks.api.models.facets import (
    AUTO_BELOW_1_5,
    BY_NAME,
    SINCE_1_5,
    ContainerName,
    ContainerNames,
    FreeForm,
    Int32,
    Part,
    Texts,
)

Layout: TypeAlias = Literal["intraPod", "interPod"]


class CheckpointIdentity(Part):
    """Everything that makes two checkpoints interchangeable."""

    model: str = Field(description="Name of the model.")
    backend_framework: Literal["vllm", "sglang", "trtllm"] = Field(description="Inference engine.")
    dynamo_version: str | None = Field(None, description="Version of Dynamo in the image.")
    tensor_parallel_size: Annotated[Int32, Field(ge=1)] = Field(1, description="GPUs across which each layer is split.")
    pipeline_parallel_size: Annotated[Int32, Field(ge=1)] = Field(1, description="Stages into which the layers are divided.")
    dtype: str | None = Field(None, description="Number format of the weights.")
    max_model_len: Annotated[Int32, Field(ge=1)] | None = Field(None, description="Longest sequence in tokens.")
    extra_parameters: Texts | None = Field(None, description="Anything else that the state of the engine depends on.")


class CheckpointJob(Part):
    """Changes to the job that makes the checkpoint."""

    gms_client_containers: ContainerNames | None = Field(None, description="Containers of the job that use the GPU memory service.")
    pod_template: FreeForm | None = Field(None, description="Overlay of the job's pod template.")


class Checkpoint(Part):
    """Starts the pods of a service from a checkpoint."""

    model_config = ConfigDict(json_schema_extra=validations_by_line(CHECKPOINT_ALPHA, CHECKPOINT_SINCE_1_5))

    enabled: bool = Field(False, description="Whether pods start from a checkpoint.")
    mode: Annotated[Literal["Auto", "Manual"], AUTO_BELOW_1_5] | None = Field(
        None, description="Whether the operator makes a missing checkpoint."
    )
    startup_policy: Annotated[Literal["Immediate", "WaitForCheckpoint"], SINCE_1_5] = Field(
        "Immediate", description="Whether pods start cold while there is no checkpoint yet."
    )
    deletion_policy: Annotated[Literal["Delete", "Retain"], SINCE_1_5] = Field(
        "Delete", description="What becomes of the checkpoint with the component."
    )
    checkpoint_ref: str | None = Field(None, description="Name of an existing DynamoCheckpoint.")
    identity: CheckpointIdentity | None = Field(None, description="What the checkpoint depends on, to find or make one.")
    target_container_name: ContainerName = Field("main", description="Container whose state is kept.")
    job: CheckpointJob | None = Field(None, description="Changes to the job that makes the checkpoint.")


class GmsClientPod(Part):
    """One more pod that uses the GPU memory service."""

    name: ContainerName = Field(description="Name of the pod within the service.")
    pod_template: FreeForm = Field(description="Template of the pod.")


class GpuMemoryService(Part):
    """Keeps weights in GPU memory that several engines share."""

    model_config = ConfigDict(json_schema_extra=validations(*GMS_ALPHA))

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
