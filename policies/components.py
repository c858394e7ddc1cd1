"""Reads the fields of components that several rules need."""

from typing import Any, Final, TypeGuard

from ..api.paths import Key, Path
from .annotations import POWER_LIMIT
from .review import Fields, Review
from .words import quote_once

POWER_LIMIT_PATH: Final = ("podTemplate", "metadata", "annotations", Key(POWER_LIMIT))  # of a component
INTRA_POD: Final = "IntraPod"
INTER_POD: Final = "InterPod"
DEVICE_CLASS: Final = "gpu.nvidia.com"  # of shared GPUs, where no other is named
MAIN: Final = "main"
LPX: Final = "lpx"  # the type of components that the LPX scheduler runs
WORKERS: Final = ("worker", "prefill", "decode")  # the types of components that run an engine
_CONTAINERS: Final = ("podTemplate", "spec", "containers")
_NO_MAIN: Final[Path] = (*_CONTAINERS, Key(MAIN))


def is_enabled(block: Any) -> TypeGuard[Fields]:
    """Whether a block with a switch is present and switched on."""
    return bool(block) and block.get("enabled") is True


def count_nodes(component: Fields) -> int:
    """Number of nodes of a component's replica: 1 without `multinode`, 0 where `nodeCount` is absent inside it."""
    multinode = component.get("multinode")
    if multinode is None:
        return 1
    return multinode.get("nodeCount") or 0


def is_multinode(component: Fields) -> bool:
    """Whether a component spans several nodes."""
    return count_nodes(component) > 1


def read_feature(component: Fields, name: str) -> Fields | None:
    """A component's block of an experimental feature; None without one."""
    experimental = component.get("experimental")
    return experimental.get(name) if experimental else None


def read_gms(component: Fields) -> Fields | None:
    """A component's GPU memory service; None without one."""
    return read_feature(component, "gpuMemoryService")


def read_failover(component: Fields) -> Fields | None:
    """A component's failover; None without it."""
    return read_feature(component, "failover")


def has_checkpoint(component: Fields) -> bool:
    """Whether a component is checkpointed: a checkpoint without a switch is on."""
    checkpoint = read_feature(component, "checkpoint")
    return checkpoint is not None and checkpoint.get("enabled") is not False


def interpod_gms(component: Fields) -> bool:
    """Whether a component runs the GPU memory service in pods of its own."""
    gms = read_gms(component)
    return gms is not None and gms.get("mode") == INTER_POD


def interpod_failover(component: Fields) -> bool:
    """Whether a component's standby engines live in pods of their own."""
    failover = read_failover(component)
    return failover is not None and failover.get("mode") == INTER_POD


def read_pod(component: Fields) -> Fields:
    """The pod spec of a component's template; an empty one where there is none."""
    pod: Fields = (component.get("podTemplate") or {}).get("spec") or {}
    return pod


def list_containers(component: Fields) -> list[Fields]:
    """The containers of a component's pod template, null ones as empty."""
    return [container or {} for container in read_pod(component).get("containers") or ()]


def find_main(component: Fields) -> tuple[Fields, Path]:
    """A component's main container, and its place; an empty one where there is none."""
    for index, container in enumerate(read_pod(component).get("containers") or ()):
        if container and container.get("name") == MAIN:
            return container, (*_CONTAINERS, index)
    return {}, _NO_MAIN


def explain_workers_only(component: Fields) -> str:
    """The end of a sentence about what only workers may have."""
    return f'unless type is worker, prefill or decode, got type "{quote_once(str(component.get("type") or ""))}"'


def find_owning_graph(review: Review) -> str | None:
    """The name of the graph that a component was made of, which may be empty; None for a standalone component."""
    for owner in review.metadata.get("ownerReferences") or ():
        if owner and owner.get("kind") == "DynamoGraphDeployment":
            return owner.get("name") or ""
    return None


def list_components(spec: Fields) -> list[tuple[int, str, Fields]]:
    """A graph's components with their place and name; those that are null are left out."""
    listed: list[Fields | None] = spec.get("components") or []
    return [(index, component.get("name") or "", component) for index, component in enumerate(listed) if component is not None]


def read_power_limit(component: Fields) -> str | None:
    """The power limit of a component's GPUs as the annotation of its pods says it; None without one."""
    metadata = (component.get("podTemplate") or {}).get("metadata") or {}
    limit = (metadata.get("annotations") or {}).get(POWER_LIMIT)
    return None if limit is None else str(limit)


def forces_scaling_group(component: Fields) -> bool:
    """Whether a component asks for a scaling group of Grove though it needs none."""
    return (read_feature(component, "grove") or {}).get("forceScalingGroup") is True
