"""Which installation is looked at: the configuration that is given, else the one in the cluster, else the names in our manifests."""

import os
from dataclasses import replace
from typing import Final

from ...api.operator.configuration import OperatorConfiguration
from ...api.operator.scope import Operator
from ...certs.installation import Installation, installation
from ...kube.errors import ForbiddenError
from ...kube.protocol import Cluster
from ...kube.resources import CONFIG_MAPS
from ..console.exits import UsageError
from ..yaml.load import Source
from .configuration import load_configuration

CONFIG: Final = "dynamo-webhooks-config"
KEY: Final = "config.yaml"
NAMESPACE: Final = "dynamo-system"


def make_default_installation(namespace: str) -> Installation:
    """The installation of the manifests as they are."""
    return installation(OperatorConfiguration(operator=Operator(namespace, version="")))


def load_installation(file: str | Source, namespace: str, *, lenient: bool = False) -> tuple[Installation, str]:
    """The installation of a configuration, in a file or as its text, and the ignored unknown keys. Raises: UsageError."""
    environment = {**os.environ, **({"POD_NAMESPACE": namespace} if namespace else {})}
    effective = load_configuration(file, environment, lenient=lenient)
    if not effective.configuration.operator.namespace:
        raise UsageError("--namespace: must name the namespace of the installation, which the configuration doesn't")
    return installation(effective.configuration), "\n  ".join(effective.unknown)


async def read_configuration(cluster: Cluster, namespace: str) -> tuple[Source | None, str]:
    """The configuration that is in the cluster, and why it may not be read, if so. Raises: ApiError."""
    try:
        config_map = await cluster.get(CONFIG_MAPS, CONFIG, namespace)
    except ForbiddenError as error:
        return None, error.message
    text = ((config_map or {}).get("data") or {}).get(KEY)
    return (None if text is None else Source(KEY, str(text))), ""


async def find_installation(cluster: Cluster, namespace: str, *, lenient: bool = False) -> tuple[Installation, str]:
    """Returns the installation that the cluster's configuration describes, and the error in that configuration, if any."""
    where = namespace or NAMESPACE
    source, wrong = await read_configuration(cluster, where)
    if source is None:
        return make_default_installation(where), wrong
    try:
        about, unknown = load_installation(source, where, lenient=lenient)
    except UsageError as error:
        return make_default_installation(where), str(error)
    return replace(about, trust_file=""), unknown  # that file is in a pod
