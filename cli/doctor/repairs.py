"""The commands that repair what `doctor` finds."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from dynamo_webhooks.api.kinds import Kind

KINDS: Final = "dynamo-webhooks crds --cluster | kubectl apply --server-side -f -"
MANIFESTS: Final = "kubectl apply --server-side -k manifests/overlays/self-signed"


def of_line(line: str) -> str:
    """Applies the definitions of a later line."""
    return f"dynamo-webhooks crds --cluster --line {line} | kubectl apply --server-side -f -"


def inject(namespace: str) -> str:
    """Writes trust into every configuration object."""
    return f"dynamo-webhooks certs inject --namespace {namespace}"


def issue(namespace: str) -> str:
    """Makes a new certificate."""
    return f"dynamo-webhooks certs issue --namespace {namespace}"


def request_again(namespace: str, name: str) -> str:
    """Has cert-manager ask for a certificate anew."""
    return f"kubectl delete certificaterequest {name} -n {namespace}"


def rotate(namespace: str) -> str:
    """Exchanges the authority."""
    return f"dynamo-webhooks certs rotate --namespace {namespace}"


def restart(namespace: str, part: str) -> str:
    """Starts one of our Deployments anew."""
    return f"kubectl -n {namespace} rollout restart deployment/dynamo-webhooks-{part}"


def status(namespace: str, part: str) -> str:
    """Shows why one of our Deployments isn't ready."""
    return f"kubectl -n {namespace} describe pods -l app.kubernetes.io/component={part}"


def migrate(kind: Kind, version: str) -> str:
    """Has the API server store every object of a kind in a version, without a change of any."""
    return f"dynamo-webhooks migrate --to {version} --kind {kind.name}"


def patch(kind: str, name: str, *operations: dict[str, object]) -> str:
    """Changes an object."""
    return f"kubectl patch {kind.lower()} {name} --type=json -p '{json.dumps(list(operations))}'"


def merge(kind: str, name: str, change: dict[str, object]) -> str:
    """Changes an object by a merge patch, which makes the parents that are missing."""
    return f"kubectl patch {kind.lower()} {name} --type=merge -p '{json.dumps(change)}'"
