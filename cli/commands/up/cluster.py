"""Creates, finds and removes the objects of `up` in a cluster: nothing without its mark."""

import asyncio
import contextlib
import ssl
import time
from base64 import b64decode, b64encode
from collections.abc import Iterator
from typing import Any, Final
from urllib.parse import urlsplit

from ....admission.registration import MUTATED_ONCE, Purpose, webhook_name
from ....api.crd import by_url
from ....api.kinds import BETA, BY_NAME, GROUP, KINDS
from ....api.line import Line
from ....api.wording import count_of, shorten
from ....kube.config import load_config
from ....kube.errors import ForbiddenError, InvalidError, NotFoundError, UnavailableError
from ....kube.protocol import Cluster, Node
from ....kube.resources import CRDS, JOBS, MUTATING, VALIDATING, Resource, resource_of_kind
from ....kube.storage_versions import read_definition
from ....policies.annotations import ORIGIN_VERSION
from ....reconciler.common.resources import CHILDREN, RECONCILED
from ....webhooks.routes import CONVERT, ROUTES, Route
from ...installation.connection import connect_cluster
from ..crds import make_definitions

Owned = tuple[Resource, Node]
COMPONENT: Final = "dynamo-webhooks-up"  # how this command calls itself to an API server, and its webhook configurations
MARK: Final = {"webhooks.nvidia.com/made-by": COMPONENT}
_DEFINITION_TIMEOUT_SECONDS: Final = 60.0  # to serve or delete a definition
_REPORT_AFTER_SECONDS: Final = 10.0  # for which a webhook can't be called
_POLL_SECONDS: Final = 0.25
_WHO: Final = Resource("authentication.k8s.io", "v1", "selfsubjectreviews", "SelfSubjectReview", namespaced=False)
# one that only the webhook refuses, and one that gets a default
_REFUSED: Final[dict[str, Any]] = {"modelName": "", "baseModelName": "probe"}
_GOOD: Final[dict[str, Any]] = {
    "components": [
        {"name": "main", "type": "frontend", "podTemplate": {"spec": {"containers": [{"name": "main", "image": "probe:1.5.0"}]}}}
    ]
}


class RefusedError(Exception):
    """Nothing can be tried in this cluster; the text is a sentence."""


async def _look(cluster: Cluster) -> tuple[list[Owned], list[str]]:
    """Definitions of our kinds and webhooks for them: those with the mark, and what others are called. Raises: ApiError."""
    there = [(CRDS, crd) for kind in KINDS if (crd := await cluster.get(CRDS, kind.crd_name)) is not None]
    for resource in (VALIDATING, MUTATING):
        there += [(resource, obj) for obj in (await cluster.list(resource)).items if _is_about_ours(obj)]
    ours = [each for each in there if MARK.items() <= (each[1]["metadata"].get("labels") or {}).items()]
    return ours, [f"{resource.kind} {obj['metadata']['name']}" for resource, obj in there if (resource, obj) not in ours]


def _is_about_ours(configuration: Node) -> bool:
    rules = (rule for entry in configuration.get("webhooks") or () for rule in entry.get("rules") or ())
    return any(GROUP in (rule.get("apiGroups") or ()) for rule in rules)


async def claim_cluster(kubeconfig: str) -> tuple[str, str]:
    """The URL of the API server, and our user there, once nothing would be overwritten. Raises: RefusedError, ApiError, UsageError."""
    async with connect_cluster(COMPONENT, kubeconfig) as cluster:
        ours, others = await _look(cluster)
        if others:
            names = ", ".join(others[:3]) + (f" and {len(others) - 3} more" if len(others) > 3 else "")
            raise RefusedError(
                f"the cluster has an installation that `up` didn't make: {names}; use another cluster, or uninstall that first"
            )
        await _must_be_dead(ours)
        answer = await cluster.create(_WHO, {"apiVersion": _WHO.api_version, "kind": _WHO.kind, "metadata": {}})
    return (await load_config(kubeconfig)).host, str(answer["status"]["userInfo"]["username"])


async def _must_be_dead(ours: list[Owned]) -> None:
    """Raises: RefusedError while the process that made them still serves."""
    client = next((obj["webhooks"][0]["clientConfig"] for _, obj in ours if obj.get("webhooks")), None)  # all lead to one server
    if client is None:
        return
    url, bundle = urlsplit(str(client.get("url"))), b64decode(client.get("caBundle") or "").decode()
    with contextlib.suppress(OSError, TimeoutError):  # nothing listens there, or something else
        async with asyncio.timeout(2):
            _, writer = await asyncio.open_connection(url.hostname, url.port, ssl=ssl.create_default_context(cadata=bundle))
        writer.close()
        raise RefusedError(f"another `up` serves the cluster at https://{url.netloc}; end it first")


async def wait_for_webhooks(cluster: Cluster, url: str, other: str) -> None:
    """Waits until writes are judged and get defaults; `other` is an address to advise. Raises: RefusedError in the end; ApiError."""
    began = time.monotonic()
    while reason := await _find_uncalled_webhook(cluster):
        waited = time.monotonic() - began
        if "failed calling webhook" in reason and waited > _REPORT_AFTER_SECONDS:
            cause = shorten(reason.rpartition('": ')[2] or reason, 200)
            such = f", such as --address {other}" if other not in url else ""
            raise RefusedError(
                f"the API server can't reach {url}: {cause}; name an address of this machine that it reaches{such or ': --address'}"
            )
        if waited > _DEFINITION_TIMEOUT_SECONDS:
            raise RefusedError(f"the API server must ask {url} within {_DEFINITION_TIMEOUT_SECONDS:g} seconds, and doesn't: {reason}")
        await asyncio.sleep(_POLL_SECONDS)


async def _find_uncalled_webhook(cluster: Cluster) -> str:
    """Finds out why writes aren't judged yet; empty when they are. Dry runs: nothing is stored."""
    try:
        with contextlib.suppress(InvalidError, ForbiddenError):
            await cluster.create(*_probe("DynamoModel", "v1alpha1", _REFUSED), dry_run=True)
            return "the validating webhook is not called"
        made = await cluster.create(*_probe("DynamoGraphDeployment", BETA, _GOOD), dry_run=True)
    except (NotFoundError, UnavailableError) as error:
        return error.message
    return "" if ORIGIN_VERSION in (made["metadata"].get("annotations") or {}) else "the mutating webhook is not called"


def _probe(kind: str, version: str, spec: Node) -> tuple[Resource, Node]:
    resource = resource_of_kind(kind, version)
    metadata = {"name": "dynamo-webhooks-up-probe", "namespace": "default"}
    return resource, {"apiVersion": resource.api_version, "kind": kind, "metadata": metadata, "spec": spec}


async def remove_ours(kubeconfig: str, *, of_killed: bool = False) -> str:
    """Deletes what bears the mark, all objects of the kinds, and what the reconciler made of them; a sentence about it.

    No server is needed: conversion is switched off first. Raises: RefusedError when something isn't gone in time, or `of_killed` a run
    that still serves; ApiError, UsageError.
    """
    async with connect_cluster(COMPONENT, kubeconfig) as cluster:
        ours, _ = await _look(cluster)
        if of_killed:
            await _must_be_dead(ours)
        crds = [read_definition(node) for resource, node in ours if resource is CRDS]
        for resource, obj in ours:
            if resource is not CRDS:
                await cluster.delete(resource, obj["metadata"]["name"])
        for crd in crds:
            with contextlib.suppress(NotFoundError):
                await cluster.merge_patch(CRDS, crd.name, {"spec": {"conversion": {"strategy": "None", "webhook": None}}})
        count = sum([await _delete_all(cluster, resource_of_kind(crd.kind, crd.storage)) for crd in crds])
        if crds:
            since = min(str(crd.node["metadata"]["creationTimestamp"]) for crd in crds)
            for resource in (*CHILDREN, JOBS):
                await _delete_all(cluster, resource, f"{RECONCILED}=true", since)
        for crd in crds:
            await cluster.delete(CRDS, crd.name)
        await _until_gone(cluster, [crd.name for crd in crds])
    return f"removed {count_of(len(ours), 'registration')} and {count_of(count, 'Dynamo object')}" if ours else "nothing of `up` is there"


async def _delete_all(cluster: Cluster, resource: Resource, labels: str = "", since: str = "") -> int:
    """Deletes the objects with the labels that were made at a time or later; how many there were."""
    try:
        items = (await cluster.list(resource, labels=labels)).items
    except NotFoundError:  # the kind is not served
        return 0
    chosen = [item["metadata"] for item in items if str(item["metadata"].get("creationTimestamp")) >= since]
    for metadata in chosen:
        with contextlib.suppress(NotFoundError):
            await cluster.delete(resource, metadata["name"], metadata.get("namespace", ""))
    return len(chosen)


async def _until_gone(cluster: Cluster, names: list[str]) -> None:
    began = time.monotonic()
    for name in names:
        while await cluster.get(CRDS, name) is not None:
            if time.monotonic() - began > _DEFINITION_TIMEOUT_SECONDS:
                waited = f"{name} is not gone after {_DEFINITION_TIMEOUT_SECONDS:g} seconds"
                raise RefusedError(f"{waited}: objects of it have finalizers that others must remove")
            await asyncio.sleep(_POLL_SECONDS)


def list_registrations(url: str, bundle: bytes, line: Line) -> Iterator[tuple[Resource, Node]]:
    """Every object in the order in which it is applied; `bundle` is the PEM of the authority that the API server is to trust."""
    for crd in make_definitions([kind.name for kind in KINDS], by_url(f"{url}{CONVERT.path}", bundle), line):
        crd["metadata"]["labels"] = {**(crd["metadata"].get("labels") or {}), **MARK}
        yield CRDS, crd
    for purpose, resource in ((Purpose.MUTATE, MUTATING), (Purpose.VALIDATE, VALIDATING)):
        entries = [_entry(route, url, bundle) for route in ROUTES.values() if route.purpose is purpose]
        metadata = {"name": COMPONENT, "labels": dict(MARK)}
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
