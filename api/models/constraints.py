"""The CEL rules that the API server runs on our objects, as data; `api.walk.validate` compiles them. Nothing here needs pydantic."""

from collections.abc import Iterable, Iterator
from functools import partial
from itertools import pairwise
from typing import Any, Final, NamedTuple, TypeAlias

from ..line import NEWEST, OLDEST, Line
from ..schema import BELOW

VALIDATIONS: Final = "x-kubernetes-validations"


class Constraint(NamedTuple):
    """One CEL rule: an id for people, the expression that must hold, and the message shown when it does not.

    Lines of the operator have it from `since` on, and no longer from `until` on.
    """

    id: str
    rule: str
    message: str
    since: Line = OLDEST
    until: Line | None = None

    def is_of(self, line: Line) -> bool:
        """Whether a line has the rule."""
        return self.since <= line and (self.until is None or line < self.until)


Rules: TypeAlias = tuple[Constraint, ...]


def validations(*constraints: Constraint) -> dict[str, Any]:
    """Writes the rules as a structural schema carries them: those of the newest line, and below each line that changes them the others."""
    keywords: dict[str, Any] = {VALIDATIONS: _of(constraints, NEWEST)} if _of(constraints, NEWEST) else {}
    before = {newer: _of(constraints, older) for older, newer in pairwise(Line) if _of(constraints, older) != _of(constraints, newer)}
    return keywords | ({BELOW: {str(line): {VALIDATIONS: rules or None} for line, rules in before.items()}} if before else {})


def _of(constraints: Iterable[Constraint], line: Line) -> list[dict[str, Any]]:
    return [_written(item) for item in constraints if item.is_of(line)]


def _written(item: Constraint) -> dict[str, Any]:
    return {"rule": item.rule, "message": item.message, **({"optionalOldSelf": True} if ".hasValue()" in item.rule else {})}


_until_1_3: Final = partial(Constraint, until=Line.V1_3)
_since_1_3: Final = partial(Constraint, since=Line.V1_3)
_since_1_4: Final = partial(Constraint, since=Line.V1_4)
_since_1_6: Final = partial(Constraint, since=Line.V1_6)

PVC_CREATE: Final = Constraint(
    "cel-pvc-create",
    "!has(self.create) || !self.create || (has(self.size) && has(self.storageClass) && has(self.volumeAccessMode))",
    "size, storageClass and volumeAccessMode must be given for a volume claim that is to be created",
)
SHM_SIZE: Final = Constraint(
    "cel-shm-size",
    "(has(self.disabled) && self.disabled) || (has(self.size) && quantity(self.size).isGreaterThan(quantity('0')))",
    "size must be a positive quantity unless disabled is true",
)
CKPT_SOURCE_ALPHA: Final = _until_1_3(
    "cel-ckpt-source",
    "(has(self.enabled) && !self.enabled) || (has(self.checkpointRef) && size(self.checkpointRef) > 0)"
    " || (has(self.identity) && has(self.identity.model) && has(self.identity.backendFramework))",
    "an enabled checkpoint must name a checkpointRef, or an identity with model and backendFramework",
)
CKPT_SOURCE_BETA: Final = _until_1_3(
    "cel-ckpt-source",
    "(has(self.checkpointRef) && size(self.checkpointRef) > 0) || has(self.identity)",
    "checkpoint must name a checkpointRef or an identity",
)
CKPT_JOB_REF: Final = Constraint(
    "cel-ckpt-job-ref",
    "!has(self.job) || !has(self.checkpointRef) || size(self.checkpointRef) == 0",
    "job must not be given together with checkpointRef: an existing checkpoint needs no job",
)
CKPT_JOB_AUTO: Final = _until_1_3(
    "cel-ckpt-job-auto",
    "!has(self.job) || !has(self.mode) || self.mode == 'Auto'",
    "job must only be given when mode is Auto",
)


def _gms_containers(mode: str) -> Constraint:
    rule = f"!has(self.extraClientContainers) || size(self.extraClientContainers) == 0 || !has(self.mode) || self.mode == '{mode}'"
    return Constraint("cel-gms-containers-intrapod", rule, f"extraClientContainers must be empty unless mode is {mode}")


def _gms_pods(mode: str) -> Constraint:
    rule = f"!has(self.extraClientPods) || size(self.extraClientPods) == 0 || (has(self.mode) && self.mode == '{mode}')"
    return Constraint("cel-gms-pods-interpod", rule, f"extraClientPods must be empty unless mode is {mode}")


_GMS_RESERVED: Final = Constraint(
    "cel-gms-pods-reserved",
    "!has(self.extraClientPods) || size(self.extraClientPods) == 0",
    "extraClientPods must be empty: the field is reserved for a later release",
)
GMS_ALPHA: Final = (_gms_containers("intraPod"), _gms_pods("interPod"), _GMS_RESERVED)
GMS_BETA: Final = (_gms_containers("IntraPod"), _gms_pods("InterPod"), _GMS_RESERVED)

KVT_LABEL_REQUIRED: Final = _until_1_3("cel-kvt-label-required", "has(self.labelKey)", "labelKey must be given")
KVT_WEIGHT_REQUIRED: Final = Constraint(
    "cel-kvt-weight-required",
    "!has(self.enforcement) || self.enforcement != 'preferred' || has(self.preferredWeight)",
    "preferredWeight must be given when enforcement is preferred",
)
KVT_WEIGHT_ONLY_PREFERRED: Final = Constraint(
    "cel-kvt-weight-only-preferred",
    "!has(self.preferredWeight) || (has(self.enforcement) && self.enforcement == 'preferred')",
    "preferredWeight must only be given when enforcement is preferred",
)
KVT_PREFIX_LENGTH: Final = Constraint(
    "cel-kvt-prefix-length",
    "self.indexOf('/') <= 253",
    "the prefix of a label key must be at most 253 characters",
)
ONE_EPP: Final = Constraint(
    "cel-one-epp",
    "self.filter(component, has(component.type) && component.type == 'epp').size() <= 1",
    "at most one component must be of type epp",
)
UNIQUE_NAMES: Final = Constraint(
    "cel-unique-names",
    "self.all(one, self.exists_one(other, other.name.lowerAscii() == one.name.lowerAscii()))",
    "component names must be unique regardless of upper and lower case",
)
EPP_TYPE: Final = Constraint(
    "cel-epp-type",
    "!has(self.eppConfig) || (has(self.type) && self.type == 'epp')",
    "eppConfig must only be given when type is epp",
)
EPP_ONE_SOURCE: Final = Constraint(
    "cel-epp-one-source",
    "has(self.configMapRef) != has(self.config)",
    "exactly one of configMapRef and config must be given",
)
CKPT_IDENTITY_IMMUTABLE: Final = Constraint(
    "cel-ckpt-identity-immutable",
    "!has(oldSelf.spec) || !has(oldSelf.spec.identity)"
    " || (has(self.spec) && has(self.spec.identity) && self.spec.identity == oldSelf.spec.identity)",
    "spec.identity must not change once it is set",
)

KVT_ONE_SOURCE: Final = _since_1_3(
    "cel-kvt-one-source",
    "has(self.labelKey) != has(self.clusterTopologyName)",
    "exactly one of labelKey and clusterTopologyName must be given",
)
RESTART_ON_CREATE: Final = _since_1_3(
    "cel-restart-on-create",
    "oldSelf.hasValue() || !has(self.restart)",
    "restart must not be given on creation: set restart.id later to ask for a restart",
)
MIN_AVAILABLE_KEPT: Final = _since_1_3(
    "cel-min-available-immutable",
    "!has(oldSelf.minAvailable) || (has(self.minAvailable) && self.minAvailable == oldSelf.minAvailable)",
    "minAvailable must not change once it is set",
)
MIN_AVAILABLE_MOST: Final = _since_1_3(
    "cel-min-available-replicas",
    "!has(self.minAvailable) || (has(self.replicas) && self.replicas == 0)"
    " || self.minAvailable <= (has(self.replicas) ? self.replicas : 1)",
    "minAvailable must be at most replicas, unless replicas is 0",
    until=Line.V1_6,
)
SIDECAR_IMAGE: Final = _since_1_4(
    "cel-sidecar-image",
    "self.name == 'main' || (has(self.image) && self.image != '')",
    "image must be given for every container but main",
)
INIT_IMAGE: Final = _since_1_4(
    "cel-init-image",
    "has(self.image) && self.image != ''",
    "image must be given for every init container",
)
POD_EXECUTOR: Final = _since_1_4(
    "cel-pod-vllm-executor",
    "!('nvidia.com/vllm-distributed-executor-backend' in self)"
    " || self['nvidia.com/vllm-distributed-executor-backend'].lowerAscii() in ['mp', 'ray']",
    "nvidia.com/vllm-distributed-executor-backend must be mp or ray",
)

_NATIVE: Final = ["modelRef", "backends", "hardware", "workload", "objective", "search"]
REQUEST_OF_1_7: Final = (
    Constraint(
        "cel-request-members",
        f"has(self.v1beta1) || ({' && '.join(f'has(self.{name})' for name in _NATIVE)})",
        f"must have {', '.join(_NATIVE[:-1])} and {_NATIVE[-1]}",
    ),
    Constraint(
        "cel-request-owner",
        "!has(self.v1beta1) || !("
        + " || ".join(f"has(self.{name})" for name in [*_NATIVE, "image", "recommendation", "rerun", "overrides"])
        + ")",
        "v1beta1 must be alone: it holds the whole spec of a request of nvidia.com/v1beta1",
    ),
)
REQUEST_STATUS: Final = Constraint(
    "cel-request-status-owner",
    "!has(self.v1beta1) || !(has(self.observedGeneration) || has(self.activeRunRef) || has(self.recentRunRefs) || has(self.conditions))",
    "v1beta1 must be alone: it holds the whole status of a request of nvidia.com/v1beta1",
)
REQUEST_MODEL: Final = Constraint(
    "cel-request-model",
    "has(self.v1beta2) || has(self.model)",
    "model must be given",
    since=Line.V1_7,
)
REQUEST_MODEL_ALPHA: Final = Constraint(
    "cel-request-model",
    "has(self.v1beta2) || (has(self.model) && has(self.profilingConfig))",
    "model and profilingConfig must be given",
    since=Line.V1_7,
)
REMOTE_CODE: Final = Constraint(
    "cel-remote-code",
    "!has(self.remoteCode) || self.remoteCode != 'TrustCacheAndRevision' || (has(self.revision) && has(self.cache) && has(self.cache.pvc))",
    "revision and cache.pvc must be given when remoteCode is TrustCacheAndRevision",
)
SEARCH_WORKLOAD: Final = Constraint(
    "cel-search-workload", "has(self.trace) != has(self.static)", "exactly one of trace and static must be given"
)
TRACE_SOURCE: Final = Constraint("cel-trace-source", "has(self.pvc) != has(self.uri)", "exactly one of pvc and uri must be given")
SEARCH_RATE: Final = Constraint(
    "cel-search-rate",
    "[has(self.requestRate), has(self.concurrency), has(self.kvLoadRatio)].filter(given, given).size() == 1",
    "exactly one of requestRate, concurrency and kvLoadRatio must be given",
)
SEARCH_GOAL: Final = (
    Constraint(
        "cel-search-metric",
        "self.mode != 'optimize' || (has(self.metric) && !has(self.metrics))",
        "metric must be given, and metrics must not, when mode is optimize",
    ),
    Constraint("cel-search-pareto", "self.mode != 'pareto' || !has(self.metric)", "metric must not be given when mode is pareto"),
)
SEARCH_SLA: Final = Constraint(
    "cel-search-sla",
    "has(self.e2eMs) != (has(self.ttftMs) && has(self.itlMs))",
    "must have either e2eMs, or ttftMs and itlMs",
)
SPEC_IMMUTABLE: Final = Constraint(
    "cel-spec-immutable",
    "!has(oldSelf.spec) || (has(self.spec) && self.spec == oldSelf.spec)",
    "spec must not change",
)

MIN_AVAILABLE: Final = (MIN_AVAILABLE_KEPT, MIN_AVAILABLE_MOST)
KVT: Final = (KVT_LABEL_REQUIRED, KVT_ONE_SOURCE, KVT_WEIGHT_REQUIRED, KVT_WEIGHT_ONLY_PREFERRED)
CHECKPOINT_ALPHA: Final = (CKPT_SOURCE_ALPHA, CKPT_JOB_REF, CKPT_JOB_AUTO)
CHECKPOINT_BETA: Final = (CKPT_SOURCE_BETA, CKPT_JOB_REF, CKPT_JOB_AUTO)


def _of_type(field: str, *, switched_on: str = "", first: Rules = (), template: Rules = (), roles: Rules = ()) -> tuple[Rules, Rules]:
    """Makes the rules of a graph's components, and of single ones, from the name of their type; inserts the given rules in their order.

    (cel-lpx-replicas, cel-lpx-adapter and cel-role-templates of single ones are inferred.)
    """
    lpx = f"has(self.{field}) && self.{field} == 'lpx'"
    every = (
        *first,
        *MIN_AVAILABLE,
        _since_1_6(
            "cel-min-available-most",
            f"!has(self.minAvailable) || (!has(self.replicas) && {lpx}) || (has(self.replicas) && self.replicas == 0)"
            " || self.minAvailable <= (has(self.replicas) ? self.replicas : 1)",
            "minAvailable must be at most replicas, unless replicas is 0",
        ),
        Constraint(
            "cel-type-immutable",
            f"!has(oldSelf.{field}) || (has(self.{field}) && self.{field} == oldSelf.{field})",
            f"{field} must not change once it is set",
            since=Line.V1_5,
        ),
        *template,
        _since_1_6(
            "cel-lpx-replicas",
            f"!({lpx} && has(self.replicas) && self.replicas < 1)",
            f"replicas must be at least 1 when {field} is lpx",
        ),
        _since_1_6(
            "cel-lpx-adapter",
            f"!({lpx} && has(self.scalingAdapter){switched_on})",
            f"scalingAdapter must not be given when {field} is lpx",
        ),
        *roles,
    )
    only = _since_1_6("cel-lpx-only", f"!has(self.lpx) || ({lpx})", f"lpx must only be given when {field} is lpx")
    needed = _since_1_6("cel-lpx-needed", f"!({lpx}) || has(self.lpx)", f"lpx must be given when {field} is lpx")
    alone = _since_1_6("cel-lpx-alone", f"!({lpx})", f"{field} must not be lpx outside of a graph")
    return (*every, only, needed), (*every, alone)


def _lpx_restart(parts: str, exists: str) -> Constraint:
    return _since_1_6(
        "cel-lpx-restart",
        f"!has(self.restart) || !has(self.{parts}) || !self.{parts}.exists({exists})"
        " || (has(self.restart.strategy) && has(self.restart.strategy.type) && self.restart.strategy.type == 'Parallel')",
        "restart.strategy.type must be Parallel in a graph with a component of type lpx",
    )


_LPX_TEMPLATE: Final = _since_1_6(
    "cel-lpx-template",
    "!(has(self.type) && self.type == 'lpx') || !has(self.podTemplate)",
    "podTemplate must be given in the roles when type is lpx",
)
_ROLE_TEMPLATES: Final = _since_1_6(
    "cel-role-templates",
    "(has(self.type) && self.type == 'lpx') || !has(self.roles) || !self.roles.exists(r, has(r.podTemplate))"
    " || (!has(self.podTemplate) && self.roles.all(r, has(r.podTemplate)))",
    "podTemplate must be given either for the component or in all of its roles",
)
LOCAL_PARTITIONS: Final = _since_1_6(
    "cel-local-partitions",
    "self.mode == 'IDs' ? has(self.ids) : !has(self.ids)",
    "ids must be given when mode is IDs, and only then",
)
LPX_RESTART_ALPHA: Final = _lpx_restart(
    "services", "name, has(self.services[name].componentType) && self.services[name].componentType == 'lpx'"
)
LPX_RESTART_BETA: Final = _lpx_restart("components", "c, has(c.type) && c.type == 'lpx'")
_ON: Final = " && has(self.scalingAdapter.enabled) && self.scalingAdapter.enabled == true"
PART_ALPHA, ALONE_ALPHA = _of_type("componentType", switched_on=_ON)
PART_BETA, ALONE_BETA = _of_type("type", first=(EPP_TYPE,), template=(_LPX_TEMPLATE,), roles=(_ROLE_TEMPLATES,))


def _named() -> Iterator[Constraint]:
    """Every rule that this module names, alone or in a group."""
    for value in tuple(globals().values()):
        if isinstance(value, Constraint):
            yield value
        elif type(value) is tuple:
            yield from value


ALL: Final = tuple(dict.fromkeys(_named()))
