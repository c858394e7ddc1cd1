"""Checkpoints, GPU memory service and failover of a v1alpha1 service."""

from __future__ import annotations

from typing import Annotated, Literal, TypeAlias

from pydantic import ConfigDict, Field

from ..checkpoint_parts import CheckpointPolicy, Identity
from ..constraints import CHECKPOINT_ALPHA, GMS_ALPHA, validations
from ..facets import BY_NAME, ContainerName, ContainerNames, FreeForm, Int32, Part

Layout: TypeAlias = Literal["intraPod", "interPod"]


class CheckpointIdentity(Identity):
    """Everything that makes two checkpoints interchangeable."""

    model: str = Field(description="Name of the model.")


class Checkpoint(CheckpointPolicy):
    """Starts the pods of a service from a checkpoint."""

    model_config = ConfigDict(json_schema_extra=validations(*CHECKPOINT_ALPHA))

    enabled: bool = Field(False, description="Whether pods start from a checkpoint.")
    identity: CheckpointIdentity | None = Field(None, description="What the checkpoint depends on, to find or make one.")


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
