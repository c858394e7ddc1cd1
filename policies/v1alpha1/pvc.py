"""Persistent volume claims, which v1beta1 lacks."""

from typing import Any, Final

from ...api.quantity import is_zero, parse
from ..at import At, Findings
from ..finding import Mend
from ..review import Fields
from ..rule import CLAIMS, GRAPH_V1ALPHA1, Stage, differs, rule

_MODES: Final = ("ReadWriteOnce", "ReadOnlyMany", "ReadWriteMany", "ReadWriteOncePod")
_SHORT: Final = {"RWO": _MODES[0], "ROX": _MODES[1], "RWX": _MODES[2], "RWOP": _MODES[3]}


@differs("the API server would refuse the claim", lacking=True)
@rule("DYN127", where=CLAIMS, when="volumeAccessMode", stage=Stage.STORAGE)
def pvc_access_mode_enum(at: At) -> Findings:
    """A claim is to be created with an access mode that doesn't exist.

    Why
        Kubernetes has four access modes, and refuses a claim with any other value after the graph was accepted.

    Fix
        Write one of the four modes as Kubernetes spells them; short forms such as `RWX` are not valid.

    Example
         {claim of models}
               storageClass: shared
               size: 100Gi
        -      volumeAccessMode: RWX  # expect
        +      volumeAccessMode: ReadWriteMany
    """
    mode = at.value["volumeAccessMode"]
    if at.value.get("create") and mode and mode not in _MODES:
        meant = _SHORT.get(mode.upper())
        fix, mend = (f"write {meant}", Mend(meant)) if meant else ("", None)
        yield at.not_supported("volumeAccessMode", mode, _MODES, fix=fix, mend=mend)


@rule("DYN124", where=CLAIMS, when="create=true", stage=Stage.STORAGE)
def pvc_create_access_mode(at: At) -> Findings:
    """A claim is to be created, but has no access mode.

    Why
        The access mode decides whether pods on several nodes can mount the claim at the same time. No mode suits every graph.

    Fix
        Write `ReadWriteMany` for a claim that pods on several nodes use, or `ReadWriteOnce` for a claim that a single node uses.

    Example
         {claim of models}
               storageClass: shared
               size: 100Gi
        -      volumeAccessMode: ""  # expect
        +      volumeAccessMode: "ReadWriteMany"
    """
    if not at.value.get("volumeAccessMode"):
        yield at.required("volumeAccessMode", "must be set when create is true, got nothing")


@rule("DYN123", where=CLAIMS, when="create=true", stage=Stage.STORAGE)
def pvc_create_size(at: At) -> Findings:
    """A claim is to be created, but has no size.

    Why
        A claim requests an amount of storage. Without a size, or with zero, the claim is refused only after the graph was accepted.

    Fix
        Write the size that the models or caches need, such as `100Gi`.

    Example
         {claim of models}
               storageClass: shared
        -      size: "0"  # expect
        +      size: "100Gi"
               volumeAccessMode: ReadWriteMany
    """
    size = at.value.get("size")
    if size is None or is_zero(size):
        yield at.required("size", f"must be more than zero when create is true, got {'nothing' if size is None else size}")


@rule("DYN122", where=CLAIMS, when="create=true", stage=Stage.STORAGE)
def pvc_create_storage_class(at: At) -> Findings:
    """A claim is to be created, but has no storage class.

    Why
        The operator creates the claim exactly as described. It doesn't guess which storage class all pods can mount.

    Fix
        Name a storage class, or leave `create` out if the claim exists.

    Example
         spec:
           pvcs:
             - name: models  # expect
               create: true
        +      storageClass: shared
               size: 100Gi
               volumeAccessMode: ReadWriteMany
        +    - name: there-already

        -{claim of models}
        -      storageClass: ""  # expect
        -      size: 100Gi
        -      volumeAccessMode: ReadWriteMany
    """
    if not at.value.get("storageClass"):
        yield at.required("storageClass", "must be set when create is true, got nothing")


@differs("the second of two different claims with one name is silently ignored", lacking=True)
@rule("DYN126", where=GRAPH_V1ALPHA1, when="pvcs", stage=Stage.STORAGE)
def pvc_name_duplicate(at: At) -> Findings:
    """Two different claims of the graph have the same name.

    Why
        Only one claim of a name can be created. The first entry determines class and size, and the other is silently ignored. Identical
        entries, and entries for an existing claim, do no harm.

    Fix
        Remove one of them, or give it another name.

    Example
         spec:
           pvcs:
        -    - {name: models, create: true, storageClass: shared, size: 100Gi, volumeAccessMode: ReadWriteMany}
             - name: models  # expect
        -      create: true
        -      storageClass: local
        -      size: 1Gi
        -      volumeAccessMode: ReadWriteOnce
        +    - name: models
        +    - name: cache
    """
    claims: list[Any] = at.value["pvcs"]
    if len(claims) < 2:
        return
    first: dict[str, int] = {}
    for index, claim in enumerate(claims):
        name = claim.get("name") if claim else None
        if not name or (other := first.setdefault(name, index)) == index:
            continue
        # identical entries and those of existing claims are harmless
        if claim != claims[other] and (claim.get("create") or claims[other].get("create")):
            yield at.duplicate(("pvcs", index, "name"), name, f'must be unique, got "{name}" again after pvcs[{other}]')


@rule("DYN121", where=GRAPH_V1ALPHA1, when="pvcs", stage=Stage.STORAGE)
def pvc_name_required(at: At) -> Findings:
    """A claim of the graph has no name.

    Why
        Volume mounts of services refer to a claim by its name, and a new claim needs one.

    Fix
        Give the claim the name that the {services}' `volumeMounts` use.

    Example
         spec:
           pvcs:
             - {name: models}
        -    - name: ""  # expect
    """
    # a null entry reads as a claim without anything, hence not the selector `spec.pvcs.*`
    claims: list[Fields | None] = at.value["pvcs"]
    for index, claim in enumerate(claims):
        if not (claim and claim.get("name")):
            yield at.required(("pvcs", index, "name"), "must name the claim, got nothing")


@differs("the API server would refuse the claim", lacking=True)
@rule("DYN125", where=CLAIMS, when="create=true", stage=Stage.STORAGE)
def pvc_size_negative(at: At) -> Findings:
    """A claim is to be created with a negative size.

    Why
        The API server refuses a claim with a negative size. The graph would be accepted, but its claim would never be created.

    Fix
        Remove the minus sign.

    Example
         {claim of models}
               storageClass: shared
        -      size: -100Gi  # expect
        +      size: 100Gi
               volumeAccessMode: ReadWriteMany
    """
    size = at.value.get("size")
    if size is not None and parse(size) < 0:
        yield at.invalid("size", size, f"must be more than zero, got {size}", mend=Mend(str(size).removeprefix("-")))
