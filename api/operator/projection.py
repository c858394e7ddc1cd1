"""From the configuration file's shape to the records that processes read: names completed, aliases resolved, nothing judged."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from dynamo_webhooks.api.line import Line, of_version
from dynamo_webhooks.api.operator.server import MODES
from dynamo_webhooks.api.operator.settings import (
    PER_GRAPH,
    Bounds,
    CheckpointSettings,
    Endpoint,
    Features,
    Identity,
    Logs,
    Mesh,
    ModelSettings,
    ProvisionerSettings,
    ReconcilerSettings,
    RequestSettings,
    ScopeSettings,
    SecretSettings,
    ServerSettings,
    Timings,
)
from dynamo_webhooks.api.operator.surroundings import Istio

if TYPE_CHECKING:
    from dynamo_webhooks.api.operator.configuration import OperatorConfiguration

_RENEWALS: Final = 3  # within the duration of a Lease


def server(found: OperatorConfiguration) -> ServerSettings:
    """What `serve` needs."""
    return ServerSettings(
        identity=_identity(found),
        webhook=Endpoint(found.server.webhook.host, found.server.webhook.port),
        probes=_probes(found),
        metrics=_metrics(found),
        metrics_secure=found.server.metrics.secure,
        cert_directory=found.server.webhook.cert_dir,
        client_ca=found.server.webhook.client_ca,
        client_names=tuple(found.server.webhook.client_names),
        service=found.server.webhook.service_name,
        serving_secret=found.server.webhook.secret_name,
        trust=_trust(found),
        profile=found.serving.profile,
        workers=found.serving.workers,
        drain_lag=found.serving.drain_lag,
        bounds=_bounds(found),
        scope=_scope(found),
        features=_features(found),
        logs=_logs(found),
    )


def provisioner(found: OperatorConfiguration) -> ProvisionerSettings:
    """What `provision` needs."""
    names, webhook = found.certificates, found.server.webhook
    return ProvisionerSettings(
        identity=_identity(found),
        mode=MODES[webhook.cert_provision_mode],
        service=webhook.service_name,
        serving_secret=webhook.secret_name,
        ca_secret=names.ca_secret_name or f"{webhook.secret_name}-ca",
        trust=_trust(found),
        lease=names.lease_name or f"{webhook.secret_name}-provisioner",
        validating=names.validating_configuration,
        mutating=names.mutating_configuration,
        trust_file=names.trust_file,
        take_over_conversion=names.take_over_conversion,
        force_adoption=names.force_adoption,
        rsa=names.key_algorithm == "RSA",
        restricted=found.namespace.restricted,
        timings=_timings(found),
        probes=_probes(found),
        metrics=_metrics(found),
        metrics_secure=found.server.metrics.secure,
        logs=_logs(found),
    )


def reconciler(found: OperatorConfiguration) -> ReconcilerSettings:
    """What `reconcile` and `render` need."""
    return ReconcilerSettings(
        identity=_identity(found),
        scope=_scope(found),
        namespaces=tuple(sorted(found.namespace.allowed)) or (found.namespace.restricted,),
        features=_features(found),
        leader_lease=found.leader_election.id if found.leader_election.enabled else "",
        leader_namespace=found.leader_election.namespace or found.operator.namespace,
        grove_termination_delay=found.orchestrators.grove.termination_delay,
        nats=found.infrastructure.nats_address,
        etcd=found.infrastructure.etcd_address,
        model_express=found.infrastructure.model_express_url,
        prometheus=found.infrastructure.prometheus_endpoint,
        gateway=found.ingress.virtual_service_gateway,
        ingress_class=found.ingress.controller_class_name,
        ingress_tls_secret=found.ingress.controller_tls_secret_name,
        host_suffix=found.ingress.host_suffix,
        mesh=_mesh(found),
        planner_role=found.rbac.planner_cluster_role_name,
        profiling_role=found.rbac.dgdr_profiling_cluster_role_name,
        epp_role=found.rbac.epp_cluster_role_name,
        ssh_secret=found.mpi.ssh_secret_name,
        ssh_secret_namespace=found.mpi.ssh_secret_namespace,
        checkpoint=_checkpoint(found),
        controllers=found.controllers.model_dump(),
        models=_models(found),
        secrets=_secrets(found),
        requests=RequestSettings(found.requests.copier_image, found.requests.deadline, found.requests.write_hardware),
        discovery=found.discovery.backend,
        gpu_metrics_template=found.gpu.metrics_endpoint_template,
        probes=_probes(found),
        metrics=_metrics(found),
        metrics_secure=found.server.metrics.secure,
        metrics_namespaces=found.server.metrics.namespace_label,
        workers=found.reconciler.workers,
        logs=_logs(found),
    )


def _models(found: OperatorConfiguration) -> ModelSettings:
    how = found.models
    return ModelSettings(
        concurrency=how.concurrency,
        per_model=how.per_model,
        connect=how.connect_timeout,
        load=how.load_timeout,
        unload=how.unload_timeout,
        verify=how.verify_timeout,
        verify_interval=how.verify_interval,
        any_slice=how.any_slice,
        base_as_reference=how.base_ready == "legacy",
    )


def _secrets(found: OperatorConfiguration) -> SecretSettings:
    how = found.secrets
    own = [found.namespace.restricted] if found.namespace.restricted else found.namespace.allowed
    return SecretSettings(how.pull, tuple(sorted(how.namespaces or own)), how.mpi_keys == PER_GRAPH)


def _trust(found: OperatorConfiguration) -> str:
    return found.certificates.trust_config_map_name or f"{found.server.webhook.secret_name}-trust"


def _identity(found: OperatorConfiguration) -> Identity:
    who = found.operator
    return Identity(who.namespace, who.service_account, who.pod_name, who.cluster_domain, who.version)


def _probes(found: OperatorConfiguration) -> Endpoint:
    return Endpoint(found.server.health_probe.bind_address, found.server.health_probe.port)


def _metrics(found: OperatorConfiguration) -> Endpoint:
    return Endpoint(found.server.metrics.bind_address, found.server.metrics.port)


def _bounds(found: OperatorConfiguration) -> Bounds:
    serving, limits = found.serving, found.serving.limits
    return Bounds(
        admission_body=limits.admission_body,
        conversion_body=limits.conversion_body or 0,
        conversion_seconds=limits.conversion_timeout,
        request_cpu=limits.request_cpu,
        memory=serving.memory or 0,
        connections=limits.connections,
        drain_seconds=serving.drain_timeout,
    )


def _scope(found: OperatorConfiguration) -> ScopeSettings:
    scope = found.namespace.scope
    renew = min(scope.lease_renew_interval, scope.lease_duration / _RENEWALS)
    return ScopeSettings(found.namespace.restricted, scope.lease_duration, renew, scope.grace, scope.max_skew)


def _features(found: OperatorConfiguration) -> Features:
    orchestrators = found.orchestrators
    return Features(
        orchestrators.grove.enabled,
        orchestrators.lws.enabled,
        orchestrators.kai_scheduler.enabled,
        found.dra.enabled,
        found.gpu.discovery_enabled,
        found.feature_gates.gms_snapshot or of_version(found.operator.version) >= Line.V1_5,  # which has no such gate
        found.checkpoint.enabled,
    )


def _logs(found: OperatorConfiguration) -> Logs:
    return Logs({"warn": "warning"}.get(found.logging.level, found.logging.level), found.logging.format == "console")


def _timings(found: OperatorConfiguration) -> Timings:
    times = found.certificates
    return Timings(
        times.ca_validity,
        times.leaf_validity,
        times.backdate,
        times.resync,
        times.settle,
        times.min_roll,
        times.roll_warn,
        times.drain,
    )


def _mesh(found: OperatorConfiguration) -> Mesh | None:
    if found.service_mesh.provider != "istio" or found.service_mesh.enabled is False:
        return None
    istio = found.service_mesh.istio or Istio()
    return Mesh(istio.tls_mode, istio.insecure_skip_verify, istio.client_certificate, istio.private_key, istio.ca_certificates)


def _checkpoint(found: OperatorConfiguration) -> CheckpointSettings:
    checkpoint = found.checkpoint
    claim = checkpoint.storage.pvc
    return CheckpointSettings(
        checkpoint.enabled,
        "" if checkpoint.seccomp.disabled else checkpoint.seccomp.profile,
        checkpoint.storage.type,
        claim.pvc_name,
        claim.base_path,
        claim.create,
        claim.size,
        claim.storage_class_name,
        claim.access_mode,
        roll=checkpoint.on_ready == "roll",
        fallback=checkpoint.fallback,
    )
