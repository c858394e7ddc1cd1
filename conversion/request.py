"""DynamoGraphDeploymentRequest: the declaration of its spec and status, and the implicit defaults of a whole request."""

from typing import Any, Final

from ..api.kinds import GAMMA
from .difference import are_identical
from .kind import LEFT, RIGHT, Form, Kind, check_coverage, property_of, remainder_keys
from .lens.protocol import Context, Fields
from .lens.simple import OneSided, Route, Routes, same
from .lens.struct import Struct
from .lens.structs import object_of
from .request_legacy import LEGACY
from .request_profiling import PROFILING

PENDING: Final = "Pending"
_PHASES: Final = {"": PENDING, **{name: name for name in (PENDING, "Profiling", "Ready", "Deploying", "Failed")}}
_STATES: Final = {**{name: name for name in (PENDING, "Profiling", "Ready", "Deploying", "Failed")}, "Deployed": "Ready"}
_DELETED: Final = "DeploymentDeleted"


def phase_of(state: Any, deployment: Any) -> str:
    """The phase of a state; unknown ones are pending, as in the Go operator."""
    if state == _DELETED or (state == "Ready" and object_of(deployment).get("created") is not True):
        return "Ready"
    return "Deployed" if state == "Ready" else _PHASES.get(state, PENDING) if type(state) is str else PENDING


def _fits(state: object, deployment: object, phase: object) -> bool:
    return phase == phase_of(state, deployment) if phase != "Deployed" else state == "Ready"


class State(Routes):
    """State and phase: tables; values that one side lacks are restored only if they match the other side."""

    left: tuple[str, ...] = ("state", "deployment")
    right: tuple[str, ...] = ("phase", "dgdName", "profilingPhase", "profilingJobName", "deploymentInfo")

    def forward(self, left: Fields, right: Fields, remainder: Fields, save: Fields, context: Context) -> None:
        """Map the state; restore phase, profiling and deployment details that match the left side."""
        state, deployment = left.get("state"), left.get("deployment")
        name = object_of(deployment).get("name")
        if state is not None:
            phase = phase_of(state, deployment)
            if remainder.get("phase") == "Deployed" and phase == "Ready" and state == "Ready" and _same(remainder.get("dgdName"), name):
                phase = "Deployed"
            right["phase"] = phase
        if name and type(name) is str:
            right["dgdName"] = name
        for member in ("profilingPhase", "profilingJobName"):
            # the profiling phase ends with it; the job's name stays
            if remainder.get(member) and (member == "profilingJobName" or right.get("phase") == "Profiling"):
                right[member] = remainder[member]
        if remainder.get("deploymentInfo") is not None and _same(remainder.get("dgdName"), name):
            right["deploymentInfo"] = remainder["deploymentInfo"]
        _save_left(state, deployment, save)

    def backward(self, right: Fields, left: Fields, remainder: Fields, save: Fields, context: Context) -> None:
        """Map the phase; restore a saved state or deployment with that phase and name."""
        phase, name = right.get("phase"), right.get("dgdName")
        if phase is not None:
            left["state"] = _STATES.get(phase, PENDING) if type(phase) is str else PENDING
        if name and type(name) is str:
            left["deployment"] = {"name": name}
        if remainder:
            _restore_left(phase, name, remainder, left)
        _save_right(right, left, save)


def _save_left(state: Any, deployment: Any, save: Fields) -> None:
    if type(state) is not str:  # no schema admits it, and typed readers would refuse the remainder
        state = ""
    homeless = bool(state) and state not in _PHASES
    members = object_of(deployment)
    if homeless:
        save["state"] = state
    if type(deployment) is dict and (homeless or any(members.get(name) for name in ("namespace", "state", "created"))):
        save["deployment"] = deployment
        if state:
            save["state"] = state


def _restore_left(phase: Any, name: Any, remainder: Fields, left: Fields) -> None:
    state, deployment = remainder.get("state"), remainder.get("deployment")
    named = _same(object_of(deployment).get("name"), name)
    # a deployment with another phase is outdated, like the state saved with it
    effective_state = state or left.get("state")
    fits = not effective_state or _fits(effective_state, deployment, phase if phase is not None else PENDING)
    if state and fits and phase is not None and (named or state != _DELETED):
        left["state"] = state
    # left-only members of the same deployment stay when the right side writes another phase
    if type(deployment) is dict and named and (fits or _fits(left.get("state") or "", deployment, phase)):
        left["deployment"] = deployment


def _save_right(right: Fields, left: Fields, save: Fields) -> None:
    phase = right.get("phase")
    if phase == "Deployed" and phase_of(left.get("state"), left.get("deployment")) != "Deployed":
        save["phase"] = phase
        _copy(right, save, "dgdName")
    _copy(right, save, "profilingJobName", *(["profilingPhase"] if phase == "Profiling" else []))
    if right.get("deploymentInfo") is not None:
        _copy(right, save, "deploymentInfo", "dgdName")


def _copy(source: Fields, target: Fields, *names: str) -> None:
    for name in names:
        if source.get(name) not in (None, ""):
            target[name] = source[name]


def _same(value: Any, other: Any) -> bool:
    return (value or "") == (other or "")


class Results(Routes):
    """The resulting graph: a member on the left, the selected one of the results on the right."""

    left: tuple[str, ...] = ("generatedDeployment",)
    right: tuple[str, ...] = ("profilingResults",)

    def forward(self, left: Fields, right: Fields, remainder: Fields, save: Fields, context: Context) -> None:
        """Put it among the results, beside the saved candidates."""
        results: Fields = {}
        if pareto := object_of(remainder.get("profilingResults")).get("pareto"):
            results["pareto"] = pareto
        if left.get("generatedDeployment") is not None:
            results["selectedConfig"] = left["generatedDeployment"]
        if results:
            right["profilingResults"] = results

    def backward(self, right: Fields, left: Fields, remainder: Fields, save: Fields, context: Context) -> None:
        """Take it out, and save the candidates."""
        results = object_of(right.get("profilingResults"))
        if results.get("selectedConfig") is not None:
            left["generatedDeployment"] = results["selectedConfig"]
        if results.get("pareto"):
            save["profilingResults"] = {"pareto": results["pareto"]}


_ASIDE: Final = "kept aside"
STATE: Final = State(
    Route(("state",), ("phase",), "by table; states that have no phase are kept aside"),
    Route(("deployment", "name"), ("dgdName",), "renamed"),
    Route(("deployment",), ("dgdName",), "its name; the rest is kept aside", whole=False),
    *(Route(("deployment", name), ("dgdName",), _ASIDE, whole=False) for name in ("namespace", "state", "created")),
    *(Route((), (name,), _ASIDE) for name in ("profilingPhase", "profilingJobName", "deploymentInfo")),
)
RESULTS: Final = Results(
    Route(("generatedDeployment",), ("profilingResults", "selectedConfig"), "moved"),
    Route(("generatedDeployment",), ("profilingResults",), "a section for it", whole=False),
    Route((), ("profilingResults", "pareto"), _ASIDE),
)

ALONE: Final[dict[str, Fields]] = {LEFT: {"enableGpuDiscovery": True, "useMocker": False}, RIGHT: {"searchStrategy": "rapid"}}
# of members that the left side has without a default
SECTIONS: Final[dict[str, Fields]] = {"modelCache": {"pvcMountPath": "/opt/model-cache"}, "workload": {"isl": 4000, "osl": 1000}}


def form(request: Fields, rightward: bool, whole: bool) -> Form | None:
    """Returns the form in which a stored request or a part of one converts; None for one that no API server has decoded yet.

    A part is a stored object without one manager's fields, as in server-side apply: it lacks defaults, or both uid and name. Since line
    1.7 an update may remove defaults of the right side; such an object is `whole`, or has no resourceVersion while an API server reads it.
    """
    metadata, spec = object_of(request.get("metadata")), object_of(request.get("spec"))
    alone = ALONE[LEFT if rightward else RIGHT]
    filled = all(spec.get(name) is not None for name in ("model", "autoApply", *alone))
    if not metadata.get("uid") and (metadata.get("name") or filled):
        return None
    written = {name: value for name, value in spec.items() if not (name in alone and are_identical(value, alone[name]))}
    read = whole or not metadata.get("resourceVersion")
    if not filled and not rightward and metadata.get("uid") and read and spec.get("model") is not None:
        filled, written = True, {**written, "autoApply": True if spec.get("autoApply") is None else spec["autoApply"]}
    if not rightward:  # server-side apply writes null for a section with only schema defaults
        written |= {name: defaults for name, defaults in SECTIONS.items() if spec.get(name, ...) is None}
    plain = {**request, "spec": written} if written != spec else request
    if not filled:
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
    OneSided(left=("enableGpuDiscovery",)),
    OneSided(right=("hardware",)),
    OneSided(right=("searchStrategy",), save_if=bool),
    PROFILING,
)
STATUS: Final = Struct(
    *same("observedGeneration", "conditions"), OneSided(left=("backend", "profilingResults"), save_if=bool), STATE, RESULTS
)


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

check_coverage(SPEC, NAME, "spec", "spec", beside=frozenset({GAMMA}))
check_coverage(STATUS, NAME, "status", "status", beside=frozenset({GAMMA}))
# nested objects of which the profiling lens must route every member
for _side, _version, _names in (
    ("left", LEFT, ("profilingConfig", "deploymentOverrides")),
    ("right", RIGHT, ("modelCache", "workload", "sla", "overrides", "features")),
):
    for _name in _names:
        PROFILING.require(f"{NAME} spec.{_name}", _side, (_name,), property_of(NAME, _version, "spec", _name))
