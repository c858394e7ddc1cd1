"""Discovery between the pods of a graph: the effective backend and mode, and the labels for the runtime."""

from collections.abc import Mapping

from . import names
from .settings import KUBERNETES, Settings


def choose_backend(annotations: Mapping[str, str], settings: Settings) -> str:
    """The effective backend: an annotation overrides the configuration."""
    return annotations.get(names.DISCOVERY_BACKEND, settings.discovery)


def uses_kubernetes(annotations: Mapping[str, str], settings: Settings) -> bool:
    """Whether pods discover each other through the API server."""
    return choose_backend(annotations, settings) == KUBERNETES


def is_per_container(annotations: Mapping[str, str]) -> bool:
    """Whether containers of a pod are discovered separately."""
    return annotations.get(names.DISCOVERY_MODE) == "container"


def make_labels(annotations: Mapping[str, str], settings: Settings) -> dict[str, str]:
    """The runtime's labels on pods and EndpointSlices."""
    return {names.DISCOVERY_BACKEND: KUBERNETES, names.DISCOVERY_ENABLED: "true"} if uses_kubernetes(annotations, settings) else {}
