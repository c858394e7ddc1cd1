"""Sections of the file about opt-in features (controllers, adapters of models, Secrets), and about services that pods connect to."""

from typing import Annotated, Final, TypeAlias

from .section import Automatic, Label, Labels, Name, Switch, Text, key, one_of, section, span_of, whole_number

AUTO: Final = "auto"  # controllers.*
ON: Final = "on"
OFF: Final = "off"
NONE: Final = "none"  # secrets.pull
LABELLED: Final = "labelled"
ALL: Final = "all"
SHARED: Final = "shared"  # secrets.mpiKeys
PER_GRAPH: Final = "perGraph"
_Controller: TypeAlias = Annotated[str, one_of(AUTO, ON, OFF)]


@section
class Controllers:
    """Which kinds are reconciled beside graphs, components and scaling adapters."""

    models: _Controller = key(default=AUTO, text="reconcile DynamoModels; `auto`: where the account has the permissions")
    checkpoints: _Controller = key(default=AUTO, text="reconcile DynamoCheckpoints; `auto`: where the account has the permissions")
    requests: _Controller = key(default=AUTO, text="the same for DynamoGraphDeploymentRequests")


@section
class Secrets:
    """Which Secrets of graphs' namespaces are read and made; each needs a permission that the default roles lack."""

    pull: Annotated[str, one_of(NONE, LABELLED, ALL)] = key(
        default=NONE,
        text='pull secrets that pods get by the registries of their images: `labelled`: `webhooks.nvidia.com/pull-secret: "true"`',
    )
    namespaces: Labels = key(default=(), text="namespaces of these pull secrets; default: `namespace.restricted` or `namespace.allowed`")
    mpi_keys: Annotated[str, one_of(SHARED, PER_GRAPH)] = key(
        default=SHARED, text="SSH keys of MPI: `shared` copies `mpi.sshSecretName`, `perGraph` gives each graph a pair of its own"
    )

    @property
    def key_per_graph(self) -> bool:
        """Whether each graph has SSH keys of its own."""
        return self.mpi_keys == PER_GRAPH


@section
class Models:
    """Settings for reconciling DynamoModels."""

    concurrency: Annotated[int, whole_number(1, 512)] = key(default=64, text="calls to worker pods at a time, of all models together")
    per_model: Annotated[int, whole_number(1, 512)] = key(default=32, text="the same for one model, while others wait")
    connect_timeout: Annotated[float, span_of(0.1, 60)] = key(default=3.0, text="time to connect to a worker pod")
    load_timeout: Annotated[float, span_of(1, 3600)] = key(default=300.0, text="time to load an adapter on one pod")
    unload_timeout: Annotated[float, span_of(1, 3600)] = key(
        default=60.0, text="time to unload an adapter on one pod, and from all pods when its model is deleted"
    )
    verify_timeout: Annotated[float, span_of(0.1, 60)] = key(default=5.0, text="time to answer which adapters are loaded")
    verify_interval: Annotated[float, span_of(10)] = key(default=600.0, text="time between two checks of loaded adapters")
    any_slice: Switch = key(default=False, text="also use EndpointSlices that the EndpointSlice controller did not write")
    base_ready: Annotated[str, one_of("current", "legacy")] = key(
        default="current", text="`legacy`: ready endpoints of base models are counted as 0, as the Go operator does"
    )


@section
class Requests:
    """Settings for reconciling DynamoGraphDeploymentRequests."""

    copier_image: Text = key(
        default="",
        text="image of this project for the container that keeps a profiler's result; empty: that of the reconciler",
    )
    deadline: Annotated[float, span_of(60, 30 * 86_400)] = key(default=86_400.0, text="time that a profiling Job may take")
    write_hardware: Switch = key(default=False, text="write discovered GPUs into `spec.hardware`, as the Go operator does")


@section
class Infrastructure:
    """Addresses that pods get."""

    nats_address: Text = key(default="", text="address of NATS")
    etcd_address: Text = key(default="", text="address of etcd")
    model_express_url: Text = key(default="", text="URL of ModelExpress", name="modelExpressURL")
    prometheus_endpoint: Text = key(default="", text="URL of Prometheus, for planners")


@section
class Ingress:
    """Settings by which frontends are reached from outside."""

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
