"""Sections on what pods connect to: infrastructure, ingress, mesh, MPI."""

from __future__ import annotations

from typing import Annotated

from pydantic import Field

from dynamo_webhooks.api.operator.section import Section
from dynamo_webhooks.api.operator.values import Automatic, Label, Name, Switch, Text, one_of


class Infrastructure(Section):
    """Addresses that pods get."""

    nats_address: Text = Field(default="", description="address of NATS")
    etcd_address: Text = Field(default="", description="address of etcd")
    model_express_url: Text = Field(default="", alias="modelExpressURL", description="URL of ModelExpress")
    prometheus_endpoint: Text = Field(default="", description="URL of Prometheus, for planners")


class Ingress(Section):
    """How frontends are reached from outside."""

    virtual_service_gateway: Text = Field(default="", description="Istio gateway; if set, VirtualServices are created instead of Ingresses")
    controller_class_name: Text = Field(default="", description="class of Ingresses")
    controller_tls_secret_name: Name = Field(default="", alias="controllerTLSSecretName", description="TLS Secret of Ingresses")
    host_suffix: Text = Field(default="", description="domain suffix of hosts")


class Istio(Section):
    """TLS of the DestinationRule of an endpoint picker."""

    tls_mode: Annotated[str, one_of("DISABLE", "SIMPLE", "ISTIO_MUTUAL", "MUTUAL")] = Field(default="SIMPLE", description="mode of TLS")
    insecure_skip_verify: Switch = Field(default=True, description="do not verify the picker's certificate")
    client_certificate: Text = Field(default="", description="path in the sidecar; required for `MUTUAL`")
    private_key: Text = Field(default="", description="path in the sidecar; required for `MUTUAL`")
    ca_certificates: Text = Field(default="", description="path in the sidecar, for `MUTUAL`")


class ServiceMesh(Section):
    """The mesh that pods run in."""

    enabled: Automatic = Field(default=None, description="false: no mesh, whatever the provider; true has no effect")
    provider: Text = Field(default="", description="only `istio` has an effect")
    istio: Istio | None = Field(default=None, description="defaults apply if the provider is `istio`")


class Mpi(Section):
    """The SSH key of MPI launchers; both keys are required."""

    ssh_secret_name: Name = Field(default="", description="Secret of the key; created if missing")
    ssh_secret_namespace: Label = Field(default="", description="namespace from which the Secret is copied")
