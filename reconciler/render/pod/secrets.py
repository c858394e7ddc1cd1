"""Pull secrets that no user named, by the registry of each container's image."""

from __future__ import annotations

import base64
import json
from typing import TYPE_CHECKING, Final

from dynamo_webhooks.reconciler.render.merge import items
from dynamo_webhooks.reconciler.render.names import NO_PULL_SECRETS

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from dynamo_webhooks.conversion.lens.protocol import Fields
    from dynamo_webhooks.reconciler.render.settings import Settings

_PULL_SECRET: Final = "kubernetes.io/dockerconfigjson"  # noqa: S105 - a type


def add_pull_secrets(spec: Fields, annotations: Mapping[str, str], settings: Settings) -> None:
    """Add the secrets for the registries of a pod's containers to the user's, each once."""
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


def index(secrets: Iterable[Fields]) -> dict[str, tuple[str, ...]]:
    """The names of pull secrets by registry, from the Secrets of one namespace, without invalid ones."""
    found: dict[str, set[str]] = {}
    for secret in secrets:
        for host in _hosts(secret):
            found.setdefault(host, set()).add(str(secret["metadata"]["name"]))
    return {host: tuple(sorted(names)) for host, names in sorted(found.items())}


def _hosts(secret: Fields) -> set[str]:
    if secret.get("type") != _PULL_SECRET:
        return set()
    try:
        text = base64.b64decode((secret.get("data") or {}).get(".dockerconfigjson") or "", validate=True)
        addresses = json.loads(text)["auths"]
    except (ValueError, KeyError, TypeError, RecursionError):
        return set()
    return {registry(address) for address in addresses} if isinstance(addresses, dict) else set()


def registry(image: str) -> str:
    """The host of an image or of a registry's address, with its port; none for images of Docker Hub."""
    _, scheme, rest = image.partition("://")
    return (rest if scheme else image).partition("/")[0]
