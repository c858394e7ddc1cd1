"""How the pods of a graph discover each other: the effective backend and mode, and the labels for the runtime."""

from collections.abc import Mapping

from . import names
from .settings import KUBERNETES, Settings


def backend(annotations: Mapping[str, str], settings: Settings) -> str:
    """The effective backend: an annotation overrides the configuration."""
    return annotations.get(names.DISCOVERY_BACKEND, settings.discovery)


def by_kubernetes(annotations: Mapping[str, str], settings: Settings) -> bool:
    """Whether pods discover each other through the API server."""
    return backend(annotations, settings) == KUBERNETES


def in_containers(annotations: Mapping[str, str]) -> bool:
    """Whether containers of a pod are discovered separately."""
    return annotations.get(names.DISCOVERY_MODE) == "container"


def labels(annotations: Mapping[str, str], settings: Settings) -> dict[str, str]:
    """The runtime's labels on pods and EndpointSlices."""
    return {names.DISCOVERY_BACKEND: KUBERNETES, names.DISCOVERY_ENABLED: "true"} if by_kubernetes(annotations, settings) else {}
