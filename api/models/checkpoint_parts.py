"""Parts of checkpoints that read the same in both versions."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field

from .facets import ContainerName, ContainerNames, FreeForm, Int32, Part, Texts, below, since


class Identity(Part):
    """Everything that makes two checkpoints interchangeable, but for the model."""

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


class CheckpointPolicy(Part):
    """Which checkpoint is used, and how."""

    mode: Annotated[Literal["Auto", "Manual"], below("1.3", default="Auto")] | None = Field(
        None, description="Whether the operator makes a missing checkpoint."
    )
    startup_policy: Annotated[Literal["Immediate", "WaitForCheckpoint"], since("1.3")] = Field(
        "Immediate", description="Whether pods start cold while there is no checkpoint yet."
    )
    deletion_policy: Annotated[Literal["Delete", "Retain"], since("1.3")] = Field(
        "Delete", description="What becomes of the checkpoint with the component."
    )
    checkpoint_ref: str | None = Field(None, description="Name of an existing DynamoCheckpoint.")
    target_container_name: ContainerName = Field("main", description="Container whose state is kept.")
    job: CheckpointJob | None = Field(None, description="Changes to the job that makes the checkpoint.")
