"""Sections of the file about listening: `server`, `serving` and `logging`."""

from __future__ import annotations

from typing import Annotated

from pydantic import Field

from dynamo_webhooks.api.operator.section import Section
from dynamo_webhooks.api.operator.values import AutomaticBytes, Bytes, Name, Port, Switch, Text, Texts, one_of, span_of, whole

MODES = {"managed": "managed", "provided": "provided", "external-injection": "external-injection", "auto": "managed", "manual": "provided"}


class Metrics(Section):
    """Where metrics are served."""

    bind_address: Text = Field(default="0.0.0.0", description="address of the metrics listener; empty for all IPv4 and IPv6 addresses")  # noqa: S104 - the reference's default
    port: Port = Field(default=8080, description="port of the metrics listener; 0 means the default")
    secure: Switch = Field(
        default=True,
        description="serve metrics over TLS, the server with the webhook certificate, the others with one of their own, and ask for the "
        "token of who may `get` /metrics (a server only where it watches a cluster). false: plain HTTP, to all",
    )
    namespace_label: Switch = Field(
        default=False,
        description="label what the reconciler counts with the object's namespace, as the Go operator does; "
        "the number of series then grows with namespaces",
    )


class HealthProbe(Section):
    """Where the kubelet asks."""

    bind_address: Text = Field(default="0.0.0.0", description="address of the probe listener; empty for all IPv4 and IPv6 addresses")  # noqa: S104 - the reference's default
    port: Port = Field(default=8081, description="port of the probe listener; 0 means the default")


class Webhook(Section):
    """Where the API server asks, and with which certificate it is answered."""

    host: Text = Field(
        default="",
        description="address of the webhook listener; empty for all IPv4 and IPv6 addresses (the Go operator: `0.0.0.0`, IPv4 alone)",
    )
    bind_address: Text = Field(default="", description="without effect, as in the Go operator; `host` is what counts")
    port: Port = Field(default=9443, description="port of the webhook listener; 0 means the default")
    cert_dir: Text = Field(default="/tmp/k8s-webhook-server/serving-certs", description="directory of `tls.crt` and `tls.key`")  # noqa: S108 - the reference's default, read only
    cert_provision_mode: Annotated[str, one_of(*MODES)] = Field(
        default="managed",
        description="who makes certificates and writes trust: we (`managed`), somebody else makes and we inject (`provided`), "
        "somebody else does both (`external-injection`); the Go operator's `auto` is `managed`, its `manual` is `provided`",
    )
    secret_name: Name = Field(default="webhook-server-cert", description="Secret of the serving certificate")
    client_ca: Text = Field(
        default="",
        alias="clientCA",
        description="file of the authorities (PEM) of client certificates, followed like the pair; when set, admission requests without "
        "one that verifies are answered 403. Conversion requests carry none, and need none",
    )
    client_names: Texts = Field(
        default=[], description="common names or DNS names, one of which a client certificate must bear; empty: any; needs `clientCA`"
    )
    service_name: Name = Field(
        default="dynamo-webhooks", description="Service in front of the webhooks: names in certificates, target of CRDs"
    )


class Server(Section):
    """The listeners."""

    metrics: Metrics = Metrics()
    health_probe: HealthProbe = HealthProbe()
    webhook: Webhook = Webhook()


class Limits(Section):
    """What one client may cost a worker."""

    admission_body: Bytes = Field(default=7 * 2**20, description="largest admission review; a longer one is answered 413")
    conversion_body: AutomaticBytes = Field(
        default=None,
        description="largest conversion review; an API server sends a whole list as one. Absent, or more than `serving.memory` allows: "
        "as much as that allows, 93Mi with two workers in 2Gi",
    )
    conversion_timeout: Annotated[float, span_of(1, 600)] = Field(
        default=30.0, description="how long the body of a conversion review may take to arrive"
    )
    request_cpu: Annotated[float, span_of(0.1, 30)] = Field(
        default=2.0,
        description="CPU time for one request of more than 32 KiB, less than the webhooks' timeout; what needs more is refused. "
        "A conversion has 1 s more for each MiB, up to its timeout",
    )
    connections: Annotated[int, whole(1, 100_000)] = Field(default=1000, description="connections open at one time")


class Serving(Section):
    """How this project's server answers; the Go operator has no such section."""

    profile: Annotated[str, one_of("current", "1.2")] = Field(
        default="current", description="which verdicts: ours, or exactly those of the Go operator 1.2"
    )
    workers: Annotated[int, whole(0, 256)] = Field(
        default=0, description="serving processes; 0 for the number of CPUs, or fewer if `memory` does not suffice for as many"
    )
    memory: AutomaticBytes = Field(
        default=None,
        description="what all processes of a server may use together: bounds of bodies and requests follow from it. "
        "Absent: the container's limit, and 2Gi where it has none",
    )
    drain_lag: Annotated[float, span_of(0, 300)] = Field(
        default=15.0, description="how long a stopping server keeps accepting, while endpoints learn of its end"
    )
    drain_timeout: Annotated[float, span_of(0, 300)] = Field(
        default=20.0, description="how long requests in flight may take to end after that"
    )
    limits: Limits = Limits()


class Logging(Section):
    """What is logged."""

    level: Annotated[str, one_of("debug", "info", "warn", "warning", "error")] = Field(
        default="info", description="least level that is logged; processes follow it while they run"
    )
    format: Annotated[str, one_of("json", "console")] = Field(default="json", description="one JSON object a line, or text")
