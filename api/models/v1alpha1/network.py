"""Resources, scaling and ingress of a v1alpha1 service: the parts that v1beta1 expresses otherwise or no longer has."""

from __future__ import annotations

from pydantic import Field

from ..facets import Part, Texts
from ..kubernetes import MetricSpec, ResourceClaim, ScalingBehaviour


class ResourceItem(Part):
    """Amounts of the usual resources; all of them texts."""

    cpu: str | None = Field(None, description="Processor time, such as 2 or 500m.")
    memory: str | None = Field(None, description="Memory, such as 16Gi.")
    gpu: str | None = Field(None, description="Number of GPUs as text, such as '8'.")
    gpu_type: str | None = Field(None, description="Resource name under which the GPUs are counted.")
    custom: Texts | None = Field(None, description="Amounts of other resources by name.")


class Resources(Part):
    """What the main container asks for and may use."""

    requests: ResourceItem | None = Field(None, description="What is reserved for the container.")
    limits: ResourceItem | None = Field(None, description="What the container may use at most.")
    claims: list[ResourceClaim] | None = Field(None, description="Claims of the pod that the container uses.")


class Autoscaling(Part):
    """Deprecated and ignored settings of an autoscaler."""

    enabled: bool | None = Field(None, description="Whether to scale; ignored.")
    min_replicas: int | None = Field(None, description="Fewest replicas; ignored.")
    max_replicas: int | None = Field(None, description="Most replicas; ignored.")
    behavior: ScalingBehaviour | None = Field(None, description="How fast to scale; ignored.")
    metrics: list[MetricSpec] | None = Field(None, description="What to scale by; ignored.")


class IngressTls(Part):
    """Where the certificate of the ingress lies."""

    secret_name: str | None = Field(None, description="Secret with the certificate.")


class Ingress(Part):
    """How a service is reached from outside the cluster."""

    enabled: bool | None = Field(None, description="Whether the service is reached from outside at all.")
    host: str | None = Field(None, description="Host name without prefix and suffix.")
    use_virtual_service: bool | None = Field(None, description="Makes an Istio VirtualService in place of an Ingress.")
    virtual_service_gateway: str | None = Field(None, description="Gateway of the VirtualService.")
    host_prefix: str | None = Field(None, description="Put before the host name.")
    annotations: Texts | None = Field(None, description="Annotations of the Ingress or VirtualService.")
    labels: Texts | None = Field(None, description="Labels of the Ingress or VirtualService.")
    tls: IngressTls | None = Field(None, description="Where the certificate of the ingress lies.")
    host_suffix: str | None = Field(None, description="Domain put after the host name.")
    ingress_controller_class_name: str | None = Field(None, description="Class of the ingress controller.")
