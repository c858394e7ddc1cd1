"""Sections of the file about serving: the listeners, their certificates, and logs."""

from typing import Annotated, Final

from .section import AutomaticBytes, Bytes, Name, Port, Switch, Text, Texts, Url, key, one_of, section, span_of, whole_number

MODES: Final = {
    "managed": "managed",
    "provided": "provided",
    "external-injection": "external-injection",
    "auto": "managed",
    "manual": "provided",
}
# what the key serving.workers and the flag --workers are answered with
ONE_PROCESS: Final = "must be removed: a pod serves with one process; raise the replicas of the server's Deployment instead"


@section
class Metrics:
    """Settings for serving metrics."""

    bind_address: Text = key(default="0.0.0.0", text="address of the metrics listener; empty: all IPv4 and IPv6 addresses")  # noqa: S104 - the reference's default
    port: Port = key(default=8080, text="port of the metrics listener; 0: the default")
    secure: Switch = key(
        default=True,
        text="require TLS and a token for metrics ([metrics](metrics.md#access-to-metrics)); false: plain HTTP for all",
    )
    namespace_label: Switch = key(
        default=False,
        text="label the reconciler's metrics with the namespace, as the Go operator does; series grow with namespaces",
    )


@section
class HealthProbe:
    """Settings for serving probes."""

    bind_address: Text = key(default="0.0.0.0", text="address of the probe listener; empty: all IPv4 and IPv6 addresses")  # noqa: S104 - the reference's default
    port: Port = key(default=8081, text="port of the probe listener; 0: the default")


@section
class Webhook:
    """Settings for serving the webhooks, and their certificate."""

    host: Text = key(
        default="",
        text="address of the webhook listener; empty: all IPv4 and IPv6 addresses (Go operator: only IPv4)",
    )
    bind_address: Text = key(default="", text="no effect, as in the Go operator; use `host`")
    port: Port = key(default=9443, text="port of the webhook listener; 0: the default")
    cert_dir: Text = key(default="/tmp/k8s-webhook-server/serving-certs", text="directory of `tls.crt` and `tls.key`")  # noqa: S108 - the reference's default, read only
    cert_provision_mode: Annotated[str, one_of(*MODES)] = key(
        default="managed",
        text="who makes certificates and writes trust ([modes](certificates.md#modes-serverwebhookcertprovisionmode)); "
        "`auto` is `managed`, `manual` is `provided`",
    )
    secret_name: Name = key(default="webhook-server-cert", text="Secret of the serving certificate")
    client_ca: Text = key(
        default="",
        text="PEM file of authorities; if set, admission requires a [client certificate](install.md#by-client-certificate)",
        name="clientCA",
    )
    client_names: Texts = key(
        default=(), text="common or DNS names, one of which client certificates must have; empty: any; needs `clientCA`"
    )
    service_name: Name = key(default="dynamo-webhooks", text="Service of the webhooks, named in certificates and CRDs")


@section
class Server:
    """The listeners."""

    metrics: Metrics = Metrics()
    health_probe: HealthProbe = HealthProbe()
    webhook: Webhook = Webhook()


@section
class Limits:
    """Limits of requests."""

    admission_body: Bytes = key(default=7 * 2**20, text="largest admission review; longer ones get 413")
    conversion_body: AutomaticBytes = key(
        default=None,
        text="largest conversion review, which may hold a whole list; default and maximum: as much as `serving.memory` allows",
    )
    conversion_timeout: Annotated[float, span_of(1, 600)] = key(default=30.0, text="time for the body of a conversion review to arrive")
    request_cpu: Annotated[float, span_of(0.1, 30)] = key(
        default=2.0,
        text="CPU time of a request over 32 KiB, less than the webhooks' timeout; a conversion gets 4 s more for each MiB, "
        "up to `conversionTimeout`",
    )
    connections: Annotated[int, whole_number(1, 100_000)] = key(default=1000, text="open connections")


@section
class Serving:
    """Settings of the server's answers; the Go operator has no such section."""

    memory: AutomaticBytes = key(
        default=None,
        text="memory of all processes of a server; determines the limits of requests; default: the container's limit, else 1Gi",
    )
    drain_lag: Annotated[float, span_of(0, 300)] = key(default=15.0, text="time that a stopping server still accepts connections")
    drain_timeout: Annotated[float, span_of(0, 300)] = key(default=20.0, text="time for requests in flight to end after that")
    site: Url = key(default="", text="address of this documentation's site; if set, causes of refusals name the page of their rule")
    limits: Limits = Limits()
    policies: Text = key(default="", text="folder of your own policies, also evaluated by server and reconciler; read again after changes")


@section
class Reconciler:
    """Settings of the reconciler's work; the Go operator has no such section."""

    workers: Annotated[int, whole_number(1, 256)] = key(
        default=8,
        text="objects reconciled at a time, each with one request to the API server; more than 16 help only if requests are slow",
    )


@section
class Logging:
    """Level and format of log messages."""

    level: Annotated[str, one_of("debug", "info", "warn", "warning", "error")] = key(default="info", text="minimum level")
    format: Annotated[str, one_of("json", "console")] = key(default="json", text="JSON lines, or text")


_MINUTE: Final = 60.0
_HOUR: Final = 60 * _MINUTE
_DAY: Final = 24 * _HOUR


@section
class Certificates:
    """Names of objects, lifetimes of certificates and times of a rotation."""

    ca_secret_name: Name = key(default="", text="Secret of the authority; default: `secretName` with `-ca`")
    trust_config_map_name: Name = key(default="", text="ConfigMap of the published trust; default: `secretName` with `-trust`")
    lease_name: Name = key(default="", text="Lease of the provisioner; default: `secretName` with `-provisioner`")
    validating_configuration: Name = key(default="dynamo-webhooks-validating", text="ValidatingWebhookConfiguration that gets the trust")
    mutating_configuration: Name = key(default="dynamo-webhooks-mutating", text="MutatingWebhookConfiguration that gets the trust")
    key_algorithm: Annotated[str, one_of("ECDSA", "RSA")] = key(default="ECDSA", text="new keys: P-256, or RSA of 2048 bits")
    trust_file: Text = key(default="", text="in mode `provided`, authorities to trust if the Secret has no `ca.crt`")
    take_over_conversion: Switch = key(
        default=False,
        text="change the conversion of CRDs that name another Service; false: only report them",
    )
    force_adoption: Switch = key(default=False, text="adopt the Go operator's authority although its ready pods would replace it")
    ca_validity: Annotated[float, span_of(30 * _DAY, 36500 * _DAY)] = key(default=3650 * _DAY, text="lifetime of an authority")
    leaf_validity: Annotated[float, span_of(_DAY, 36500 * _DAY)] = key(default=365 * _DAY, text="lifetime of a serving certificate")
    backdate: Annotated[float, span_of(0, _DAY)] = key(default=_HOUR, text="how far in the past certificates begin, for clock skew")
    resync: Annotated[float, span_of(_MINUTE, _HOUR)] = key(default=10 * _MINUTE, text="time between full reads, besides watches")
    settle: Annotated[float, span_of(15, _HOUR)] = key(default=2 * _MINUTE, text="time for API servers to see new trust")
    min_roll: Annotated[float, span_of(0, _HOUR)] = key(default=3 * _MINUTE, text="minimum time for servers to take a new certificate")
    roll_warn: Annotated[float, span_of(_MINUTE, _DAY)] = key(default=15 * _MINUTE, text="time after which a rotation is reported as stuck")
    drain: Annotated[float, span_of(10 * _MINUTE, 30 * _DAY)] = key(default=_DAY, text="time that an old authority stays trusted")
