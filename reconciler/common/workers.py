"""Workers that frontends know, by their DynamoWorkerMetadata, and what a status says of a component's runtime from line 1.4 on. Pure."""

from collections import Counter
from collections.abc import Iterable, Iterator
from typing import Any, Final

from ...api.line import Line
from ...kube.protocol import Node
from ..render.merge import object_items
from ..render.names import MAIN
from .keys import Key, key_of
from .resources import COMPONENT

_PARTS: Final = ("DYN_NAMESPACE", "DYN_NAMESPACE_WORKER_SUFFIX")  # the runtime joins them by a hyphen


def count_registered(metadata: Iterable[Node], names: Iterable[str]) -> Counter[str]:
    """The registered workers of components' objects of these names."""
    wanted, counts = frozenset(names), Counter[str]()
    for pod in {pod for obj in metadata for pod in _pods(obj)}:
        counts.update(name for name in _objects(pod) if name in wanted)
    return counts


def components_of_worker(metadata: Node) -> list[Key]:
    """The components' objects that a worker may belong to."""
    namespace = key_of(metadata).namespace
    return [Key(COMPONENT, namespace, name) for pod in _pods(metadata) for name in _objects(pod)]


def trim_metadata(metadata: Node) -> None:
    """Drop the spec, which a worker publishes and no pass reads."""
    metadata.pop("spec", None)


def _pods(metadata: Node) -> Iterator[str]:
    """The pod of a worker: the owner, or the one of the same name."""
    owners = [str(owner.get("name")) for owner in object_items(metadata["metadata"].get("ownerReferences")) if owner.get("kind") == "Pod"]
    yield owners[0] if owners else str(metadata["metadata"]["name"])


def _objects(pod: str) -> set[str]:
    """Name what a pod may be of: a Deployment's pods are named `NAME-HASH-RANDOM`, a LeaderWorkerSet's `NAME-0` and `NAME-0-1`."""
    return {pod.rsplit("-", count)[0] for count in (1, 2)}


def read_runtime_figures(line: Line, templates: Iterable[Node], status: Node) -> Node:
    """The figures by a component's pod templates and the status of what runs them; empty where definitions would drop them."""
    if line < Line.V1_4:
        return {}
    scheduled, namespace = status.get("scheduledReplicas"), next(filter(None, map(_namespace, templates)), "")
    counted = {"scheduledReplicas": scheduled} if isinstance(scheduled, int) else {}
    return {**counted, "runtimeNamespace": namespace} if namespace else counted


def _namespace(template: Node) -> str:
    """The Dynamo namespace of the main container; empty where its variables are known only to the kubelet."""
    main = next((container for container in object_items(template["spec"].get("containers")) if container.get("name") == MAIN), {})
    variables: dict[Any, Node] = {variable.get("name"): variable for variable in object_items(main.get("env"))}
    parts = [variables[name] for name in _PARTS if name in variables]
    if any("valueFrom" in part or "$(" in str(part.get("value")) for part in parts):
        return ""
    return "-".join(str(part["value"]) for part in parts if part.get("value"))
