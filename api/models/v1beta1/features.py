"""Experimental features of a v1beta1 component: checkpoints, GPU memory service, failover."""

from __future__ import annotations

from typing import Annotated, Literal, TypeAlias

from pydantic import ConfigDict, Field

from ..checkpoint_parts import CheckpointPolicy, Identity
from ..constraints import CHECKPOINT_BETA, GMS_BETA, validations
from ..facets import BY_NAME, ContainerName, ContainerNames, Filled, FreeForm, Int32, Part, since

Layout: TypeAlias = Literal["IntraPod", "InterPod"]


class CheckpointIdentity(Identity):
    """Everything that makes two checkpoints interchangeable."""

    model: Filled = Field(description="Name of the model.")


class Checkpoint(CheckpointPolicy):
    """Starts the pods of a component from a checkpoint; below line 1.5 its presence switches that on."""

    model_config = ConfigDict(json_schema_extra=validations(*CHECKPOINT_BETA))

    enabled: Annotated[bool, since("1.3")] = Field(description="Whether pods start from a checkpoint.")
    identity: CheckpointIdentity | None = Field(None, description="What the checkpoint depends on, to find or make one.")


class GmsClientPod(Part):
    """One more pod that uses the GPU memory service."""

    name: ContainerName = Field(description="Name of the pod within the component.")
    pod_template: FreeForm = Field(description="Template of the pod.")


class GpuMemoryService(Part):
    """Keeps weights in GPU memory that several engines share; its presence switches that on."""

    model_config = ConfigDict(json_schema_extra=validations(*GMS_BETA))

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

    force_scaling_group: bool | None = Field(None, description="Runs even a component of one node a replica in a scaling group of its own.")


class Experimental(Part):
    """Features that may still change or go."""

    gpu_memory_service: GpuMemoryService | None = Field(None, description="Shares GPU memory between engines.")
    failover: Failover | None = Field(None, description="Keeps a standby engine ready.")
    checkpoint: Checkpoint | None = Field(None, description="Starts pods from a checkpoint.")
    grove: Annotated[Grove, since("1.5")] | None = Field(None, description="Settings of a component that Grove runs.")
