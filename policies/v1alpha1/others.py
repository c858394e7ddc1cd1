"""Rules of what only v1alpha1 can say whose theme is a field or two."""

from typing import Final

from ...api.paths import Key, Path
from ...api.quantity import is_zero
from ..at import At
from ..domain import is_enabled
from ..finding import Finding, Mend
from ..gpu import is_plain
from ..rule import COMPONENT_V1ALPHA1, Hits, Stage, differs, rule

_MODES = ("intraPod", "interPod")


@differs(("Q-10",), "an unknown mode skips all other rules of failover; only one version's schema refuses it", lacking=True)
@rule("DYN350", where=COMPONENT_V1ALPHA1, when="failover", stage=Stage.FAILOVER)
def failover_mode_unknown(at: At) -> Hits:
    """Failover is on in a mode that doesn't exist.

    Why
        There are two layouts of standby engines. Any other word means neither, and the component would run without the standby that its
        author relies on.

    Fix
        Write intraPod or interPod, in exactly this spelling.

    Example
        spec:
    ok    backendFramework: vllm
          services:
            worker:
              componentType: worker
              resources: {limits: {gpu: "1"}}
    bad       gpuMemoryService: {enabled: true}
    bad       failover: {enabled: true, mode: interpod}  # expect
    ok        gpuMemoryService: {enabled: true, mode: interPod}
    ok        failover: {enabled: true, mode: interPod}
    """
    failover = at.value["failover"]
    if is_enabled(failover) and failover.get("mode") not in (None, "", *_MODES):
        yield at.not_supported("failover.mode", failover["mode"], _MODES)


_SIDECAR: Final = "sidecar-frontend"


@rule("DYN205", where=COMPONENT_V1ALPHA1, when="frontendSidecar", stage=Stage.COMPONENT)
def frontend_sidecar_conflict(at: At) -> Hits:
    """A container of the pod has the name that the frontend sidecar gets.

    Why
        `frontendSidecar` adds a container called `sidecar-frontend`, and the names of a pod's containers must differ.

    Fix
        Rename the container in `extraPodSpec.containers`, or drop one of the two.

    Example
        spec:
          services:
            worker:  # expect
              componentType: worker
              frontendSidecar: {image: "example/frontend:1"}
              extraPodSpec:
    bad         containers: [{name: sidecar-frontend, image: "example/other:1"}]
    ok          containers: [{name: probe, image: "example/other:1"}]
    """
    containers = at.get("extraPodSpec.containers") or ()
    if any(container and container.get("name") == _SIDECAR for container in containers):
        text = f'must not have a container "{_SIDECAR}" in extraPodSpec: frontendSidecar adds one of that name'
        yield at.forbidden("", text)


_PARTS: Final = ("limits", "requests")
_NAMED: Final = frozenset(("cpu", "memory", "gpu"))  # gpuType is a name, no amount


@differs(("G-14",), "an invalid amount is silently dropped", lacking=True)
@rule("DYN209", where=COMPONENT_V1ALPHA1, when="resources", stage=Stage.COMPONENT)
def resources_quantity_invalid(at: At) -> Hits:
    """An amount of a resource is no quantity.

    Why
        What can't be read is left out of the pod without a word: it then runs without the limit, or is scheduled where it does not fit.

    Fix
        Write a number with an optional suffix, without blanks: 2, 500m, 16Gi.

    Example
        spec:
          services:
            worker:
              componentType: worker
              resources:
    bad         limits:
    bad           cpu: two  # expect
    bad           memory: 16 Gi  # expect
    bad         requests:
    bad           custom:
    bad             rdma/ib: one  # expect
    ok          limits: {cpu: "2", memory: 16Gi, gpu: "1"}
    ok          requests: {cpu: 500m, custom: {rdma/ib: "1"}}
    """
    resources = at.value["resources"]
    for part in _PARTS:
        amounts = resources.get(part)
        if not amounts:
            continue
        for name, amount in amounts.items():
            if name in _NAMED:
                if amount and not is_plain(amount):
                    yield _unreadable(at, ("resources", part, name), amount)
            elif name == "custom" and amount:
                for custom, text in amount.items():
                    if text is not None and not is_plain(text):
                        yield _unreadable(at, ("resources", part, name, Key(custom)), text)


def _unreadable(at: At, path: Path, text: str) -> Finding:
    close = "".join(text.split())
    mend = Mend(close) if is_plain(close) else None
    return at.invalid(path, text, f'must be a quantity such as 2, 500m or 16Gi, got "{text}"', mend=mend)


@differs((), "the same block is on in v1beta1, and the scaling adapter is missing without a word", lacking=True)
@rule("DYN910", where=COMPONENT_V1ALPHA1, when="scalingAdapter", stage=Stage.ADVICE)
def scaling_adapter_off(at: At) -> Hits:
    """A component has an empty scaling adapter, which is off.

    Why
        `scalingAdapter: {}` switches the adapter on in v1beta1, but v1alpha1 has `enabled` for that, which is false if you leave it out.

    Fix
        Set `scalingAdapter.enabled` to true, or to false if the adapter is to be off.

    Example
        spec:
          services:
    bad     worker:
    bad       componentType: worker
    bad       scalingAdapter: {}  # expect
    ok      worker: {componentType: worker, scalingAdapter: {enabled: true}}
    ok      other: {componentType: worker, scalingAdapter: {enabled: false}}
    """
    if at.value["scalingAdapter"].get("enabled") is None:
        yield at.warning(
            "scalingAdapter", "is off without enabled: true, which only v1beta1 does not need", fix="set enabled to true or false"
        )


@rule("DYN204", where=COMPONENT_V1ALPHA1, when="sharedMemory", stage=Stage.COMPONENT)
def shm_size_required(at: At) -> Hits:
    """Shared memory is configured, but has no size.

    Why
        The block replaces the usual volume of 8Gi. Without a size it looks like a mistake; set `disabled` to have no volume.

    Fix
        Set `sharedMemory.size`, set `disabled: true` for no volume at all, or leave the block out.

    Example
        spec:
          services:
    bad     worker:
    bad       componentType: worker
    bad       sharedMemory: {}  # expect
    bad     other:
    bad       componentType: worker
    bad       sharedMemory:
    bad         size: 0Gi  # expect
    ok      worker: {componentType: worker, sharedMemory: {size: 16Gi}}
    ok      frontend: {componentType: frontend, sharedMemory: {disabled: true}}
    """
    memory = at.value["sharedMemory"]
    if not memory.get("disabled"):
        size = memory.get("size")
        if size is None or is_zero(size):
            seen = "nothing" if size is None else size
            yield at.required("sharedMemory.size", f"must be more than zero unless disabled is true, got {seen}")


_NOTHING: Final = "must name a directory unless useAsCompilationCache is true, got nothing"


@rule("DYN203", where=COMPONENT_V1ALPHA1, when="volumeMounts", stage=Stage.COMPONENT)
def volume_mount_point_required(at: At) -> Hits:
    """A volume mount says no directory.

    Why
        Only the compilation cache has a default path. Every other claim needs its path in the container.

    Fix
        Set `mountPoint`, or flag the mount with `useAsCompilationCache` if it is the cache.

    Example
        spec:
          services:
            worker:
              componentType: worker
              volumeMounts:
                - {name: models, mountPoint: /models}
    bad         - {name: data}  # expect
    bad         - {name: more, mountPoint: ""}  # expect
    ok          - {name: kernels, useAsCompilationCache: true}
    """
    for index, entry in enumerate(at.value["volumeMounts"]):
        mount = entry or {}
        if not mount.get("mountPoint") and not mount.get("useAsCompilationCache"):
            yield at.required(("volumeMounts", index, "mountPoint"), _NOTHING)
