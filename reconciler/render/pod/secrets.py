"""Pull secrets that pods need and nobody named: matched by the registry of each container's image."""

from __future__ import annotations

from typing import TYPE_CHECKING

from reconciler.render.merge import items
from reconciler.render.names import NO_PULL_SECRETS

if TYPE_CHECKING:
    from collections.abc import Mapping

    from conversion.lens.protocol import Fields
    from reconciler.render.settings import Settings


def add_pull_secrets(spec: Fields, annotations: Mapping[str, str], settings: Settings) -> None:
    """Adds the secrets for the registries of a pod's containers to those that the user named, each once."""
    if annotations.get(NO_PULL_SECRETS) == "true":
        return
    named = items(spec.get("imagePullSecrets"))
    known = {one.get("name") for one in named}
    for container in items(spec.get("containers")):
        for name in sorted(settings.pull_secrets.get(registry(str(container.get("image") or "")), ())):
            if name not in known:
                known.add(name)
                named.append({"name": name})
    if named:
        spec["imagePullSecrets"] = named


def registry(image: str) -> str:
    """The host of an image or of a registry's address, with its port. An image of Docker Hub has none that a secret could name (A9)."""
    _, scheme, rest = image.partition("://")
    return (rest if scheme else image).partition("/")[0]
