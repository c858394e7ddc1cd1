"""DynamoGraphDeploymentRequest: the declaration of its spec and status, and the implicit defaults of a whole request."""

from typing import Final

from .difference import are_identical
from .kind import LEFT, RIGHT, Form, Kind, check_coverage, property_of, remainder_keys
from .lens.protocol import Fields, object_of
from .lens.simple import LeftOnly, RightOnly, same
from .lens.struct import Struct
from .request_legacy import LEGACY
from .request_profiling import PROFILING
from .request_status import PENDING, RESULTS, STATE

ALONE: Final[dict[str, Fields]] = {LEFT: {"enableGpuDiscovery": True, "useMocker": False}, RIGHT: {"searchStrategy": "rapid"}}
# of members that the left side has without a default
SECTIONS: Final[dict[str, Fields]] = {"modelCache": {"pvcMountPath": "/opt/model-cache"}, "workload": {"isl": 4000, "osl": 1000}}


def form(request: Fields, rightward: bool) -> Form | None:
    """How a stored request or a part of one converts; None for one that no API server has decoded yet.

    A part is a stored object without one manager's fields, as in server-side apply: it lacks defaults, or both uid and name.
    """
    metadata, spec = object_of(request.get("metadata")), object_of(request.get("spec"))
    alone = ALONE[LEFT if rightward else RIGHT]
    whole = all(spec.get(name) is not None for name in ("model", "autoApply", *alone))
    if not metadata.get("uid") and (metadata.get("name") or whole):
        return None
    said = {name: value for name, value in spec.items() if not (name in alone and are_identical(value, alone[name]))}
    if not rightward:  # server-side apply writes null for a section with only schema defaults
        said |= {name: defaults for name, defaults in SECTIONS.items() if spec.get(name, ...) is None}
    plain = {**request, "spec": said} if said != spec else request
    if not whole:
        return Form(plain, part=True)
    return Form(plain, _right if rightward else _left if request.get("status") else _left_spec)


def _right(parts: Fields) -> None:
    if type(spec := parts.get("spec")) is dict:
        sections = {name: {**defaults, **spec[name]} for name, defaults in SECTIONS.items() if type(spec.get(name)) is dict}
        parts["spec"] = {**ALONE[RIGHT], **spec, **sections}


def _left_spec(parts: Fields) -> None:
    if type(spec := parts.get("spec")) is dict:
        parts["spec"] = {**ALONE[LEFT], **spec}


def _left(parts: Fields) -> None:
    """Also add the state, which the left schema requires."""
    _left_spec(parts)
    if type(status := parts.get("status")) is dict:
        parts["status"] = {"state": PENDING, **status}


NAME: Final = "DynamoGraphDeploymentRequest"

SPEC: Final = Struct(
    *same("model", "backend", "autoApply", "runtimeVersionOverride"),
    LeftOnly("enableGpuDiscovery"),
    RightOnly("hardware"),
    RightOnly("searchStrategy", worth=bool),
    PROFILING,
)
STATUS: Final = Struct(*same("observedGeneration", "conditions"), LeftOnly("backend", "profilingResults", worth=bool), STATE, RESULTS)


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

check_coverage(SPEC, NAME, "spec", "spec")
check_coverage(STATUS, NAME, "status", "status")
# nested objects of which the profiling lens must route every member
for _side, _version, _names in (
    ("left", LEFT, ("profilingConfig", "deploymentOverrides")),
    ("right", RIGHT, ("modelCache", "workload", "sla", "overrides", "features")),
):
    for _name in _names:
        PROFILING.require(f"{NAME} spec.{_name}", _side, (_name,), property_of(NAME, _version, "spec", _name))
