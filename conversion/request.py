"""DynamoGraphDeploymentRequest: the declaration of its spec and status, and the implicit defaults of a whole request."""

from __future__ import annotations

from typing import Any, Final

from ..api.schema import resolve, whole_schema
from .kind import LEFT, RIGHT, Kind, remainder_keys
from .lens.protocol import Fields
from .lens.simple import LeftOnly, RightOnly, same
from .lens.struct import Struct
from .request_legacy import LEGACY
from .request_profiling import PROFILING, ROUTES
from .request_status import PENDING, Results, State
from .request_stored import form

NAME: Final = "DynamoGraphDeploymentRequest"

SPEC: Final = Struct(
    *same("model", "backend", "autoApply", "runtimeVersionOverride"),
    LeftOnly("enableGpuDiscovery"),
    RightOnly("hardware"),
    RightOnly("searchStrategy", worth=bool),
    PROFILING,
)
STATUS: Final = Struct(*same("observedGeneration", "conditions"), LeftOnly("backend", "profilingResults", worth=bool), State(), Results())


def complete(source: Fields, parts: Fields, rightward: bool) -> None:
    """Write the implicit defaults of a request that no API server has stored into `parts`, because the versions' defaults differ.

    An absent autoApply is false on the left and true on the right; an absent state is Pending.
    """
    spec, built = source.get("spec"), parts.get("spec")
    if spec is None:
        spec = {}
        built = parts["spec"] = built or {}
    if type(spec) is not dict or type(built) is not dict:
        return
    if spec.get("autoApply") is None:
        built["autoApply"] = not rightward
    elif spec["autoApply"] is False and not rightward:
        del built["autoApply"]
    status = parts.get("status")
    if status is None:
        status = parts["status"] = {}
    if type(status) is dict:
        status.setdefault("phase" if rightward else "state", PENDING)


REQUEST: Final = Kind(NAME, *remainder_keys("dgdr"), SPEC, STATUS, LEGACY, complete, form)

# nested objects of which the profiling lens must route every member
_NESTED: Final = {
    "left": (LEFT, ("profilingConfig", "deploymentOverrides")),
    "right": (RIGHT, ("modelCache", "workload", "sla", "overrides", "features")),
}


def _require() -> None:
    for part, struct in (("spec", SPEC), ("status", STATUS)):
        struct.require(f"{NAME} {part}", set(_members(LEFT, part)), set(_members(RIGHT, part)))
    for side, (version, names) in _NESTED.items():
        for name in names:
            ROUTES.require(f"{NAME} spec.{name}", side, (name,), _members(version, "spec")[name])


def _members(version: str, part: str) -> dict[str, Any]:
    members: dict[str, Any] = resolve(whole_schema(NAME, version)["properties"][part])["properties"]
    return members


_require()
