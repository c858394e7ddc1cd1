"""One small function for each CEL rule of our schemas, with its meaning. Texts and messages are `api.models.constraints`'.

`value` is the CEL `self`: a defaulted object without nulls that has passed the schema phase, so types are as the schema says, and a
field that is present is a field that `has()` sees. A rule whose CEL text changes must change here too: cluster tests compare the two.
"""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from dynamo_webhooks.api.models import constraints
from dynamo_webhooks.api.paths import MISSING
from dynamo_webhooks.api.quantity import parse

if TYPE_CHECKING:
    from collections.abc import Callable

    from dynamo_webhooks.api.models.constraints import Constraint

    Holds = Callable[[Any, Any], bool]

_WHERE_LONGEST: Final = 253
_EXECUTOR: Final = "nvidia.com/vllm-distributed-executor-backend"


class EvaluationError(Exception):
    """A rule that can't be evaluated on a value; the API server then refuses, as if the rule were broken."""


class UnportedRuleError(LookupError):
    """A schema carries a CEL rule that has no twin here: port it to this module."""


class Twin(NamedTuple):
    """One rule: its id, its CEL text, and the same as a function of the value and the value that was there before.

    `holds` may raise EvaluationError. A transition rule speaks of `oldSelf`, so it is asked only where
    there is an old value, unless its schema says `optionalOldSelf`.
    """

    id: str
    rule: str
    holds: Callable[[Any, Any], bool]

    @property
    def transition(self) -> bool:
        """Says whether the rule compares with the old value; such a rule is never silenced because nothing changed."""
        return "oldSelf" in self.rule


def pvc_create(value: Any, _old: Any) -> bool:
    """DGD a1 `pvcs[]`: a claim that is to be created says size, storageClass and volumeAccessMode; empty texts will do."""
    return not value.get("create") or all(name in value for name in ("size", "storageClass", "volumeAccessMode"))


def shm_size(value: Any, _old: Any) -> bool:
    """a1 `sharedMemory`: disabled, or with a size above zero. A bare number has no quantity in CEL: an evaluation error (Q-46)."""
    if value.get("disabled"):
        return True
    size = value.get("size")
    if size is None:
        return False
    if not isinstance(size, str):
        raise EvaluationError("size must be text: a bare number is no quantity in CEL")
    try:
        return parse(size) > 0
    except ValueError as wrong:
        raise EvaluationError("size must be a quantity") from wrong


def ckpt_source_alpha(value: Any, _old: Any) -> bool:
    """a1 `checkpoint`: switched off, or names a checkpointRef, or an identity with model and backendFramework."""
    identity = value.get("identity")
    if value.get("enabled") is False or value.get("checkpointRef"):
        return True
    return identity is not None and "model" in identity and "backendFramework" in identity


def ckpt_source_beta(value: Any, _old: Any) -> bool:
    """b1 `experimental.checkpoint`: names a checkpointRef or has an identity."""
    return bool(value.get("checkpointRef")) or "identity" in value


def ckpt_job_ref(value: Any, _old: Any) -> bool:
    """Both checkpoints: no job beside a checkpointRef."""
    return "job" not in value or not value.get("checkpointRef")


def ckpt_job_auto(value: Any, _old: Any) -> bool:
    """Both checkpoints: a job only in mode Auto."""
    return "job" not in value or value.get("mode", "Auto") == "Auto"


def gms_containers_in(mode: str) -> Holds:
    """GPU memory service: extra client containers only in the intra-pod mode, which each version spells its own way."""
    return lambda value, _old: not value.get("extraClientContainers") or value.get("mode", mode) == mode


def gms_pods_in(mode: str) -> Holds:
    """GPU memory service: extra client pods only in the inter-pod mode."""
    return lambda value, _old: not value.get("extraClientPods") or value.get("mode") == mode


def gms_pods_reserved(value: Any, _old: Any) -> bool:
    """GPU memory service: no extra client pods at all, in this release."""
    return not value.get("extraClientPods")


def kvt_label_required(value: Any, _old: Any) -> bool:
    """`kvTransferPolicy`: labelKey is present."""
    return "labelKey" in value


def kvt_one_source(value: Any, _old: Any) -> bool:
    """`kvTransferPolicy` since line 1.5: either labelKey or clusterTopologyName, not both and not neither."""
    return ("labelKey" in value) != ("clusterTopologyName" in value)


def restart_on_create(value: Any, old: Any) -> bool:
    """DGD since line 1.5: no restart where there was no spec before."""
    return old is not MISSING or "restart" not in value


def min_available_kept(value: Any, old: Any) -> bool:
    """Components since line 1.5, update: a minAvailable that was there stays as it was."""
    return "minAvailable" not in old or value.get("minAvailable") == old["minAvailable"]


def min_available_most(value: Any, _old: Any) -> bool:
    """Components since line 1.5: minAvailable is at most replicas, one where there is no number, except beside zero replicas."""
    replicas = value.get("replicas", 1)
    return "minAvailable" not in value or replicas == 0 or bool(value["minAvailable"] <= replicas)


def sidecar_image(value: Any, _old: Any) -> bool:
    """Containers of b1 components since line 1.5: every one but main has an image."""
    if "name" not in value:
        raise EvaluationError("no such key: name")
    return value["name"] == "main" or bool(value.get("image"))


def init_image(value: Any, _old: Any) -> bool:
    """Init containers of b1 components since line 1.5: every one has an image."""
    return bool(value.get("image"))


def pod_executor(value: Any, _old: Any) -> bool:
    """Pod annotations of b1 components since line 1.5: the vLLM executor is mp or ray in any case of letters."""
    return _EXECUTOR not in value or _lower_ascii(value[_EXECUTOR]) in ("mp", "ray")


def kvt_weight_required(value: Any, _old: Any) -> bool:
    """`kvTransferPolicy`: enforcement `preferred` needs a weight."""
    return value.get("enforcement") != "preferred" or "preferredWeight" in value


def kvt_weight_only_preferred(value: Any, _old: Any) -> bool:
    """`kvTransferPolicy`: a weight only with enforcement `preferred`."""
    return "preferredWeight" not in value or value.get("enforcement") == "preferred"


def kvt_prefix_length(value: Any, _old: Any) -> bool:
    """`labelKey`: what stands before the first slash has at most 253 characters."""
    return str(value).find("/") <= _WHERE_LONGEST


def one_epp(value: Any, _old: Any) -> bool:
    """DGD b1 `components`: at most one of type epp."""
    return len([component for component in value if component.get("type") == "epp"]) <= 1


def unique_names(value: Any, _old: Any) -> bool:
    """DGD b1 `components`: names differ by more than ASCII upper and lower case."""
    try:
        names = Counter(_lower_ascii(component["name"]) for component in value)
    except KeyError as missing:
        raise EvaluationError("no such key: name") from missing
    return all(count == 1 for count in names.values())


def _lower_ascii(text: str) -> str:
    """Lowers A to Z only, as CEL's lowerAscii does."""
    return text.lower() if text.isascii() else "".join(char.lower() if char.isascii() else char for char in text)


def epp_type(value: Any, _old: Any) -> bool:
    """Component b1: eppConfig only on type epp."""
    return "eppConfig" not in value or value.get("type") == "epp"


def epp_one_source(value: Any, _old: Any) -> bool:
    """b1 `eppConfig`: either configMapRef or config, not both and not neither."""
    return ("configMapRef" in value) != ("config" in value)


def ckpt_identity_immutable(value: Any, old: Any) -> bool:
    """CKPT, update: an identity that was there stays as it was."""
    identity = (old.get("spec") or {}).get("identity")
    return identity is None or (value.get("spec") or {}).get("identity") == identity


def _twin(constraint: Constraint, holds: Holds) -> Twin:
    return Twin(constraint.id, constraint.rule, holds)


TWINS: Final[tuple[Twin, ...]] = (
    _twin(constraints.PVC_CREATE, pvc_create),
    _twin(constraints.SHM_SIZE, shm_size),
    _twin(constraints.CKPT_SOURCE_ALPHA, ckpt_source_alpha),
    _twin(constraints.CKPT_SOURCE_BETA, ckpt_source_beta),
    _twin(constraints.CKPT_JOB_REF, ckpt_job_ref),
    _twin(constraints.CKPT_JOB_AUTO, ckpt_job_auto),
    _twin(constraints.GMS_ALPHA[0], gms_containers_in("intraPod")),
    _twin(constraints.GMS_ALPHA[1], gms_pods_in("interPod")),
    _twin(constraints.GMS_ALPHA[2], gms_pods_reserved),
    _twin(constraints.GMS_BETA[0], gms_containers_in("IntraPod")),
    _twin(constraints.GMS_BETA[1], gms_pods_in("InterPod")),
    _twin(constraints.KVT_LABEL_REQUIRED, kvt_label_required),
    _twin(constraints.KVT_WEIGHT_REQUIRED, kvt_weight_required),
    _twin(constraints.KVT_WEIGHT_ONLY_PREFERRED, kvt_weight_only_preferred),
    _twin(constraints.KVT_PREFIX_LENGTH, kvt_prefix_length),
    _twin(constraints.ONE_EPP, one_epp),
    _twin(constraints.UNIQUE_NAMES, unique_names),
    _twin(constraints.EPP_TYPE, epp_type),
    _twin(constraints.EPP_ONE_SOURCE, epp_one_source),
    _twin(constraints.CKPT_IDENTITY_IMMUTABLE, ckpt_identity_immutable),
    _twin(constraints.KVT_ONE_SOURCE, kvt_one_source),
    _twin(constraints.RESTART_ON_CREATE, restart_on_create),
    _twin(constraints.MIN_AVAILABLE_KEPT, min_available_kept),
    _twin(constraints.MIN_AVAILABLE_MOST, min_available_most),
    _twin(constraints.SIDECAR_IMAGE, sidecar_image),
    _twin(constraints.INIT_IMAGE, init_image),
    _twin(constraints.POD_EXECUTOR, pod_executor),
)
_BY_TEXT: Final = {twin.rule: twin for twin in TWINS}


def twin_of(rule: str) -> Twin:
    """Returns the twin of a CEL text. Raises UnportedRuleError when there is none, because a rule left out would be silently kept."""
    try:
        return _BY_TEXT[rule]
    except KeyError:
        raise UnportedRuleError(f"no twin in api.cel.rules for the CEL rule: {rule}") from None
