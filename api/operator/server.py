"""Sections of the file about listening: `server`, `serving` and `logging`."""

from __future__ import annotations

from typing import Annotated

from pydantic import Field

from dynamo_webhooks.api.operator.section import Section
from dynamo_webhooks.api.operator.values import AutomaticBytes, Bytes, Name, Port, Switch, Text, Texts, one_of, span_of, whole

MODES = {"managed": "managed", "provided": "provided", "external-injection": "external-injection", "auto": "managed", "manual": "provided"}


class Metrics(Section):
    """Where metrics are served."""

    bind_address: Text = Field(default="0.0.0.0", description="address of the metrics listener; empty: all IPv4 and IPv6 addresses")  # noqa: S104 - the reference's default
    port: Port = Field(default=8080, description="port of the metrics listener; 0: the default")
    secure: Switch = Field(
        default=True,
        description="require TLS and a token for metrics ([metrics](metrics.md#access-to-metrics)); false: plain HTTP for all",
    )
    namespace_label: Switch = Field(
        default=False,
        description="label the reconciler's metrics with the namespace, as the Go operator does; series grow with namespaces",
    )


class HealthProbe(Section):
    """Where probes are served."""

    bind_address: Text = Field(default="0.0.0.0", description="address of the probe listener; empty: all IPv4 and IPv6 addresses")  # noqa: S104 - the reference's default
    port: Port = Field(default=8081, description="port of the probe listener; 0: the default")


class Webhook(Section):
    """Where the webhooks are served, and with which certificate."""

    host: Text = Field(
        default="",
        description="address of the webhook listener; empty: all IPv4 and IPv6 addresses (Go operator: only IPv4)",
    )
    bind_address: Text = Field(default="", description="no effect, as in the Go operator; use `host`")
    port: Port = Field(default=9443, description="port of the webhook listener; 0: the default")
    cert_dir: Text = Field(default="/tmp/k8s-webhook-server/serving-certs", description="directory of `tls.crt` and `tls.key`")  # noqa: S108 - the reference's default, read only
    cert_provision_mode: Annotated[str, one_of(*MODES)] = Field(
        default="managed",
        description="who makes certificates and writes trust ([modes](certificates.md#modes-serverwebhookcertprovisionmode)); "
        "`auto` is `managed`, `manual` is `provided`",
    )
    secret_name: Name = Field(default="webhook-server-cert", description="Secret of the serving certificate")
    client_ca: Text = Field(
        default="",
        alias="clientCA",
        description="PEM file of authorities; if set, admission requires a [client certificate](install.md#by-client-certificate)",
    )
    client_names: Texts = Field(
        default=[], description="common or DNS names, one of which client certificates must have; empty: any; needs `clientCA`"
    )
    service_name: Name = Field(default="dynamo-webhooks", description="Service of the webhooks, named in certificates and CRDs")


class Server(Section):
    """The listeners."""

    metrics: Metrics = Metrics()
    health_probe: HealthProbe = HealthProbe()
    webhook: Webhook = Webhook()


class Limits(Section):
    """Limits of requests."""

    admission_body: Bytes = Field(default=7 * 2**20, description="largest admission review; longer ones get 413")
    conversion_body: AutomaticBytes = Field(
        default=None,
        description="largest conversion review, which may hold a whole list; default and maximum: as much as `serving.memory` allows",
    )
    conversion_timeout: Annotated[float, span_of(1, 600)] = Field(
        default=30.0, description="time for the body of a conversion review to arrive"
    )
    request_cpu: Annotated[float, span_of(0.1, 30)] = Field(
        default=2.0,
        description="CPU time of a request over 32 KiB, less than the webhooks' timeout; a conversion gets 1 s more for each MiB, "
        "up to `conversionTimeout`",
    )
    connections: Annotated[int, whole(1, 100_000)] = Field(default=1000, description="open connections")


class Serving(Section):
    """How the server answers; the Go operator has no such section."""

    profile: Annotated[str, one_of("current", "1.2")] = Field(
        default="current", description="verdicts of this project, or those of the Go operator 1.2"
    )
    workers: Annotated[int, whole(0, 256)] = Field(
        default=0, description="serving processes; 0: the number of CPUs, or as many as `memory` allows"
    )
    memory: AutomaticBytes = Field(
        default=None,
        description="memory of all processes of a server, from which bounds of requests follow; default: the container's limit, else 2Gi",
    )
    drain_lag: Annotated[float, span_of(0, 300)] = Field(default=15.0, description="time that a stopping server still accepts connections")
    drain_timeout: Annotated[float, span_of(0, 300)] = Field(default=20.0, description="time for requests in flight to end after that")
    limits: Limits = Limits()


class Reconciler(Section):
    """How the reconciler works; the Go operator has no such section."""

    workers: Annotated[int, whole(1, 256)] = Field(
        default=8,
        description="objects reconciled at a time, each with one request to the API server; more than 16 help only if requests are slow",
    )


class Logging(Section):
    """What is logged."""

    level: Annotated[str, one_of("debug", "info", "warn", "warning", "error")] = Field(
        default="info", description="minimum level; running processes follow changes"
    )
    format: Annotated[str, one_of("json", "console")] = Field(default="json", description="JSON lines, or text")
