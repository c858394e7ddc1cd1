"""Sections of the file about what is opted into: controllers of kinds beside graphs, adapters of models, Secrets."""

from __future__ import annotations

from typing import Annotated, TypeAlias

from pydantic import BeforeValidator, Field

from dynamo_webhooks.api.operator.section import Section
from dynamo_webhooks.api.operator.settings import ALL, AUTO, LABELLED, NONE, OFF, ON, PER_GRAPH, SHARED
from dynamo_webhooks.api.operator.values import Labels, Switch, Text, one_of, span_of, whole


def _word(value: object) -> object:
    """YAML 1.1 reads `on` and `off` as booleans."""
    return (ON if value else OFF) if isinstance(value, bool) else value


_Controller: TypeAlias = Annotated[str, one_of(AUTO, ON, OFF), BeforeValidator(_word)]


class Controllers(Section):
    """Which kinds are reconciled beside graphs, components and scaling adapters."""

    models: _Controller = Field(default=AUTO, description="reconcile DynamoModels; `auto`: where the account has the permissions")
    checkpoints: _Controller = Field(default=AUTO, description="reconcile DynamoCheckpoints; `auto`: where the account has the permissions")
    requests: _Controller = Field(default=AUTO, description="the same of DynamoGraphDeploymentRequests")


class Secrets(Section):
    """Which Secrets of graphs' namespaces are read and made; each needs a permission that the default roles lack."""

    pull: Annotated[str, one_of(NONE, LABELLED, ALL)] = Field(
        default=NONE,
        description='pull secrets that pods get by the registries of their images: `labelled`: `webhooks.nvidia.com/pull-secret: "true"`',
    )
    namespaces: Labels = Field(
        default=[], description="namespaces of these pull secrets; default: `namespace.restricted` or `namespace.allowed`"
    )
    mpi_keys: Annotated[str, one_of(SHARED, PER_GRAPH)] = Field(
        default=SHARED, description="SSH keys of MPI: `shared` copies `mpi.sshSecretName`, `perGraph` gives each graph a pair of its own"
    )


class Models(Section):
    """How DynamoModels are reconciled."""

    concurrency: Annotated[int, whole(1, 512)] = Field(default=64, description="calls to worker pods at a time, of all models together")
    per_model: Annotated[int, whole(1, 512)] = Field(default=32, description="the same of one model, while others wait")
    connect_timeout: Annotated[float, span_of(0.1, 60)] = Field(default=3.0, description="time to connect to a worker pod")
    load_timeout: Annotated[float, span_of(1, 3600)] = Field(default=300.0, description="time to load an adapter on one pod")
    unload_timeout: Annotated[float, span_of(1, 3600)] = Field(
        default=60.0, description="time to unload an adapter on one pod, and from all pods when its model is deleted"
    )
    verify_timeout: Annotated[float, span_of(0.1, 60)] = Field(default=5.0, description="time to answer which adapters are loaded")
    verify_interval: Annotated[float, span_of(10)] = Field(default=600.0, description="time between two checks of what is loaded")
    any_slice: Switch = Field(default=False, description="believe EndpointSlices that the EndpointSlice controller did not write, too")
    base_ready: Annotated[str, one_of("current", "legacy")] = Field(
        default="current", description="`legacy`: ready endpoints of base models are counted as 0, as the Go operator does"
    )


class Requests(Section):
    """How DynamoGraphDeploymentRequests are reconciled."""

    copier_image: Text = Field(
        default="",
        description="image of this project for the container that keeps a profiler's result; empty: that of the reconciler",
    )
    deadline: Annotated[float, span_of(60, 30 * 86_400)] = Field(default=86_400.0, description="time that a profiling Job may take")
    write_hardware: Switch = Field(default=False, description="write discovered GPUs into `spec.hardware`, as the Go operator does")
