"""Counts workers that frontends know: those whose DynamoWorkerMetadata is there. A pod may be ready before. Pure."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator

from ...kube.protocol import Node
from ..render.merge import object_items
from .keys import Key, key_of
from .resources import COMPONENT


def count_registered(metadata: Iterable[Node], names: Iterable[str]) -> Counter[str]:
    """The registered workers of components' objects of these names."""
    wanted, found = frozenset(names), Counter[str]()
    for pod in {pod for one in metadata for pod in _pods(one)}:
        found.update(name for name in _objects(pod) if name in wanted)
    return found


def components_of_worker(metadata: Node) -> list[Key]:
    """The components' objects that a worker may belong to."""
    namespace = key_of(metadata).namespace
    return [Key(COMPONENT, namespace, name) for pod in _pods(metadata) for name in _objects(pod)]


def lighten(metadata: Node) -> None:
    """Drops what a worker publishes, of which nothing is read."""
    metadata.pop("spec", None)


def _pods(metadata: Node) -> Iterator[str]:
    """The pod of a worker: the owner, or the one of the same name."""
    owners = [str(one.get("name")) for one in object_items(metadata["metadata"].get("ownerReferences")) if one.get("kind") == "Pod"]
    yield owners[0] if owners else str(metadata["metadata"]["name"])


def _objects(pod: str) -> set[str]:
    """What a pod may be of: a Deployment's pods are named `NAME-HASH-RANDOM`, a LeaderWorkerSet's `NAME-0` and `NAME-0-1`."""
    return {pod.rsplit("-", count)[0] for count in (1, 2)}
