"""Finds graphs that have lost their components, as happens while conversion is switched off, and says from where to restore them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final, NamedTuple

import orjson

from dynamo_webhooks.api.kinds import BY_NAME, GROUP, api_version
from dynamo_webhooks.cli.doctor.finding import Finding, error, warning
from dynamo_webhooks.kube.errors import ApiError, ForbiddenError, NotFoundError
from dynamo_webhooks.kube.resources import DEPLOYMENTS, Resource, of_kind
from dynamo_webhooks.kube.storage_versions import definition
from dynamo_webhooks.reconciler.render.names import COMPONENT, GRAPH_NAME

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from dynamo_webhooks.api.kinds import Kind
    from dynamo_webhooks.cli.doctor.sight import Sight
    from dynamo_webhooks.kube.protocol import Cluster

Node = dict[str, Any]
_GRAPH: Final = BY_NAME["DynamoGraphDeployment"]
_PARTS: Final = BY_NAME["DynamoComponentDeployment"]
_WORKLOADS: Final = (
    DEPLOYMENTS,
    Resource("grove.io", "v1alpha1", "podcliquesets", "PodCliqueSet"),
    Resource("leaderworkerset.x-k8s.io", "v1", "leaderworkersets", "LeaderWorkerSet"),
)
_APPLIED: Final = "kubectl.kubernetes.io/last-applied-configuration"
_SHOWN: Final = 5  # children that are named of one graph


class _Child(NamedTuple):
    name: str  # with its kind
    component: str  # by its label; empty where it holds the whole graph


async def emptied(cluster: Cluster, sight: Sight) -> list[Finding]:
    """Graphs without components are errors; children of a component that the graph doesn't name are warnings.

    Graphs are read in the version in which they are stored, so that no conversion stands between.
    """
    found: list[Finding] = []
    graphs = await listed(cluster, stored(sight, _GRAPH), "", found)
    if not graphs:
        return found
    children: dict[tuple[str, str], list[_Child]] = {}
    for resource in (stored(sight, _PARTS), *_WORKLOADS):
        for obj in await listed(cluster, resource, GRAPH_NAME, found):
            metadata = obj["metadata"]
            place = (metadata.get("namespace", ""), metadata["labels"][GRAPH_NAME])
            child = _Child(f"{resource.kind} {metadata['name']}", metadata["labels"].get(COMPONENT, ""))
            children.setdefault(place, []).append(child)
    for graph in graphs:
        metadata = graph["metadata"]
        if not metadata.get("deletionTimestamp"):
            found += _judged(graph, children.get((metadata.get("namespace", ""), metadata["name"]), []))
    return found


def stored(sight: Sight, kind: Kind) -> Resource:
    """A kind in the version in which its objects are stored."""
    return of_kind(kind.name, definition(sight.crds[kind.plural] or {}).storage or kind.storage_version)


async def listed(cluster: Cluster, resource: Resource, labels: str, found: list[Finding]) -> list[Node]:
    """The objects of every namespace; adds to `found` why they can't be listed."""
    try:
        return (await cluster.list(resource, labels=labels)).items
    except NotFoundError:
        return []  # the kind is not served
    except ForbiddenError as failed:
        found.append(warning("permission", f"{resource.plural} of every namespace", f"can't be listed: {failed.message}"))
    except ApiError as failed:
        found.append(error("emptied", f"{resource.plural} of every namespace", f"can't be listed: {failed.message}"))
    return []


def _judged(graph: Node, children: list[_Child]) -> Iterator[Finding]:
    metadata = graph["metadata"]
    what, named = f"{_GRAPH.name} {metadata.get('namespace', '')}/{metadata['name']}", _components(graph)
    if not named:
        text = "has no component: its fields are lost, as happens when it is written while conversion is switched off"
        yield error("emptied", what, text + _left(children) + _sources(graph), _repair(graph))
        return
    strays = [each for each in children if each.component and each.component not in named]
    for component in dict.fromkeys(each.component for each in strays):
        of_it = [each for each in strays if each.component == component]
        text = f"doesn't name component {component}, which is still there{_left(of_it)}; if nobody removed it, its fields are lost"
        yield warning("emptied", what, text + _sources(graph), _repair(graph, component))


def _components(obj: Mapping[str, Any]) -> set[str]:
    """The names of a graph's components, in either version."""
    spec = obj.get("spec")
    if not isinstance(spec, dict):
        return set()
    services, components = spec.get("services"), spec.get("components")
    listed = [each.get("name", "") for each in components if isinstance(each, dict)] if isinstance(components, list) else []
    return {*(services if isinstance(services, dict) else ()), *(name for name in listed if isinstance(name, str))}


def _left(children: list[_Child]) -> str:
    if not children:
        return ""
    names = [each.name for each in children]
    more = f" and {len(names) - _SHOWN} more" if len(names) > _SHOWN else ""
    return f"; {', '.join(names[:_SHOWN])}{more} still say what it was"


def _sources(graph: Node) -> str:
    """From where it can be restored, the nearest first."""
    fields = graph["metadata"].get("managedFields") or ()
    managers = dict.fromkeys(str(each["manager"]) for each in fields if each.get("manager") and not each.get("subresource"))
    told = f" (written by {', '.join(managers)})" if managers else ""
    return f"; apply it again from where it came{told}, or restore it from a backup of etcd"


def _repair(graph: Node, component: str = "") -> str:
    """Applies what was applied last, where the graph remembers that, and it has what is missing."""
    metadata = graph["metadata"]
    try:
        applied = orjson.loads((metadata.get("annotations") or {}).get(_APPLIED) or "null")
    except ValueError:
        return ""
    named = _components(applied) if _is_same(applied, metadata) else set()
    if not named or (component and component not in named):
        return ""
    version = applied["apiVersion"].rpartition("/")[2]
    where = f"-n {metadata.get('namespace', '')} {_GRAPH.plural}.{version}.{GROUP}/{metadata['name']}"
    return f"kubectl apply view-last-applied {where} | kubectl apply -f -"


def _is_same(applied: object, metadata: Node) -> bool:
    """Whether an annotation, which its author may have written by hand, holds the same graph and nothing that kubectl would apply else."""
    if not isinstance(applied, dict) or "items" in applied:  # whatever has items is a list of objects to kubectl
        return False
    kinds = [(api_version(each.name), _GRAPH.name) for each in _GRAPH.versions]
    said = applied.get("metadata", {})
    there = isinstance(said, dict) and all(said.get(key, metadata.get(key)) == metadata.get(key) for key in ("name", "namespace"))
    return there and (applied.get("apiVersion"), applied.get("kind")) in kinds
