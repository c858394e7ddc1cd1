"""CustomResourceDefinitions to apply: those of `crd.py` with the conversion stanza and annotations."""

from base64 import b64encode
from collections.abc import Mapping
from typing import Any, Final, TypeAlias

from .crd import build
from .kinds import BY_NAME
from .line import INSTALLED, Line

Node: TypeAlias = dict[str, Any]
NAMESPACE: Final = "dynamo-system"
SERVICE: Final = "dynamo-webhooks"
PORT: Final = 443
CONVERT: Final = "/convert"
GENERATED_BY: Final = "webhooks.nvidia.com/generated-by"
# "true" permits an update of the definition that definition_guard.py would refuse. It is written as "false", so that applying the
# definition again revokes an earlier permission.
ALLOW_DATA_LOSS: Final = "webhooks.nvidia.com/allow-data-loss"
# Deleting a CustomResourceDefinition deletes every object of its kind, so Helm must not do it along with a release.
_KEEP: Final = ("helm.sh/resource-policy", "keep")


def manifest(kind: str, conversion: Mapping[str, Any], generator: str, line: Line = INSTALLED) -> Node:
    """Returns the CustomResourceDefinition of a kind to be applied; `generator` is who wrote it, with its version.

    Only a kind of several versions gets the conversion stanza: the API server would ask for nothing else.
    Raises KeyError for an unknown kind.
    """
    crd = build(kind, conversion=conversion if len(BY_NAME[kind].versions) > 1 else None, line=line)
    crd["metadata"]["annotations"] = dict([_KEEP, (ALLOW_DATA_LOSS, "false"), (GENERATED_BY, generator)])
    return crd


def by_service(namespace: str = NAMESPACE, service: str = SERVICE, bundle: bytes = b"") -> Node:
    """Returns the stanza that sends conversions to a service; `bundle` is the PEM of the certificates to trust.

    Without a bundle, which is how manifests carry it, conversions fail until the provisioner has filled it in: nothing is pruned silently
    meanwhile, and applying the manifest again does not take the bundle away.
    """
    return _webhook({"service": {"namespace": namespace, "name": service, "path": CONVERT, "port": PORT}}, bundle)


def by_url(url: str, bundle: bytes = b"") -> Node:
    """Returns the stanza that sends conversions to a server outside the cluster; `bundle` is the PEM of the certificates to trust."""
    return _webhook({"url": url}, bundle)


def _webhook(client: Node, bundle: bytes) -> Node:
    if bundle:
        client["caBundle"] = b64encode(bundle).decode()
    return {"strategy": "Webhook", "webhook": {"conversionReviewVersions": ["v1"], "clientConfig": client}}
