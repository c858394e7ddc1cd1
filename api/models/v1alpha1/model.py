"""DynamoModel, a model served by pods that are found by name, and DynamoWorkerMetadata, what a worker publishes for discovery."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field

from ..facets import FreeForm, Part, since
from ..kubernetes import Conditions


class ModelSource(Part):
    """Where a model is loaded from."""

    uri: str = Field(description="Address of the model, such as s3://bucket/path or hf://owner/name.")


class ModelSpec(Part):
    """Which model is meant."""

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
    """Where the model is served."""

    endpoints: list[Endpoint] | None = Field(None, description="Pods that serve the base model.")
    ready_endpoints: int = Field(description="How many endpoints are ready.")
    total_endpoints: int = Field(description="How many endpoints there are, ready or not.")
    lora_fallback_covered_endpoints: Annotated[int, since("1.4")] | None = Field(
        None, description="How many endpoints fall back to the base model."
    )
    conditions: Conditions | None = Field(None, description="Aspects of the state, one condition each, in the usual form of Kubernetes.")


class DynamoModel(Part):
    """A model, and where it is served."""

    spec: ModelSpec | None = Field(None, description="Which model is meant.")
    status: ModelStatus | None = Field(None, description="What was seen; written by the operator.")


class WorkerMetadataSpec(Part):
    """What the worker publishes."""

    data: FreeForm = Field(description="Endpoints and capabilities, in the runtime's own form.")


class DynamoWorkerMetadata(Part):
    """What one worker publishes for discovery; written by the worker itself."""

    spec: WorkerMetadataSpec | None = Field(None, description="What the worker publishes.")
