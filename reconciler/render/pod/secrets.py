"""Pull secrets that no user named, by the registry of each container's image."""

from __future__ import annotations

from typing import TYPE_CHECKING

from dynamo_webhooks.reconciler.render.merge import items
from dynamo_webhooks.reconciler.render.names import NO_PULL_SECRETS
from dynamo_webhooks.reconciler.render.pod.registries import names_for

if TYPE_CHECKING:
    from collections.abc import Mapping

    from dynamo_webhooks.conversion.lens.protocol import Fields
    from dynamo_webhooks.reconciler.render.settings import Settings


def add_pull_secrets(spec: Fields, annotations: Mapping[str, str], settings: Settings) -> None:
    """Adds the secrets for the registries of a pod's containers after the user's, by name, each once."""
    named = items(spec.get("imagePullSecrets"))
    if settings.pull_secrets and annotations.get(NO_PULL_SECRETS) != "true":
        known = {one.get("name") for one in named}
        containers = [*items(spec.get("initContainers")), *items(spec.get("containers"))]
        found = {name for one in containers for name in names_for(str(one.get("image") or ""), settings.pull_secrets)}
        named += [{"name": name} for name in sorted(found - known)]
    if named:
        spec["imagePullSecrets"] = named
