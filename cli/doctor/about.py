"""Which installation is looked at: the configuration that is given, else the one in the cluster, else the names in our manifests."""

from __future__ import annotations

import os
from dataclasses import replace
from typing import TYPE_CHECKING, Final

from dynamo_webhooks.api.kinds import KINDS
from dynamo_webhooks.certs.installation import Installation, installation
from dynamo_webhooks.certs.names import Names
from dynamo_webhooks.certs.state import Mode, Profile, TargetKind
from dynamo_webhooks.certs.timings import Timings
from dynamo_webhooks.cli.exits import UsageError
from dynamo_webhooks.cli.yaml.load import Source
from dynamo_webhooks.kube.errors import ForbiddenError
from dynamo_webhooks.kube.resources import CONFIG_MAPS

if TYPE_CHECKING:
    from dynamo_webhooks.kube.protocol import Cluster

CONFIG: Final = "dynamo-webhooks-config"
KEY: Final = "config.yaml"
NAMESPACE: Final = "dynamo-system"


def by_manifests(namespace: str) -> Installation:
    """The installation of the manifests as they are."""
    crds = tuple((TargetKind.CRD, kind.crd_name) for kind in KINDS if len(kind.versions) > 1)
    names = ((TargetKind.MUTATING, "dynamo-webhooks-mutating"), (TargetKind.VALIDATING, "dynamo-webhooks-validating"))
    return Installation(Mode.MANAGED, Profile("dynamo-webhooks", namespace), Timings(), Names(namespace), (*crds, *names))


def by_file(file: str | Source, namespace: str, *, lenient: bool = False) -> tuple[Installation, str]:
    """The installation of a configuration, in a file or as its text, and the unknown keys that are passed over. Raises: UsageError."""
    from dynamo_webhooks.api.operator import projection
    from dynamo_webhooks.cli.configuration import load_configuration

    environment = {**os.environ, **({"POD_NAMESPACE": namespace} if namespace else {})}
    effective = load_configuration(file, environment, lenient=lenient)
    settings = projection.provisioner(effective.configuration)
    if not settings.identity.namespace:
        raise UsageError("--namespace: must name the namespace of the installation, which the configuration doesn't")
    return installation(settings), "\n  ".join(effective.unknown)


async def configuration_in(cluster: Cluster, namespace: str) -> tuple[Source | None, str]:
    """The configuration that is in the cluster, and why it may not be read, if so. Raises: ApiError."""
    try:
        found = await cluster.get(CONFIG_MAPS, CONFIG, namespace)
    except ForbiddenError as error:
        return None, error.message
    text = ((found or {}).get("data") or {}).get(KEY)
    return (None if text is None else Source(KEY, str(text))), ""


async def in_cluster(cluster: Cluster, namespace: str, *, lenient: bool = False) -> tuple[Installation, str]:
    """The installation of the configuration that is in the cluster, and what was wrong with that, if something was."""
    where = namespace or NAMESPACE
    found, wrong = await configuration_in(cluster, where)
    if found is None:
        return by_manifests(where), wrong
    try:
        about, unknown = by_file(found, where, lenient=lenient)
    except UsageError as error:
        return by_manifests(where), str(error)
    return replace(about, trust_file=""), unknown  # that file is in a pod
