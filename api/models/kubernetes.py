"""Kubernetes' own types as our objects embed them. The schemas of all but Condition lie in `api/kubernetes`, referred to by name."""

from typing import Annotated, Any, Final, Literal, TypeAlias

from pydantic import Field

from ..schema import BELOW
from .base import Part
from .constraints import INIT_IMAGE, POD_EXECUTOR, SIDECAR_IMAGE, Constraint, validations
from .facets import BY_TYPE, EMBEDDED, Int64, Time, reference_kubernetes_type

_CORE: Final = "io.k8s.api.core.v1."
_META: Final = "io.k8s.apimachinery.pkg.apis.meta.v1."
_SCALING: Final = "io.k8s.api.autoscaling.v2."
_Object: TypeAlias = dict[str, Any]

EnvVar: TypeAlias = Annotated[_Object, reference_kubernetes_type(_CORE + "EnvVar")]
Probe: TypeAlias = Annotated[_Object, reference_kubernetes_type(_CORE + "Probe")]
ResourceClaim: TypeAlias = Annotated[_Object, reference_kubernetes_type(_CORE + "ResourceClaim")]
ResourceRequirements: TypeAlias = Annotated[_Object, reference_kubernetes_type(_CORE + "ResourceRequirements")]
Toleration: TypeAlias = Annotated[_Object, reference_kubernetes_type(_CORE + "Toleration")]
PodTemplate: TypeAlias = Annotated[_Object, reference_kubernetes_type(_CORE + "PodTemplateSpec")]
ConfigMapKey: TypeAlias = Annotated[_Object, reference_kubernetes_type(_CORE + "ConfigMapKeySelector")]
JobSpec: TypeAlias = Annotated[_Object, reference_kubernetes_type("io.k8s.api.batch.v1.JobSpec")]
ScalingBehaviour: TypeAlias = Annotated[_Object, reference_kubernetes_type(_SCALING + "HorizontalPodAutoscalerBehavior")]
MetricSpec: TypeAlias = Annotated[_Object, reference_kubernetes_type(_SCALING + "MetricSpec")]


def _containers(rule: Constraint) -> _Object:
    """A list of containers, each held to a rule."""
    each = {EMBEDDED: _CORE + "Container", **validations(rule)}
    return {"type": "array", "items": each, "x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": ["name"]}


_ANNOTATIONS: Final[_Object] = {
    "type": "object",
    "additionalProperties": {"type": "string", "maxLength": 262144, BELOW: {"1.4": {"maxLength": None}}},
    **validations(POD_EXECUTOR),
}
# The template of a component's pods, held to more than other templates.
ComponentPodTemplate: TypeAlias = Annotated[
    _Object,
    reference_kubernetes_type(
        _CORE + "PodTemplateSpec",
        properties={
            "metadata": {EMBEDDED: _META + "ObjectMeta", "properties": {"annotations": _ANNOTATIONS}},
            "spec": {
                EMBEDDED: _CORE + "PodSpec",
                "properties": {"containers": _containers(SIDECAR_IMAGE), "initContainers": _containers(INIT_IMAGE)},
            },
        },
        **{BELOW: {"1.4": {"properties": None}}},
    ),
]
# A pod spec in which nothing is required, with one more member: the overlay of the container that runs the component.
ExtraPodSpec: TypeAlias = Annotated[
    _Object,
    reference_kubernetes_type(
        _CORE + "PodSpec",
        required=[],
        properties={
            "mainContainer": {
                EMBEDDED: _CORE + "Container",
                "required": [],
                "description": "Overlay of the container that runs the component; it needs no name.",
            }
        },
    ),
]

_TYPE_PATTERN: Final = r"^([a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*/)?(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])$"


class Condition(Part):
    """One aspect of the object's state, in the usual form of Kubernetes."""

    last_transition_time: Time = Field(description="When the status last changed.")
    message: Annotated[str, Field(max_length=32768)] = Field(description="Details for people; may be empty.")
    observed_generation: Annotated[Int64, Field(ge=0)] | None = Field(None, description="Generation of the object that this was seen on.")
    reason: Annotated[str, Field(min_length=1, max_length=1024, pattern="^[A-Za-z]([A-Za-z0-9_,:]*[A-Za-z0-9_])?$")] = Field(
        description="One word in CamelCase that gives the reason of the status."
    )
    status: Literal["True", "False", "Unknown"] = Field(description="Whether the condition holds.")
    type: Annotated[str, Field(max_length=316, pattern=_TYPE_PATTERN)] = Field(description="Which condition this is.")


Conditions: TypeAlias = Annotated[
    list[Condition], Field(description="Aspects of the state, one condition each, in the usual form of Kubernetes.")
]
ConditionsByType: TypeAlias = Annotated[Conditions, BY_TYPE]
