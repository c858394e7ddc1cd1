"""Where a graph overrides what Grove is given, and which of Grove's types each place means. Cost: one look at every component."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, NamedTuple

from dynamo_webhooks.api.paths import MISSING, Key, lookup
from dynamo_webhooks.policies.domain import GROVE, interpod_gms, multinode, provider

if TYPE_CHECKING:
    from collections.abc import Iterator

    from dynamo_webhooks.api.paths import Path
    from dynamo_webhooks.policies.at import At
    from dynamo_webhooks.policies.review import Fields

FIELD: Final = "providerOverride"
API_VERSION: Final = "grove.io/v1alpha1"
SET: Final = "PodCliqueSet"
SCALING_GROUP: Final = "PodCliqueScalingGroupConfig"
CLIQUE: Final = "PodCliqueTemplateSpec"
ROLES: Final = ("leader", "worker")
# fields of a graph's spec without which it has no override
WHEN: Final = (FIELD, f"services.*.{FIELD}", "services.*.multinode")


class Override(NamedTuple):
    """One block that overrides; `target` is the type of Grove that its place means, "" where there is none."""

    path: Path  # below the spec
    block: Fields
    target: str


def overrides(spec: Fields, forced: frozenset[str]) -> Iterator[Override]:
    """Every override of a graph, the graph's own first; `forced` are the components with a scaling group of their own."""
    if (block := spec.get(FIELD)) is not None:
        yield Override((FIELD,), block, SET)
    for name, service in (spec.get("services") or {}).items():
        if service is None:
            continue
        spread = multinode(service)
        if (block := service.get(FIELD)) is not None:
            grouped = spread or interpod_gms(service) or name in forced
            yield Override(("services", Key(name), FIELD), block, SCALING_GROUP if grouped else CLIQUE)
        nodes = service.get("multinode") or {}
        for role in ROLES:
            if (block := (nodes.get(role) or {}).get(FIELD)) is not None:
                single = spread and not interpod_gms(service)
                yield Override(("services", Key(name), "multinode", role, FIELD), block, CLIQUE if single else "")


def on_grove(at: At) -> bool:
    """Whether it is decided that Grove runs the graph: else provider-override-requires-grove speaks, and nothing else does."""
    return provider(at) == GROVE


def of_grove(at: At) -> Iterator[Override]:
    """The overrides of a graph that Grove runs."""
    found = list(overrides(at.value, at.review.forced))
    if found and on_grove(at):
        yield from found


def changed(at: At, override: Override, field: str) -> bool:
    """Whether an update changes a field that must stay: then provider-override-immutable speaks, and no other rule does."""
    before = lookup(at.old, (*override.path, field))
    return before not in (MISSING, None, "", override.block.get(field))


def topology_steps(override: Override) -> tuple[str, ...]:
    """The way inside `value` to the one field that may be overridden."""
    return ("spec", "template", "topologyConstraint") if override.target == SET else ("topologyConstraint",)


def writes_topology(override: Override) -> bool:
    """Whether an override says where Grove packs pods."""
    value: object = override.block.get("value")
    for step in topology_steps(override):
        value = value.get(step) if isinstance(value, dict) else None
    return value is not None
