"""What `serve` is to do, from its flags, the environment and a configuration file: settings, stated facts, and the plan."""

from __future__ import annotations

import os
from dataclasses import asdict, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from dynamo_webhooks.api.operator.settings import Bounds, Endpoint, Features, Identity, Logs, ScopeSettings, ServerSettings
from dynamo_webhooks.cli.daemon.listening import level_source
from dynamo_webhooks.cli.daemon.settings import load_settings
from dynamo_webhooks.cli.exits import UsageError
from dynamo_webhooks.webhooks.sockets import ANY

if TYPE_CHECKING:
    import argparse
    from collections.abc import Mapping

    from dynamo_webhooks.webhooks.certificate_source import SecretNames
    from dynamo_webhooks.webhooks.process import Plan

MOST_LAG: Final = 300.0  # seconds: what serving.drainLag allows
# without a configuration: one machine, nobody to be told of an end beforehand, nothing known of an operator
UNCONFIGURED: Final = ServerSettings(
    identity=Identity("", "", "", "cluster.local", ""),
    webhook=Endpoint(ANY, 9443),
    probes=Endpoint("", 8081),
    metrics=Endpoint("", 8080),
    metrics_secure=False,
    cert_directory="",
    client_ca="",
    client_names=(),
    service="",
    serving_secret="",
    trust="",
    profile="current",
    workers=0,
    drain_lag=0.0,
    bounds=Bounds(7 * 2**20, 0, 30.0, 2.0, 0, 1000, 20.0),
    scope=ScopeSettings("", 30.0, 10.0, 10.0, 60.0),
    features=Features(None, None, None, None, gpu_discovery=True, gms_snapshot=False, checkpoint=None),
    logs=Logs("info", console=False),
)


def settings_for(args: argparse.Namespace, environment: Mapping[str, str]) -> ServerSettings:
    """The settings in effect; flags win.

    Raises: UsageError that names a flag, or everything that is wrong with the file and the environment.
    """
    from dynamo_webhooks.policies.semver import is_semver
    from dynamo_webhooks.webhooks.memory import container_limit, workers_for

    if args.workers is not None and args.workers < 1:
        raise UsageError(f"--workers: must be at least 1, got {args.workers}")
    if args.drain_lag is not None and not 0 <= args.drain_lag <= MOST_LAG:
        raise UsageError(f"--drain-lag: must be from 0 to {MOST_LAG:g} seconds, got {args.drain_lag:g}")
    if args.operator_version is not None and not is_semver(args.operator_version):
        raise UsageError(f'--operator-version: must be a semantic version such as 1.2.0, got "{args.operator_version}"')
    found = UNCONFIGURED
    if args.config is not None:
        found = load_settings(ServerSettings, args.config, environment, lenient=args.lenient_config)
    flags = {"workers": args.workers, "drain_lag": args.drain_lag, "profile": args.profile, "cert_directory": args.cert_dir}
    chosen: dict[str, Any] = {name: value for name, value in flags.items() if value is not None}
    if args.operator_version is not None:
        chosen["identity"] = replace(found.identity, version=args.operator_version)
    found = replace(found, **chosen)
    available = found.bounds.memory or container_limit()
    found = replace(found, bounds=replace(found.bounds, memory=available))
    return replace(found, workers=found.workers or workers_for(available, os.cpu_count() or 1))


def watches(args: argparse.Namespace, environment: Mapping[str, str]) -> bool:
    """Whether a cluster is to be watched: one is wanted by a configuration, or there plainly is one."""
    wanted = args.config is not None or args.kubeconfig is not None
    return not args.no_cluster and (wanted or any(environment.get(name) for name in ("KUBERNETES_SERVICE_HOST", "KUBECONFIG")))


def told(args: argparse.Namespace, settings: ServerSettings) -> dict[str, Any]:
    """The facts that the facts file states, before those of the configuration; without a configuration nothing more is guessed."""
    from dynamo_webhooks.cli.facts.load import load_values

    stated: dict[str, Any] = {}
    if args.config is not None:
        from dynamo_webhooks.webhooks.cluster.observed_facts import told_by

        stated = told_by(settings)
    elif args.operator_version is not None:
        stated = {"operatorVersion": args.operator_version}
    if args.dgdr_default_image is not None:
        stated["dgdrDefaultImage"] = args.dgdr_default_image
    return stated | (load_values(args.facts) if args.facts is not None else {})


def plan_for(args: argparse.Namespace, settings: ServerSettings, stated: dict[str, Any], directory: Path) -> Plan:
    """What the serving processes are to do, and the one that watches the cluster for them."""
    from dynamo_webhooks.admission.pipeline import Settings
    from dynamo_webhooks.policies.facts import facts_from
    from dynamo_webhooks.webhooks import memory
    from dynamo_webhooks.webhooks.limits import Limits
    from dynamo_webhooks.webhooks.process import Plan

    bounds = settings.bounds
    limits = Limits(
        body=bounds.admission_body,
        conversion_seconds=bounds.conversion_seconds,
        request_cpu=bounds.request_cpu,
        connections=bounds.connections,
        drain_seconds=bounds.drain_seconds,
    )
    limits = memory.divided(limits, bounds.memory, settings.workers, bounds.conversion_body)
    orders = None
    if watches(args, os.environ):
        orders = {
            "scope": asdict(settings.scope),
            "logs": asdict(settings.logs),
            "told": stated,
            "kubeconfig": args.kubeconfig or "",
            "context": "",
        }
    names = secret_names(args, settings) if orders is not None else None
    judge = Settings(facts_from(stated), settings.profile)
    level = level_source(args) if args.config is not None else None
    callers = (Path(settings.client_ca), settings.client_names) if settings.client_ca else None
    return Plan(judge, directory, limits, settings.drain_lag, orders, settings.logs, names, level, callers)


def secret_names(args: argparse.Namespace, settings: ServerSettings) -> SecretNames | None:
    """How a cluster delivers certificates; None where a flag names a directory, whose pair is then served whatever it says."""
    from dynamo_webhooks.webhooks.certificate_source import SecretNames

    named = args.cert_dir is not None or args.self_signed
    if named or not (settings.serving_secret and settings.identity.namespace):
        return None
    namespace = settings.identity.namespace
    return SecretNames(namespace, settings.serving_secret, settings.trust, f"{settings.service}.{namespace}.svc")
