"""Requests of cert-manager for our certificate that wait: nobody else says why the serving Secret does not come."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from dynamo_webhooks.certs.state import Mode
from dynamo_webhooks.cli.doctor import repairs
from dynamo_webhooks.cli.doctor.finding import Finding, error, warning
from dynamo_webhooks.kube.errors import ForbiddenError, NotFoundError
from dynamo_webhooks.kube.resources import Resource

if TYPE_CHECKING:
    from dynamo_webhooks.cli.doctor.sight import Sight
    from dynamo_webhooks.kube.protocol import Cluster, Node

REQUESTS: Final = Resource("cert-manager.io", "v1", "certificaterequests", "CertificateRequest")
NAME: Final = "cert-manager.io/certificate-name"


async def issuing(cluster: Cluster, sight: Sight) -> list[Finding]:
    """The requests that are not answered, where others make the certificate and the serving Secret is not there. Raises: ApiError."""
    state, where = sight.state, sight.namespace
    if state is None or state.mode is Mode.MANAGED or state.serving is not None:
        return []
    try:
        found = await cluster.list(REQUESTS, where)
    except NotFoundError:
        return []  # somebody else than cert-manager makes it
    except ForbiddenError as denied:
        return [warning("permission", REQUESTS.kind, f"can't be read: {denied.message}")]
    return [_waiting(where, one, ready) for one in found.items if (ready := _ready(one)).get("status") != "True"]


def _waiting(where: str, request: Node, ready: dict[str, str]) -> Finding:
    name, certificate = request["metadata"]["name"], (request["metadata"].get("annotations") or {}).get(NAME, "")
    text = (
        f"asks cert-manager for the Certificate {certificate}, and is {ready.get('reason', 'Pending')}: {ready.get('message', 'no answer')}"
    )
    return error("certificate", f"CertificateRequest {where}/{name}", text, repairs.request_again(where, name))


def _ready(request: Node) -> dict[str, str]:
    conditions = (request.get("status") or {}).get("conditions") or []
    return next((one for one in conditions if one.get("type") == "Ready"), {})
