"""DynamoGraphDeploymentScalingAdapter v1beta1: the replicas of one component, for autoscalers."""

from __future__ import annotations

from typing import Annotated

from pydantic import Field

from ..facets import Filled, Int32, Part, Time


class ComponentReference(Part):
    """A component of a graph."""

    name: Filled = Field(description="Name of the graph, in the same namespace.")
    component_name: Filled = Field(description="Name of the component in it.")


class ScalingAdapterSpec(Part):
    """How many replicas are wanted, and of what."""

    replicas: Annotated[Int32, Field(ge=0)] = Field(description="Replicas of the component.")
    dgd_ref: ComponentReference = Field(description="The component that is scaled.")


class ScalingAdapterStatus(Part):
    """What autoscalers read."""

    replicas: Int32 = Field(description="Replicas that exist.")
    selector: str | None = Field(None, description="Label selector of the component's pods.")
    last_scale_time: Time | None = Field(None, description="When the number last changed.")


class DynamoGraphDeploymentScalingAdapter(Part):
    """Lets autoscalers set the replicas of one component of a graph."""

    spec: ScalingAdapterSpec | None = Field(None, description="How many replicas are wanted, and of what.")
    status: ScalingAdapterStatus | None = Field(None, description="What was seen; written by the operator.")
