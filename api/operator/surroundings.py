"""Sections on what pods connect to: infrastructure, ingress, mesh, MPI."""

from typing import Annotated

from .section import key, section
from .values import Automatic, Label, Name, Switch, Text, one_of


@section
class Infrastructure:
    """Addresses that pods get."""

    nats_address: Text = key(default="", text="address of NATS")
    etcd_address: Text = key(default="", text="address of etcd")
    model_express_url: Text = key(default="", text="URL of ModelExpress", name="modelExpressURL")
    prometheus_endpoint: Text = key(default="", text="URL of Prometheus, for planners")


@section
class Ingress:
    """How frontends are reached from outside."""

    virtual_service_gateway: Text = key(default="", text="Istio gateway; if set, VirtualServices are created instead of Ingresses")
    controller_class_name: Text = key(default="", text="class of Ingresses")
    controller_tls_secret_name: Name = key(default="", text="TLS Secret of Ingresses", name="controllerTLSSecretName")
    host_suffix: Text = key(default="", text="domain suffix of hosts")


@section
class Istio:
    """TLS of the DestinationRule of an endpoint picker."""

    tls_mode: Annotated[str, one_of("DISABLE", "SIMPLE", "ISTIO_MUTUAL", "MUTUAL")] = key(default="SIMPLE", text="mode of TLS")
    insecure_skip_verify: Switch = key(default=True, text="do not verify the picker's certificate")
    client_certificate: Text = key(default="", text="path in the sidecar; required for `MUTUAL`")
    private_key: Text = key(default="", text="path in the sidecar; required for `MUTUAL`")
    ca_certificates: Text = key(default="", text="path in the sidecar, for `MUTUAL`")


@section
class ServiceMesh:
    """The mesh that pods run in."""

    enabled: Automatic = key(default=None, text="false: no mesh, whatever the provider; true has no effect")
    provider: Text = key(default="", text="only `istio` has an effect")
    istio: Istio = Istio()

    @property
    def active(self) -> Istio | None:
        """The settings of Istio; None without it."""
        return self.istio if self.provider == "istio" and self.enabled is not False else None


@section
class Mpi:
    """The SSH key of MPI launchers; both keys are required."""

    ssh_secret_name: Name = key(default="", text="Secret of the key; created if missing")
    ssh_secret_namespace: Label = key(default="", text="namespace from which the Secret is copied")
