"""DynamoWorkerMetadata v1alpha1: what a worker publishes for discovery."""

from __future__ import annotations

from pydantic import Field

from ..facets import FreeForm, Part


class WorkerMetadataSpec(Part):
    """What the worker publishes."""

    data: FreeForm = Field(description="Endpoints and capabilities, in the runtime's own form.")


class DynamoWorkerMetadata(Part):
    """What one worker publishes for discovery; written by the worker itself."""

    spec: WorkerMetadataSpec | None = Field(None, description="What the worker publishes.")
