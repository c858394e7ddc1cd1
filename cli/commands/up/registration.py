"""What `up` applies: definitions and webhook configurations that lead to this machine, each with a mark."""

from base64 import b64encode
from collections.abc import Iterator
from typing import Final

from ....admission.registration import MUTATED_ONCE, Purpose, webhook_name
from ....api.crd import by_url
from ....api.kinds import BY_NAME, GROUP, KINDS
from ....api.line import Line
from ....kube.protocol import Node
from ....kube.resources import CRDS, MUTATING, VALIDATING, Resource
from ....webhooks.routes import CONVERT, ROUTES, Route
from ..crds.command import definitions

MARK: Final = {"webhooks.nvidia.com/made-by": "dynamo-webhooks-up"}
_CONFIGURATIONS: Final = {Purpose.MUTATE: MUTATING, Purpose.VALIDATE: VALIDATING}
_NAME: Final = "dynamo-webhooks-up"


def list_registrations(url: str, bundle: bytes, line: Line) -> Iterator[tuple[Resource, Node]]:
    """Every object in the order in which it is applied; `bundle` is the PEM of the authority that the API server is to trust."""
    for crd in definitions([kind.name for kind in KINDS], by_url(f"{url}{CONVERT.path}", bundle), line):
        crd["metadata"]["labels"] = {**(crd["metadata"].get("labels") or {}), **MARK}
        yield CRDS, crd
    for purpose, resource in _CONFIGURATIONS.items():
        entries = [_entry(route, url, bundle) for route in ROUTES.values() if route.purpose is purpose]
        metadata = {"name": _NAME, "labels": dict(MARK)}
        yield resource, {"apiVersion": resource.api_version, "kind": resource.kind, "metadata": metadata, "webhooks": entries}


def _entry(route: Route, url: str, bundle: bytes) -> Node:
    once = route.purpose is Purpose.MUTATE and route.kind in MUTATED_ONCE
    rule = {
        "apiGroups": [GROUP],
        "apiVersions": [route.version],
        "resources": [BY_NAME[route.kind].plural],
        "scope": "Namespaced",
        "operations": ["CREATE"] if once else ["CREATE", "UPDATE"],
    }
    return {
        "name": webhook_name(route.kind, route.version, route.purpose),
        "admissionReviewVersions": ["v1"],
        "sideEffects": "None",
        "failurePolicy": "Fail",
        "timeoutSeconds": 10,
        "matchPolicy": "Exact",
        "clientConfig": {"url": f"{url}{route.path}", "caBundle": b64encode(bundle).decode()},
        "rules": [rule],
    }
