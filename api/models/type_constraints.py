"""The CEL rules that speak of a component's type, by its name in either version, and all rules together."""

from typing import Final

from ..line import Line
from . import constraints
from .constraints import EPP_TYPE, MIN_AVAILABLE, Constraint


def _type_kept(field: str) -> Constraint:
    return Constraint(
        "cel-type-immutable",
        f"!has(oldSelf.{field}) || (has(self.{field}) && self.{field} == oldSelf.{field})",
        f"{field} must not change once it is set",
        since=Line.V1_5,
    )


def _is_lpx(field: str) -> str:
    return f"has(self.{field}) && self.{field} == 'lpx'"


def _min_available_most(field: str) -> Constraint:
    return Constraint(
        "cel-min-available-most",
        f"!has(self.minAvailable) || (!has(self.replicas) && {_is_lpx(field)}) || (has(self.replicas) && self.replicas == 0)"
        " || self.minAvailable <= (has(self.replicas) ? self.replicas : 1)",
        "minAvailable must be at most replicas, unless replicas is 0",
        since=Line.V1_6,
    )


def _lpx_only(field: str) -> Constraint:
    rule = f"!has(self.lpx) || ({_is_lpx(field)})"
    return Constraint("cel-lpx-only", rule, f"lpx must only be given when {field} is lpx", since=Line.V1_6)


def _lpx_needed(field: str) -> Constraint:
    rule = f"!({_is_lpx(field)}) || has(self.lpx)"
    return Constraint("cel-lpx-needed", rule, f"lpx must be given when {field} is lpx", since=Line.V1_6)


def _lpx_replicas(field: str) -> Constraint:
    rule = f"!({_is_lpx(field)} && has(self.replicas) && self.replicas < 1)"
    return Constraint("cel-lpx-replicas", rule, f"replicas must be at least 1 when {field} is lpx", since=Line.V1_6)


def _lpx_adapter(field: str, switched_on: str) -> Constraint:
    rule = f"!({_is_lpx(field)} && has(self.scalingAdapter){switched_on})"
    return Constraint("cel-lpx-adapter", rule, f"scalingAdapter must not be given when {field} is lpx", since=Line.V1_6)


def _lpx_alone(field: str) -> Constraint:
    return Constraint("cel-lpx-alone", f"!({_is_lpx(field)})", f"{field} must not be lpx outside of a graph", since=Line.V1_6)


def _lpx_restart(parts: str, exists: str) -> Constraint:
    return Constraint(
        "cel-lpx-restart",
        f"!has(self.restart) || !has(self.{parts}) || !self.{parts}.exists({exists})"
        " || (has(self.restart.strategy) && has(self.restart.strategy.type) && self.restart.strategy.type == 'Parallel')",
        "restart.strategy.type must be Parallel in a graph with a component of type lpx",
        since=Line.V1_6,
    )


_ON: Final = " && has(self.scalingAdapter.enabled) && self.scalingAdapter.enabled == true"
_LPX_TEMPLATE: Final = Constraint(
    "cel-lpx-template",
    f"!({_is_lpx('type')}) || !has(self.podTemplate)",
    "podTemplate must be given in the roles when type is lpx",
    since=Line.V1_6,
)
_ROLE_TEMPLATES: Final = Constraint(
    "cel-role-templates",
    f"({_is_lpx('type')}) || !has(self.roles) || !self.roles.exists(r, has(r.podTemplate))"
    " || (!has(self.podTemplate) && self.roles.all(r, has(r.podTemplate)))",
    "podTemplate must be given either for the component or in all of its roles",
    since=Line.V1_6,
)
LOCAL_PARTITIONS: Final = Constraint(
    "cel-local-partitions",
    "self.mode == 'IDs' ? has(self.ids) : !has(self.ids)",
    "ids must be given when mode is IDs, and only then",
    since=Line.V1_6,
)
LPX_RESTART_ALPHA: Final = _lpx_restart(
    "services", "name, has(self.services[name].componentType) && self.services[name].componentType == 'lpx'"
)
LPX_RESTART_BETA: Final = _lpx_restart("components", "c, has(c.type) && c.type == 'lpx'")
# of every component, by the name of its type; those of a graph's components and of single ones beside it
# (cel-lpx-replicas, cel-lpx-adapter and cel-role-templates of single ones are inferred)
_OF_ALL: Final = {
    "componentType": (
        *MIN_AVAILABLE,
        _min_available_most("componentType"),
        _type_kept("componentType"),
        _lpx_replicas("componentType"),
        _lpx_adapter("componentType", _ON),
    ),
    "type": (
        EPP_TYPE,
        *MIN_AVAILABLE,
        _min_available_most("type"),
        _type_kept("type"),
        _LPX_TEMPLATE,
        _lpx_replicas("type"),
        _lpx_adapter("type", ""),
        _ROLE_TEMPLATES,
    ),
}
PART_ALPHA: Final = (*_OF_ALL["componentType"], _lpx_only("componentType"), _lpx_needed("componentType"))
PART_BETA: Final = (*_OF_ALL["type"], _lpx_only("type"), _lpx_needed("type"))
ALONE_ALPHA: Final = (*_OF_ALL["componentType"], _lpx_alone("componentType"))
ALONE_BETA: Final = (*_OF_ALL["type"], _lpx_alone("type"))
ALL: Final[tuple[Constraint, ...]] = (
    *constraints.ALL,
    *PART_ALPHA[2:],
    *PART_BETA[3:],
    ALONE_ALPHA[-1],
    ALONE_BETA[-1],
    LOCAL_PARTITIONS,
    LPX_RESTART_ALPHA,
    LPX_RESTART_BETA,
)
