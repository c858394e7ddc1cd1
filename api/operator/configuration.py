"""The whole OperatorConfiguration, and the look-up of a key in it by its path."""

from __future__ import annotations

from typing import Annotated, Any, Final, get_args

from pydantic import Field
from pydantic.fields import FieldInfo

from dynamo_webhooks.api.operator.certificates import Certificates
from dynamo_webhooks.api.operator.controllers import Controllers, Models, Requests, Secrets
from dynamo_webhooks.api.operator.features import Checkpoint, Discovery, Dra, FeatureGates, Gpu, Orchestrators, Security
from dynamo_webhooks.api.operator.scope import LeaderElection, Namespace, Operator, Rbac
from dynamo_webhooks.api.operator.section import Section
from dynamo_webhooks.api.operator.server import Logging, Reconciler, Server, Serving
from dynamo_webhooks.api.operator.surroundings import Infrastructure, Ingress, Mpi, ServiceMesh
from dynamo_webhooks.api.operator.values import Allowed, one_of

API_VERSION: Final = "operator.config.dynamo.nvidia.com/v1alpha1"
KIND: Final = "OperatorConfiguration"
# sections of ours: the Go operator passes over them
OWN: Final = ("certificates", "controllers", "featureGates", "models", "operator", "reconciler", "requests", "secrets", "serving")


class OperatorConfiguration(Section):
    """One file; every key has a default."""

    api_version: Annotated[str, one_of(API_VERSION)] = Field(default=API_VERSION, description="version of this file's format")
    kind: Annotated[str, one_of(KIND)] = Field(default=KIND, description="kind of the file")
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


def section_of(annotation: Any) -> type[Section] | None:
    """The section that a field holds; None for a single value."""
    for candidate in (annotation, *get_args(annotation)):
        if isinstance(candidate, type) and issubclass(candidate, Section):
            return candidate
    return None


def fields_of(section: type[Section]) -> dict[str, FieldInfo]:
    """The keys of a section as the file writes them."""
    return {field.alias or name: field for name, field in section.model_fields.items()}


def known_keys(path: tuple[str | int, ...]) -> tuple[str, ...]:
    """The keys that may stand at a path; none below a single value."""
    section: type[Section] | None = OperatorConfiguration
    for part in path:
        field = fields_of(section).get(str(part)) if section is not None else None
        section = section_of(field.annotation) if field is not None else None
    return tuple(fields_of(section)) if section is not None else ()


def allowed_at(path: tuple[str | int, ...]) -> str:
    """What a value at a known path must be, as the end of a sentence."""
    section: type[Section] | None = OperatorConfiguration
    text = "a mapping"
    for part in path:
        if section is None:
            break
        field = fields_of(section)[str(part)]
        section = section_of(field.annotation)
        text = "a mapping" if section is not None else next(item.text for item in field.metadata if isinstance(item, Allowed))
    return text


def leaves(section: type[Section] = OperatorConfiguration, above: tuple[str, ...] = ()) -> list[tuple[tuple[str, ...], FieldInfo]]:
    """Every single value of the file with its path, in the order of the models."""
    found = []
    for key, field in fields_of(section).items():
        inner = section_of(field.annotation)
        found += leaves(inner, (*above, key)) if inner is not None else [((*above, key), field)]
    return found
