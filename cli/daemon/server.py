"""Reads the settings, stated facts and plan of `serve` from its flags, the environment and a configuration file."""

import os
from collections.abc import Mapping
from dataclasses import asdict, replace
from functools import partial
from pathlib import Path
from typing import Any, Final

from ...admission.new_pods import NewPods
from ...admission.pipeline import Settings
from ...api.operator.configuration import OperatorConfiguration
from ...api.operator.scope import Operator
from ...api.operator.server import HealthProbe, Metrics, Server, Serving, Webhook
from ...certs.names import Names
from ...policies.facts import facts_from
from ...policies.semver import is_semver
from ...reconciler.render.checkpoint.restore import restore_pod
from ...reconciler.render.settings import make_settings
from ...webhooks.certificate_source import SecretNames
from ...webhooks.limits import Limits
from ...webhooks.memory import container_limit, divide_memory
from ...webhooks.process import ServerPlan
from ...webhooks.sockets import ANY_ADDRESS
from ..console.exits import UsageError
from ..facts.load import load_values
from .listening import load_settings
from .options import ServerOptions
from .policies import make_policy_source, read_policies

MAX_DRAIN_LAG_SECONDS: Final = 300.0  # of serving.drainLag
# without a configuration: one machine, no drain before the end, no facts of an operator
UNCONFIGURED: Final = OperatorConfiguration(
    server=Server(
        metrics=Metrics(bind_address="", secure=False),
        health_probe=HealthProbe(bind_address=""),
        webhook=Webhook(host=ANY_ADDRESS, cert_dir="", secret_name="", service_name=""),
    ),
    operator=Operator(version=""),
    serving=Serving(drain_lag=0.0),
)


def read_settings(options: ServerOptions, environment: Mapping[str, str]) -> OperatorConfiguration:
    """The settings in effect; flags win. Raises: UsageError that names a flag, or all that is wrong with the file and the environment."""
    if options.drain_lag is not None and not 0 <= options.drain_lag <= MAX_DRAIN_LAG_SECONDS:
        raise UsageError(f"--drain-lag: must be from 0 to {MAX_DRAIN_LAG_SECONDS:g} seconds, got {options.drain_lag:g}")
    if options.operator_version is not None and not is_semver(options.operator_version):
        raise UsageError(f'--operator-version: must be a semantic version such as 1.2.0, got "{options.operator_version}"')
    configuration = UNCONFIGURED
    if options.config is not None:
        configuration = load_settings(options.config, environment, lenient=options.lenient_config)
    serving, webhook = configuration.serving, configuration.server.webhook
    lag = serving.drain_lag if options.drain_lag is None else options.drain_lag
    serving = replace(serving, drain_lag=lag, memory=serving.memory or container_limit())
    if options.cert_dir is not None:
        webhook = replace(webhook, cert_dir=options.cert_dir)
    version = configuration.operator.version if options.operator_version is None else options.operator_version
    own, server = replace(configuration.operator, version=version), replace(configuration.server, webhook=webhook)
    return replace(configuration, serving=serving, operator=own, server=server)


def watches_cluster(options: ServerOptions, environment: Mapping[str, str]) -> bool:
    """Whether a cluster is to be watched: one is wanted by a configuration, or there plainly is one."""
    wanted = options.config is not None or options.kubeconfig is not None
    return not options.no_cluster and (wanted or any(environment.get(name) for name in ("KUBERNETES_SERVICE_HOST", "KUBECONFIG")))


def read_stated_facts(options: ServerOptions, settings: OperatorConfiguration) -> dict[str, Any]:
    """The facts that the facts file states, before those of the configuration; without a configuration nothing more is guessed."""
    stated: dict[str, Any] = {}
    if options.config is not None:
        from ...webhooks.cluster.observed_facts import read_configured_facts

        stated = read_configured_facts(settings)
    elif options.operator_version is not None:
        stated = {"operatorVersion": options.operator_version}
    if options.dgdr_default_image is not None:
        stated["dgdrDefaultImage"] = options.dgdr_default_image
    return stated | (load_values(options.facts) if options.facts is not None else {})


def make_plan(options: ServerOptions, settings: OperatorConfiguration, stated: dict[str, Any], directory: Path) -> ServerPlan:
    """The plan of the serving process, and of the one that watches the cluster for it."""
    serving, bounds = settings.serving, settings.serving.limits
    limits = Limits(
        body=bounds.admission_body,
        conversion_seconds=bounds.conversion_timeout,
        max_conversion_cpu_seconds=bounds.conversion_timeout,
        request_cpu=bounds.request_cpu,
        connections=bounds.connections,
        client_connections=max(1, bounds.connections // 2),
        drain_seconds=serving.drain_timeout,
    )
    limits = divide_memory(limits, serving.memory or 0, bounds.conversion_body or 0)
    orders = None
    if watches_cluster(options, os.environ):
        orders = {
            "scope": asdict(settings.namespace.claims),
            "logs": asdict(settings.logging),
            "stated": stated,
            "kubeconfig": options.kubeconfig or "",
            "context": "",
        }
    names = find_secret_names(options, settings) if orders is not None else None
    checkpoints = make_settings(settings).checkpoints
    pods = NewPods(restore=partial(restore_pod, settings=checkpoints))
    source = make_policy_source(serving.policies) if serving.policies else None
    policies = read_policies(serving.policies)
    judge = Settings(facts_from(stated), pods, policies.documents, serving.site)
    webhook = settings.server.webhook
    callers = (Path(webhook.client_ca), webhook.client_names) if webhook.client_ca else None
    return ServerPlan(
        judge,
        directory,
        limits,
        serving.drain_lag,
        orders,
        settings.logging,
        names,
        callers,
        policies=policies,
        policy_source=source,
    )


def find_secret_names(options: ServerOptions, settings: OperatorConfiguration) -> SecretNames | None:
    """Names of the Secrets with certificates; None where a flag names a directory, whose pair is then served."""
    named = options.cert_dir is not None or options.self_signed
    webhook, namespace = settings.server.webhook, settings.operator.namespace
    if named or not (webhook.secret_name and namespace):
        return None
    trust = Names(namespace, webhook.secret_name, own_trust=settings.certificates.trust_config_map_name).trust
    return SecretNames(namespace, webhook.secret_name, trust, f"{webhook.service_name}.{namespace}.svc")
