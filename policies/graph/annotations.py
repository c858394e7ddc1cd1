"""Annotations of a graph."""

from typing import Final

from ...api.paths import Key
from ..annotations import DISCOVERY_BACKEND, DISCOVERY_MODE, EXECUTORS, GROVE_OPT_OUT, GROVE_UPDATE_STRATEGY, ORIGIN_VERSION, VLLM_EXECUTOR
from ..at import At, Findings
from ..component.failover import EMPTY_MODE, is_intrapod
from ..components import list_components
from ..finding import Mend
from ..grove import list_grove_strategies
from ..no_effect import KAI_NODE_POOL, KAI_QUEUE, VOLCANO_QUEUE
from ..review import DELETING, UPDATE
from ..rule import GRAPH_ANNOTATIONS, GRAPH_OBJECT, Stage, differs, rule
from ..semver import is_semver
from ..words import quote_once


@differs(EMPTY_MODE)
@rule("DYN108", where=GRAPH_OBJECT, when="spec.components.*.experimental", stage=Stage.FAILOVER)
def failover_intrapod_discovery_mode(at: At) -> Findings:
    """A component has standby engines in its pod, but discovery registers whole pods.

    Why
        With intra-pod failover, a pod holds two engines, and one of them serves. Discovery by pod can't distinguish them: requests would
        also go to the standby, or no engine would be found after a failover.

    Fix
        Set the graph's annotation `nvidia.com/dynamo-kube-discovery-mode` to `container`.

    Example
         {annotations}
        -    nvidia.com/dynamo-kube-discovery-mode: pod  # expect
        +    nvidia.com/dynamo-kube-discovery-mode: container
         {worker with a GPU}
               experimental: {gpuMemoryService: {mode: IntraPod}, failover: {mode: IntraPod}}

        -metadata: {name: g}  # expect
        -{worker with a GPU}
        -      experimental: {gpuMemoryService: {}, failover: {}}
    """
    names = [name for _, name, component in list_components(at.value["spec"]) if is_intrapod(component)]
    value = at.review.annotations.get(DISCOVERY_MODE)
    if names and value != "container":
        seen = "got nothing" if value is None else f'got "{value}"'
        first = f'"{min(names)}"' + (f" and {len(names) - 1} more" if len(names) > 1 else "")
        text = f'must be "container" for the intra-pod failover of {first}, {seen}'
        yield at.invalid(("metadata", "annotations", Key(DISCOVERY_MODE)), value, text, mend=Mend("container"))


@differs("values that look like an opt-out, but aren't, get a warning", lacking=True)
@rule("DYN908", where=GRAPH_ANNOTATIONS, when=GROVE_OPT_OUT, stage=Stage.ADVICE)
def warn_grove_annotation(at: At) -> Findings:
    """The annotation `nvidia.com/enable-grove` is neither true nor false.

    Why
        Only `false` keeps a graph off Grove. With `no`, `0` or an empty value the graph still runs on Grove.

    Fix
        Write `"false"` to keep the graph off Grove; write `"true"` or remove the annotation to run it there.

    Example
         {annotations}
        -    nvidia.com/enable-grove: "no"  # expect
        +    nvidia.com/enable-grove: "False"
    """
    value = at.value[GROVE_OPT_OUT]
    if value.lower() not in ("true", "false"):
        yield at.warning((Key(GROVE_OPT_OUT),), f'must be "true" or "false", got "{value}"')


_BACKENDS: Final = ("kubernetes", "etcd")


@differs("with a misspelled backend, pods use Kubernetes without the permissions", lacking=True)
@rule("DYN113", where=GRAPH_ANNOTATIONS, when=DISCOVERY_BACKEND, stage=Stage.METADATA)
def dgd_annotation_discovery_backend(at: At) -> Findings:
    """The annotation for the discovery backend has an unknown value.

    Why
        The annotation overrides the operator's configuration. Only `kubernetes` creates the service account with which pods can find each
        other. With any other value but `etcd`, pods still use Kubernetes, but have no permission.

    Fix
        Write `kubernetes` or `etcd` in lower case, or remove the annotation to use the operator's configuration.

    Example
         {annotations}
        -    nvidia.com/dynamo-discovery-backend: kubernets  # expect
        +    nvidia.com/dynamo-discovery-backend: etcd
    """
    value = at.value[DISCOVERY_BACKEND]
    if value not in _BACKENDS:
        yield at.not_supported((Key(DISCOVERY_BACKEND),), value, _BACKENDS)


_MODES: Final = ("pod", "container")


@differs("a null annotation counts as absent")
@rule("DYN105", where=GRAPH_ANNOTATIONS, when=DISCOVERY_MODE, stage=Stage.METADATA)
def dgd_annotation_discovery_mode(at: At) -> Findings:
    """The annotation for the discovery mode has an unknown value.

    Why
        Discovery registers either pods or single containers. An unknown value would silently mean pods.

    Fix
        Write `pod` or `container` in lower case, or remove the annotation, which means `pod`.

    Example
         {annotations}
        -    nvidia.com/dynamo-kube-discovery-mode: Pod  # expect
        +    nvidia.com/dynamo-kube-discovery-mode: container
    """
    value = at.value[DISCOVERY_MODE]
    if value not in _MODES:
        yield at.not_supported((Key(DISCOVERY_MODE),), value, _MODES)


@differs("a null annotation counts as absent")
@rule("DYN103", where=GRAPH_ANNOTATIONS, when=ORIGIN_VERSION, stage=Stage.METADATA)
def dgd_annotation_origin_version(at: At) -> Findings:
    """The annotation for the origin version isn't a version.

    Why
        The operator writes the version that created a graph into this annotation, and keeps that version's behaviour for the graph. A
        value that isn't a version would silently select the oldest behaviour.

    Fix
        Remove the annotation, so that the operator writes its own version, or write one such as `1.2.0`.

    Example
         {annotations}
        -    nvidia.com/dynamo-operator-origin-version: 1.2.3.4  # expect
        +    nvidia.com/dynamo-operator-origin-version: v1.2.0-rc.1
    """
    value = at.value[ORIGIN_VERSION]
    if not is_semver(value):
        yield at.invalid((Key(ORIGIN_VERSION),), value, f'must be a semantic version such as 1.2.0, got "{value}"')


@differs("a null annotation counts as absent")
@rule("DYN104", where=GRAPH_ANNOTATIONS, when=VLLM_EXECUTOR, stage=Stage.METADATA)
def dgd_annotation_vllm_executor(at: At) -> Findings:
    """The annotation for vLLM's executor has an unknown value.

    Why
        Multi-node vLLM is started by its own multiprocessing or by Ray. Any other value would silently select a default.

    Fix
        Write `mp` or `ray` (case doesn't matter, spaces do), or remove the annotation.

    Example
         {annotations}
        -    nvidia.com/vllm-distributed-executor-backend: "mp "  # expect
        +    nvidia.com/vllm-distributed-executor-backend: "Ray"
    """
    value = at.value[VLLM_EXECUTOR]
    if value.lower() not in EXECUTORS:
        yield at.not_supported((Key(VLLM_EXECUTOR),), value, EXECUTORS)


@differs("the annotations are only known to later operators", lacking=True)
@rule("DYN176", where=GRAPH_ANNOTATIONS, when=VOLCANO_QUEUE, stage=Stage.METADATA)
def dgd_annotation_two_schedulers(at: At) -> Findings:
    """A graph has annotations for both Volcano and KAI.

    Why
        Grove starts the pods of a graph together, and only one scheduler can place them.

    Fix
        Keep the annotation of the scheduler that you use, and remove the other.

    Example
         {annotations}
             nvidia.com/volcano-scheduler-queue: team  # expect
        -    nvidia.com/kai-scheduler-queue: team
    """
    for name in (KAI_QUEUE, KAI_NODE_POOL):
        if name in at.value:
            yield at.forbidden(
                (Key(VOLCANO_QUEUE),), f"must be left out beside {name}: one scheduler places a graph's pods; keep one of both"
            )
            return


@rule("DYN726", where=GRAPH_OBJECT, on=(UPDATE, DELETING), stage=Stage.IMMUTABLE, ratchets=False, since="1.6")
def dgd_annotation_origin_immutable(at: At) -> Findings:
    """An update changes the annotation for the origin version of a graph.

    Why
        Later operators treat a graph as its origin version did, so that an upgrade doesn't restart pods. Another origin version would
        restart them.

    Fix
        Restore the old value. If there was none, remove the annotation.

    Example
         metadata: {annotations: {nvidia.com/dynamo-operator-origin-version: 1.5.0}}
         --- # becomes
         {annotations}
        -    nvidia.com/dynamo-operator-origin-version: 1.6.0  # expect
        +    nvidia.com/dynamo-operator-origin-version: 1.5.0
        +    team: search
    """
    now, before = (((obj or {}).get("metadata") or {}).get("annotations") or {} for obj in (at.value, at.old))
    written, wanted = now.get(ORIGIN_VERSION), before.get(ORIGIN_VERSION)
    if at.review.old is not None and written != wanted:
        seen, shown = ("none" if value is None else f'"{quote_once(str(value))}"' for value in (written, wanted))
        place = ("metadata", "annotations", Key(ORIGIN_VERSION))
        yield at.immutable(place, f"must keep the version that created the graph, {shown}, got {seen}", value=written)


@rule("DYN114", where=GRAPH_ANNOTATIONS, when=GROVE_UPDATE_STRATEGY, stage=Stage.METADATA, since="1.4")
def grove_update_strategy_enum(at: At) -> Findings:
    """The annotation for Grove's update strategy has an unknown value.

    Why
        Grove replaces pods itself, waits until you delete them, or since operator 1.6 replaces groups together. It refuses any other value.

    Fix
        Write `RollingRecreate`, `OnDelete` or, since operator 1.6, `Coherent`, or remove the annotation.

    Example
         {annotations}
        -    nvidia.com/grove-update-strategy: Recreate  # expect
        +    nvidia.com/grove-update-strategy: OnDelete
    """
    value = at.value[GROVE_UPDATE_STRATEGY]
    if value not in (known := list_grove_strategies(at.review.line)):
        yield at.not_supported((Key(GROVE_UPDATE_STRATEGY),), value, known)
