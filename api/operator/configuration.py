"""The whole OperatorConfiguration, and the look-up of a key in it by its path."""

from typing import Annotated, Any, Final

from ..line import Line, decide_line
from .controllers import Controllers, Infrastructure, Ingress, Models, Mpi, Requests, Secrets, ServiceMesh
from .features import Checkpoint, Discovery, Dra, FeatureGates, Gpu, Lpx, Orchestrators, Security
from .scope import LeaderElection, Namespace, Operator, Rbac
from .section import Key, key, keys_of, one_of, section
from .server import Certificates, Logging, Reconciler, Server, Serving

API_VERSION: Final = "operator.config.dynamo.nvidia.com/v1alpha1"
KIND: Final = "OperatorConfiguration"
# sections of this project; the Go operator ignores them
OWN: Final = ("certificates", "controllers", "featureGates", "models", "operator", "reconciler", "requests", "secrets", "serving")


@section
class OperatorConfiguration:
    """One file; every key has a default."""

    api_version: Annotated[str, one_of(API_VERSION)] = key(default=API_VERSION, text="version of this file's format")
    kind: Annotated[str, one_of(KIND)] = key(default=KIND, text="kind of the file")
    server: Server = Server()
    leader_election: LeaderElection = LeaderElection()
    namespace: Namespace = Namespace()
    orchestrators: Orchestrators = Orchestrators()
    dra: Dra = Dra()
    infrastructure: Infrastructure = Infrastructure()
    ingress: Ingress = Ingress()
    service_mesh: ServiceMesh = ServiceMesh()
    rbac: Rbac = Rbac()
    mpi: Mpi = Mpi()
    checkpoint: Checkpoint = Checkpoint()
    lpx: Lpx = Lpx()
    discovery: Discovery = Discovery()
    gpu: Gpu = Gpu()
    logging: Logging = Logging()
    security: Security = Security()
    operator: Operator = Operator()
    serving: Serving = Serving()
    reconciler: Reconciler = Reconciler()
    certificates: Certificates = Certificates()
    feature_gates: FeatureGates = FeatureGates()
    controllers: Controllers = Controllers()
    models: Models = Models()
    secrets: Secrets = Secrets()
    requests: Requests = Requests()

    @property
    def gms_snapshot(self) -> bool:
        """Whether the GPU memory service is allowed together with snapshots; since line 1.4 there is no such gate."""
        return self.feature_gates.gms_snapshot or decide_line(self.operator.version) >= Line.V1_4

    @property
    def switches(self) -> dict[str, bool | None]:
        """Features that the cluster offers, by names of facts; None for one that is to be detected."""
        return {"grove": self.orchestrators.grove.enabled, "lws": self.orchestrators.lws.enabled, "dra": self.dra.enabled}

    @property
    def switched_off(self) -> frozenset[str]:
        """Which of them the configuration disables."""
        return frozenset(name for name, switch in self.switches.items() if switch is False)

    @property
    def pull_secret_namespaces(self) -> tuple[str, ...]:
        """The namespaces whose pull secrets are read."""
        own = [self.namespace.restricted] if self.namespace.restricted else self.namespace.allowed
        return tuple(sorted(self.secrets.namespaces or own))

    @property
    def leader_namespace(self) -> str:
        """The namespace of the reconcilers' Lease."""
        return self.leader_election.namespace or self.operator.namespace


def leaves(declared: type[Any] = OperatorConfiguration, above: tuple[str, ...] = ()) -> list[tuple[tuple[str, ...], Key]]:
    """Every single value of the file with its path, in the order of declarations."""
    entries = []
    for name, each in keys_of(declared).items():
        entries += leaves(each.inner, (*above, name)) if each.inner is not None else [((*above, name), each)]
    return entries
