"""The CEL rules that the API server runs on our objects, as data. Their Python twins live in `api.cel`; nothing here needs pydantic."""

from __future__ import annotations

from typing import Any, Final, NamedTuple


class Constraint(NamedTuple):
    """One CEL rule: an id for people, the expression that must hold, and the message shown when it does not."""

    id: str
    rule: str
    message: str


def validations(*constraints: Constraint) -> dict[str, Any]:
    """Writes the rules in the form that a structural schema carries."""
    return {"x-kubernetes-validations": [{"rule": item.rule, "message": item.message} for item in constraints]}


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
CKPT_SOURCE_ALPHA: Final = Constraint(
    "cel-ckpt-source",
    "(has(self.enabled) && !self.enabled) || (has(self.checkpointRef) && size(self.checkpointRef) > 0)"
    " || (has(self.identity) && has(self.identity.model) && has(self.identity.backendFramework))",
    "an enabled checkpoint must name a checkpointRef, or an identity with model and backendFramework",
)
CKPT_SOURCE_BETA: Final = Constraint(
    "cel-ckpt-source",
    "(has(self.checkpointRef) && size(self.checkpointRef) > 0) || has(self.identity)",
    "checkpoint must name a checkpointRef or an identity",
)
CKPT_JOB_REF: Final = Constraint(
    "cel-ckpt-job-ref",
    "!has(self.job) || !has(self.checkpointRef) || size(self.checkpointRef) == 0",
    "job must not be given together with checkpointRef: an existing checkpoint needs no job",
)
CKPT_JOB_AUTO: Final = Constraint(
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

KVT_LABEL_REQUIRED: Final = Constraint("cel-kvt-label-required", "has(self.labelKey)", "labelKey must be given")
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
    "component names must be unique even when upper and lower case are not told apart",
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

KVT: Final = (KVT_LABEL_REQUIRED, KVT_WEIGHT_REQUIRED, KVT_WEIGHT_ONLY_PREFERRED)
CHECKPOINT_ALPHA: Final = (CKPT_SOURCE_ALPHA, CKPT_JOB_REF, CKPT_JOB_AUTO)
CHECKPOINT_BETA: Final = (CKPT_SOURCE_BETA, CKPT_JOB_REF, CKPT_JOB_AUTO)
ALL: Final[tuple[Constraint, ...]] = (
    PVC_CREATE,
    SHM_SIZE,
    *CHECKPOINT_ALPHA,
    CKPT_SOURCE_BETA,
    *GMS_ALPHA,
    *GMS_BETA[:2],
    *KVT,
    KVT_PREFIX_LENGTH,
    ONE_EPP,
    UNIQUE_NAMES,
    EPP_TYPE,
    EPP_ONE_SOURCE,
    CKPT_IDENTITY_IMMUTABLE,
)
