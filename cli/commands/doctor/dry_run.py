"""Real requests that change nothing: dry-run creates that must be defaulted, converted, allowed or refused by our webhooks."""

import asyncio
import re
from collections.abc import Mapping
from dataclasses import replace
from typing import Any, Final

from ....api.kinds import ALPHA, BETA, api_version
from ....kube.errors import ApiError, ForbiddenError
from ....kube.protocol import Cluster
from ....kube.resources import resource_of_kind
from ....policies.annotations import ORIGIN_VERSION
from .finding import DoctorFinding, error, warning
from .repairs import run_certs, show_status

DENIED: Final = "denied the request"
# marks of repairs that the caller knows
SERVICE: Final = "Service"
MUTATING: Final = "MutatingWebhookConfiguration"
VALIDATING: Final = "ValidatingWebhookConfiguration"
KIND: Final = "DynamoGraphDeployment"  # stored in one version and served in two, defaulted and judged in both
_IMAGE: Final = {"name": "main", "image": "example.com/dynamo-webhooks-doctor:1.5.0"}  # with a version, which line 1.5 asks for
_GOOD: Final[dict[str, dict[str, Any]]] = {
    ALPHA: {"services": {"worker": {"componentType": "worker", "extraPodSpec": {"mainContainer": _IMAGE}}}},
    BETA: {"components": [{"name": "worker", "type": "worker", "podTemplate": {"spec": {"containers": [_IMAGE]}}}]},
}
# what the schema accepts and a rule that needs no facts refuses
_WRONG: Final[dict[str, dict[str, Any]]] = {ALPHA: {"services": {}}, BETA: {"components": []}}


_RESTORED: Final = frozenset({SERVICE, MUTATING, VALIDATING})


# a pattern in the API server's message -> its meaning, in words that an administrator will search for, and the repair in {namespace}
_CAUSES: Final = {
    "certificate signed by unknown authority|failed to verify certificate: x509: certificate signed": (
        "a bundle doesn't hold the issuer of the served certificate",
        run_certs("inject", "{namespace}"),
    ),
    "expired or is not yet valid": ("the certificate or its authority has ended, or a clock is wrong", run_certs("issue", "{namespace}")),
    "certificate is valid for|Common Name field": ("the certificate names another Service", run_certs("issue", "{namespace}")),
    "failed to find any PEM data|unable to load root certificates": ("a caBundle isn't a certificate", run_certs("inject", "{namespace}")),
    "connection refused|no endpoints available|no service endpoint": ("no server is ready", show_status("{namespace}", "server")),
    'service "[^"]*" not found': ("the Service is not there", SERVICE),
    "deadline exceeded|i/o timeout|no route to host": (
        "a firewall, a mesh or an overload is between the API server and port 9443",
        show_status("{namespace}", "server"),
    ),
}


async def try_requests(
    cluster: Cluster, namespace: str, excluded: tuple[str, ...], restore: Mapping[str, str] | None = None
) -> list[DoctorFinding]:
    """Tries a good and a wrong graph in each version; what a namespace of another operator answers is not judged.

    `restore` are the commands that create missing objects again, by the kind.
    """
    expected, again = namespace not in excluded, restore or {}
    tries = await asyncio.gather(*(_tried(cluster, namespace, version, expected=expected) for version in (ALPHA, BETA)))
    return [
        replace(finding, repair=again.get(finding.repair, "")) if finding.repair in _RESTORED else finding
        for each in tries
        for finding in each
    ]


async def _tried(cluster: Cluster, namespace: str, version: str, *, expected: bool) -> list[DoctorFinding]:
    resource = resource_of_kind(KIND, version)
    try:
        made = await cluster.create(resource, _graph(version, namespace, _GOOD[version]), dry_run=True)
    except ApiError as failed:
        return [_failure(failed, namespace, version)]
    if expected and ORIGIN_VERSION not in (made["metadata"].get("annotations") or {}):
        return [_error(version, "was created without defaults: the mutating webhook wasn't called", MUTATING)]
    try:
        await cluster.create(resource, _graph(version, namespace, _WRONG[version]), dry_run=True)
    except ApiError as failed:
        return [] if DENIED in failed.message else [_failure(failed, namespace, version)]
    return [_error(version, "a wrong one was accepted: the validating webhook wasn't asked", VALIDATING)] if expected else []


def _error(version: str, text: str, repair: str) -> DoctorFinding:
    """A finding about requests in one version."""
    return error("request", f"{KIND} {api_version(version)}", text, repair)


def _failure(failed: ApiError, namespace: str, version: str) -> DoctorFinding:
    """Explain a refusal that isn't a verdict on the object."""
    if isinstance(failed, ForbiddenError) and DENIED not in failed.message:
        text = f"can't be tried: {failed.message}"
        return warning("request", f"{KIND} {api_version(version)}", text)
    means, repair = next((cause for pattern, cause in _CAUSES.items() if re.search(pattern, failed.message)), ("", ""))
    text = f"a dry-run create failed: {failed.message}" + (f" ({means})" if means else "")
    return _error(version, text, repair.format(namespace=namespace))


def _graph(version: str, namespace: str, spec: dict[str, Any]) -> dict[str, Any]:
    metadata = {"name": "dynamo-webhooks-doctor", "namespace": namespace}
    return {"apiVersion": api_version(version), "kind": KIND, "metadata": metadata, "spec": spec}
