"""Shared definitions of the rules (Grove pathway, node count, GMS and failover layouts, named patterns) and the names of the domain."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any, Final, TypeGuard

from ..api.line import Line
from ..api.paths import Key, Path
from ..api.wording import shorten
from .facts import UNKNOWN
from .finding import Mend
from .review import CREATE, Fields, Review

if TYPE_CHECKING:
    from collections.abc import Iterable

    from .at import At, Hits

GROVE_OPT_OUT: Final = "nvidia.com/enable-grove"
DISCOVERY_BACKEND: Final = "nvidia.com/dynamo-discovery-backend"
DISCOVERY_MODE: Final = "nvidia.com/dynamo-kube-discovery-mode"
VLLM_EXECUTOR: Final = "nvidia.com/vllm-distributed-executor-backend"
ORIGIN_VERSION: Final = "nvidia.com/dynamo-operator-origin-version"
WORKLOAD_PROVIDER: Final = "nvidia.com/workload-provider"
GROVE_UPDATE_STRATEGY: Final = "nvidia.com/grove-update-strategy"
_STRATEGIES: Final = ("RollingRecreate", "OnDelete", "Coherent")
POWER_LIMIT: Final = "dynamo.nvidia.com/gpu-power-limit"
POWER_LIMIT_PATH: Final = ("podTemplate", "metadata", "annotations", Key(POWER_LIMIT))  # of a component
GROVE: Final = "grove"  # the providers of workloads
COMPONENTS: Final = "component"
EXECUTORS: Final = ("mp", "ray")
INTRA_POD: Final = "IntraPod"
INTER_POD: Final = "InterPod"
LABEL_WANTED: Final = "must be a container name of at most 63 lower-case letters, digits and inner dashes"
MAIN: Final = "main"
LPX: Final = "lpx"  # the type of components that the LPX scheduler runs
WORKERS: Final = ("worker", "prefill", "decode")  # the types of components that run an engine
_CONTAINERS: Final = ("podTemplate", "spec", "containers")
_NO_MAIN: Final[Path] = (*_CONTAINERS, Key(MAIN))

_DOMAIN: Final = re.compile(r"[a-z0-9]([a-z0-9-]*[a-z0-9])?")
_LABEL: Final = re.compile(r"[a-z0-9]([-a-z0-9]*[a-z0-9])?")
_WHOLE: Final = re.compile(r"[+-]?[0-9]+")
_INT64: Final = range(-(2**63), 2**63)
_LONGEST: Final = 253  # characters of a name
_MOST_DIGITS: Final = 19  # of a number in that range


def list_grove_strategies(line: Line) -> tuple[str, ...]:
    """The update strategies that Grove knows, spelt as it does: since line 1.6 also one that replaces groups of pods together."""
    return _STRATEGIES if line >= Line.V1_6 else _STRATEGIES[:-1]


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


def quote_all(names: Iterable[str]) -> str:
    """Lists names in order, each in double quotes."""
    return ", ".join(f'"{name}"' for name in sorted(names))


def is_enabled(block: Any) -> TypeGuard[Fields]:
    """Whether a block with a switch is present and switched on."""
    return bool(block) and block.get("enabled") is True


def node_count(component: Fields) -> int:
    """Number of nodes of a component's replica: 1 without `multinode`, 0 where `nodeCount` is absent inside it."""
    multinode = component.get("multinode")
    if multinode is None:
        return 1
    return multinode.get("nodeCount") or 0


def is_multinode(component: Fields) -> bool:
    """Whether a component spans several nodes."""
    return node_count(component) > 1


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


def quote_once(text: str) -> str:
    """A value of the whole object, as the findings of each of its components may repeat it: no name in use is longer."""
    return shorten(text, _LONGEST)


def explain_workers_only(component: Fields) -> str:
    """The end of a sentence about what only workers may have."""
    return f'unless type is worker, prefill or decode, got type "{quote_once(str(component.get("type") or ""))}"'


def opts_out_of_grove(review: Review) -> bool:
    """Whether the graph's annotation keeps it off Grove; only `false`, in any case, does."""
    written = review.annotations.get(GROVE_OPT_OUT)
    return written is not None and len(written) == len("false") and written.lower() == "false"


def is_line_1_4(review: Review) -> bool:
    """Whether line 1.4 of the operator, or a later one, is what judges."""
    return review.line >= Line.V1_4


def is_line_1_5(review: Review) -> bool:
    """Whether line 1.5 of the operator, or a later one, is what judges."""
    return review.line >= Line.V1_5


def is_line_1_6(review: Review) -> bool:
    """Whether line 1.6 of the operator, or a later one, is what judges."""
    return review.line >= Line.V1_6


def read_provider(at: At) -> str | None:
    """The workload provider in the graph's annotation, which operator 1.5 and later write; None without one.

    Needs the fact `grove` where the defaults of a new graph overwrite what its author wrote.
    """
    chosen = at.review.annotations.get(WORKLOAD_PROVIDER) if is_line_1_5(at.review) else None
    if chosen is not None and at.review.operation == CREATE and not opts_out_of_grove(at.review):
        at.fact("grove")
    return chosen


def choose_provider(at: At) -> str:
    """The workload provider of a new graph, decided once since operator 1.5. Needs the fact `grove` unless the graph opts out."""
    return GROVE if not opts_out_of_grove(at.review) and at.fact("grove") else COMPONENTS


def provider(at: At) -> str | None:
    """The workload provider since operator 1.5; None for a graph of an older operator, which was not adopted yet."""
    chosen = read_provider(at)
    return choose_provider(at) if chosen is None and at.review.operation == CREATE else chosen


def default_provider(at: At) -> str | None:
    """The orchestrator that the defaults set: for a new graph the chosen one, whatever its annotation says, else the stored one."""
    if at.review.operation == CREATE:
        return choose_provider(at)
    stored = ((at.review.old or {}).get("metadata") or {}).get("annotations") or {}
    return read_provider(at) or (stored.get(WORKLOAD_PROVIDER) if is_line_1_5(at.review) else None)


def explain_off_grove(at: At) -> str:
    """Why this graph is not on the Grove pathway, as the end of a sentence; "" when it is on it. Needs the fact `grove`.

    The annotation of a graph that runs decides alone, so that an unknown fact does not matter then. That of a new graph was written by
    the defaults, so the cause of what they wrote is given.
    """
    chosen, opted_out = read_provider(at), opts_out_of_grove(at.review)
    if chosen == GROVE:
        return ""
    new = at.review.operation == CREATE
    if chosen is not None and not (new and (opted_out or at.review.facts.grove is False)):
        return f'the graph was created without Grove (annotation {WORKLOAD_PROVIDER}: "{quote_once(chosen)}")'
    if opted_out:
        if at.review.facts.grove is False:
            return explain_absence(at, "grove", "Grove")
        return f'the annotation {GROVE_OPT_OUT} is "{at.review.annotations[GROVE_OPT_OUT]}"'
    return "" if at.fact("grove") else explain_absence(at, "grove", "Grove")


def way_to_grove(at: At) -> str:
    """Fix text: how to move this graph to Grove."""
    steps = []
    if at.review.facts.grove is False:
        steps.append(provide(at, GROVE, "Grove"))
    if opts_out_of_grove(at.review):
        steps.append(f"remove the annotation {GROVE_OPT_OUT}")
    if at.review.operation != CREATE and read_provider(at) is not None:
        steps.append("create the graph again")
    return " and ".join(steps) or "run the graph on Grove"


def component_off_grove(at: At) -> str:
    """Explain why a component, of a graph or alone, doesn't run on Grove."""
    return explain_off_grove(at) if at.review.kind.startswith("DynamoGraphDeployment/") else "a standalone component never runs on Grove"


def explain_absence(at: At, fact: str, name: str) -> str:
    """Why something that a fact says is not to be had isn't, as a sentence."""
    off = at.review.facts.switchedOff
    if off is UNKNOWN:
        return f"{name} is not served, or is switched off in the operator"
    return f"{name} is switched off in the operator" if fact in off else f"{name} is not served by the cluster"


def provide(at: At, fact: str, name: str) -> str:
    """Fix text for a missing API."""
    off = at.review.facts.switchedOff
    return f"switch {name} on in the operator" if off is not UNKNOWN and fact in off else f"install {name}"


def owning_graph(review: Review) -> str | None:
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


def read_now_and_before(at: At, field: str) -> tuple[str, str] | None:
    """The text of a field below a place and in the stored object; None when they are the same. Absent, null and "" are."""
    now, before = at.get(field) or "", at.was(field) or ""
    return None if now == before or at.old is None else (now, before)


def check_domain(at: At, field: str, domain: str | None) -> Hits:
    """Find a topology domain that is malformed."""
    if domain and not is_domain(domain):
        text = f'must be lower-case letters, digits and inner dashes, got "{domain}"'
        yield at.invalid(field, domain, text, mend=Mend(domain.lower()) if is_domain(domain.lower()) else None)


def check_unchanged(at: At, field: str, thing: str) -> Hits:
    """Find a field whose text an update changes; `thing` names the object ("graph")."""
    if changed := read_now_and_before(at, field):
        seen, wanted = (f'"{value}"' if value else "unset" for value in changed)
        yield at.immutable(field, f"must stay {wanted} once the {thing} exists, got {seen}", value=changed[0])
