"""Places where a graph overrides what Grove is given, and the types of Grove that they mean. Cost: one look at every component."""

from collections.abc import Iterator
from typing import Final, NamedTuple

from ..api.paths import Path
from .at import At
from .components import LPX, forces_scaling_group, interpod_gms, is_multinode, list_components
from .grove import GROVE, provider
from .review import Fields

FIELD: Final = "providerOverride"
API_VERSION: Final = "grove.io/v1alpha1"
SET: Final = "PodCliqueSet"
SCALING_GROUP: Final = "PodCliqueScalingGroupConfig"
CLIQUE: Final = "PodCliqueTemplateSpec"
# fields of a graph's spec without which it has no override
WHEN: Final = (FIELD, f"components.*.{FIELD}", "components.*.roles")


class Override(NamedTuple):
    """One block that overrides; `target` is the type of Grove that its place means, "" where there is none."""

    path: Path  # below the spec
    block: Fields
    target: str
    before: Fields | None = None  # the stored block; that of a role is found by the role's name


def list_overrides(spec: Fields, old: Fields | None = None) -> Iterator[Override]:
    """Every override of a graph, the graph's own first, beside those of the stored graph."""
    if (block := spec.get(FIELD)) is not None:
        yield Override((FIELD,), block, SET, (old or {}).get(FIELD))
    stored = (old or {}).get("components") or ()
    for index, _, component in list_components(spec):
        spread, was = is_multinode(component), (stored[index] if index < len(stored) else None) or {}
        if (block := component.get(FIELD)) is not None:
            grouped = spread or interpod_gms(component) or forces_scaling_group(component)
            yield Override(("components", index, FIELD), block, SCALING_GROUP if grouped else CLIQUE, was.get(FIELD))
        if not (roles := component.get("roles")) or component.get("type") == LPX:
            continue
        before = {role.get("name"): role for role in was.get("roles") or () if role}
        single = spread and not interpod_gms(component)
        for place, role in enumerate(roles):
            if (block := (role or {}).get(FIELD)) is not None:
                kept = before.get(role.get("name"), {}).get(FIELD)
                yield Override(("components", index, "roles", place, FIELD), block, CLIQUE if single else "", kept)


def on_grove(at: At) -> bool:
    """Whether it is decided that Grove runs the graph: else provider-override-requires-grove speaks, and nothing else does."""
    return provider(at) == GROVE


def list_grove_overrides(at: At) -> Iterator[Override]:
    """The overrides of a graph that Grove runs."""
    overrides = list(list_overrides(at.value, at.old))
    if overrides and on_grove(at):
        yield from overrides


def changes_provider(override: Override, field: str) -> bool:
    """Whether an update changes a field that must stay: then provider-override-immutable speaks, and no other rule does."""
    return (override.before or {}).get(field) not in (None, "", override.block.get(field))


def topology_steps(override: Override) -> tuple[str, ...]:
    """The way inside `value` to the one field that may be overridden."""
    return ("spec", "template", "topologyConstraint") if override.target == SET else ("topologyConstraint",)


def writes_topology(override: Override) -> bool:
    """Whether an override says where Grove packs pods."""
    value: object = override.block.get("value")
    for step in topology_steps(override):
        value = value.get(step) if isinstance(value, dict) else None
    return value is not None
