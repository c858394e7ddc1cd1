"""Shared definitions of the rules (Grove pathway, node count, GMS and failover layouts, named patterns) and the names of the domain."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any, Final, TypeGuard

from dynamo_webhooks.api.line import Line
from dynamo_webhooks.api.paths import Key
from dynamo_webhooks.api.wording import shortened
from dynamo_webhooks.policies.facts import UNKNOWN
from dynamo_webhooks.policies.review import CREATE

if TYPE_CHECKING:
    from collections.abc import Iterable

    from dynamo_webhooks.policies.at import At
    from dynamo_webhooks.policies.review import Fields, Review

GROVE_OPT_OUT: Final = "nvidia.com/enable-grove"
DISCOVERY_BACKEND: Final = "nvidia.com/dynamo-discovery-backend"
DISCOVERY_MODE: Final = "nvidia.com/dynamo-kube-discovery-mode"
VLLM_EXECUTOR: Final = "nvidia.com/vllm-distributed-executor-backend"
ORIGIN_VERSION: Final = "nvidia.com/dynamo-operator-origin-version"
WORKLOAD_PROVIDER: Final = "nvidia.com/workload-provider"
GROVE_UPDATE_STRATEGY: Final = "nvidia.com/grove-update-strategy"
POWER_LIMIT: Final = "dynamo.nvidia.com/gpu-power-limit"
POWER_LIMIT_PATH: Final = ("extraPodMetadata", "annotations", Key(POWER_LIMIT))  # of a service
GROVE: Final = "grove"  # the providers of workloads
COMPONENTS: Final = "component"
LABEL_WANTED: Final = "must be a container name of at most 63 lower-case letters, digits and inner dashes"
EXECUTORS: Final = ("mp", "ray")
INTRA_POD: Final = "intraPod"
INTER_POD: Final = "interPod"

_DOMAIN: Final = re.compile(r"[a-z0-9]([a-z0-9-]*[a-z0-9])?")
_LABEL: Final = re.compile(r"[a-z0-9]([-a-z0-9]*[a-z0-9])?")
_WHOLE: Final = re.compile(r"[+-]?[0-9]+")
_INT64: Final = range(-(2**63), 2**63)
_LONGEST: Final = 253  # characters of a name
_MOST_DIGITS: Final = 19  # of a number in that range


def is_domain(text: str) -> bool:
    """Whether a topology domain is well-formed; any length."""
    return _DOMAIN.fullmatch(text) is not None


def is_label(text: str) -> bool:
    """Whether a text is a DNS-1123 label: 1 to 63 lower-case letters, digits and inner dashes."""
    return len(text) <= 63 and _LABEL.fullmatch(text) is not None


def whole_number(text: str) -> int | None:
    """Parses a signed 64-bit integer in plain digits; None for anything else."""
    if not _WHOLE.fullmatch(text):
        return None
    digits = text.lstrip("+-").lstrip("0") or "0"
    if len(digits) > _MOST_DIGITS:  # too large whatever they are, and long texts take Python long
        return None
    number = -int(digits) if text[0] == "-" else int(digits)
    return number if number in _INT64 else None


def quoted(names: Iterable[str]) -> str:
    """Lists names in order, each in double quotes."""
    return ", ".join(f'"{name}"' for name in sorted(names))


def enabled(block: Any) -> TypeGuard[Fields]:
    """Whether a block is present and switched on."""
    return bool(block) and block.get("enabled") is True


def node_count(component: Fields) -> int:
    """How many nodes one replica of a component spans: 1 without `multinode`, 0 where `nodeCount` is absent inside it."""
    multinode = component.get("multinode")
    if multinode is None:
        return 1
    return multinode.get("nodeCount") or 0


def multinode(component: Fields) -> bool:
    """Whether a component spans several nodes."""
    return node_count(component) > 1


def interpod_gms(component: Fields) -> bool:
    """Whether a component runs the GPU memory service in pods of its own."""
    gms = component.get("gpuMemoryService")
    return gms is not None and enabled(gms) and gms.get("mode") == INTER_POD


def interpod_failover(component: Fields) -> bool:
    """Whether a component's standby engines live in pods of their own."""
    failover = component.get("failover")
    return failover is not None and enabled(failover) and failover.get("mode") == INTER_POD


def said(text: str) -> str:
    """A value of the whole object, as the findings of each of its components may repeat it: no name in use is longer."""
    return shortened(text, _LONGEST)


def opted_out_of_grove(review: Review) -> bool:
    """Whether the graph's annotation keeps it off Grove; only `false`, in any case, does."""
    written = review.annotations.get(GROVE_OPT_OUT)
    return written is not None and len(written) == len("false") and written.lower() == "false"


def on_1_5(review: Review) -> bool:
    """Whether line 1.5 of the operator, or a later one, is what judges."""
    return review.line >= Line.V1_5


def chosen_provider(at: At) -> str | None:
    """Who runs the graph's workloads as line 1.5 remembers it in an annotation; None where nothing is remembered, as on line 1.2.

    Needs the fact `grove` where the defaults of a new graph overwrite what its author wrote.
    """
    chosen = at.review.annotations.get(WORKLOAD_PROVIDER) if on_1_5(at.review) else None
    if chosen is not None and at.review.operation == CREATE and not opted_out_of_grove(at.review):
        at.fact("grove")
    return chosen


def decided_provider(at: At) -> str:
    """Who will run a new graph's workloads on line 1.5. Needs the fact `grove` unless the graph opts out."""
    return GROVE if not opted_out_of_grove(at.review) and at.fact("grove") else COMPONENTS


def provider(at: At) -> str | None:
    """Who runs the graph's workloads on line 1.5; None for a graph of an older operator, which was not adopted yet."""
    chosen = chosen_provider(at)
    return decided_provider(at) if chosen is None and at.review.operation == CREATE else chosen


def filled_provider(at: At) -> str | None:
    """Who runs the graph's workloads as the defaults fill it in: of a new graph what is decided, whatever its annotation says."""
    return decided_provider(at) if at.review.operation == CREATE else chosen_provider(at)


def off_grove(at: At) -> str:
    """Why this graph is not on the Grove pathway, as the end of a sentence; "" when it is on it. Needs the fact `grove`.

    The annotation of a graph that runs decides alone, so that an unknown fact does not matter then.
    """
    if (chosen := chosen_provider(at)) is not None:
        return "" if chosen == GROVE else f'the annotation {WORKLOAD_PROVIDER} is "{said(chosen)}"'
    if opted_out_of_grove(at.review):
        if at.review.facts.grove is False:
            return lacking(at, "grove", "Grove")
        return f'the annotation {GROVE_OPT_OUT} is "{at.review.annotations[GROVE_OPT_OUT]}"'
    return "" if at.fact("grove") else lacking(at, "grove", "Grove")


def component_off_grove(at: At) -> str:
    """The same of a component, be it of a graph or alone."""
    return off_grove(at) if at.review.kind.startswith("DynamoGraphDeployment/") else "a standalone component never runs on Grove"


def lacking(at: At, fact: str, name: str) -> str:
    """Why something that a fact says is not to be had isn't, as a sentence."""
    off = at.review.facts.switchedOff
    if off is UNKNOWN:
        return f"{name} is not served, or is switched off in the operator"
    return f"{name} is switched off in the operator" if fact in off else f"{name} is not served by the cluster"


def owning_graph(review: Review) -> str | None:
    """The name of the graph that a component was made of, which may be empty; None when it stands alone."""
    for owner in review.metadata.get("ownerReferences") or ():
        if owner and owner.get("kind") == "DynamoGraphDeployment":
            return owner.get("name") or ""
    return None


def services(review: Review) -> dict[str, Fields]:
    """The graph's services by name; those that are null are left out."""
    return {name: service for name, service in (review.spec.get("services") or {}).items() if service is not None}


def power_limit(component: Fields) -> str | None:
    """The power limit of a component's GPUs as the annotation of its pods says it; None without one."""
    limit = ((component.get("extraPodMetadata") or {}).get("annotations") or {}).get(POWER_LIMIT)
    return None if limit is None else str(limit)


def forces_scaling_group(component: Fields) -> bool:
    """Whether a component of v1beta1 asks for a scaling group of Grove though it needs none."""
    return ((component.get("experimental") or {}).get("grove") or {}).get("forceScalingGroup") is True
