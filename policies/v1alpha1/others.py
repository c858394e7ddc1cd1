"""What only v1alpha1 can say, a field or two at a time: deprecated, without effect, or refused by the schema of v1beta1."""

from typing import Final

from ...api.paths import Key, Path
from ...api.quantity import is_zero
from ..at import At
from ..domain import EXECUTORS, LPX, VLLM_EXECUTOR, is_enabled, is_line_1_6, owning_graph, quote_once
from ..finding import Finding, Mend
from ..gpu import is_plain
from ..no_effect import list_ignored_of_service, may_run_on_grove
from ..review import Fields, Review
from ..rule import COMPONENT_V1ALPHA1, DCD_V1ALPHA1, GRAPH_V1ALPHA1, Hits, Stage, differs, rule

_MODES = ("intraPod", "interPod")


@differs(("Q-10",), "an unknown mode disables all other failover rules there, and only one version's schema refuses it", lacking=True)
@rule("DYN350", where=COMPONENT_V1ALPHA1, when="failover", stage=Stage.FAILOVER)
def failover_mode_unknown(at: At) -> Hits:
    """Failover is enabled with an unknown mode.

    Why
        There are two layouts of standby engines. With any other value, the component would run without a standby.

    Fix
        Write intraPod or interPod, with exactly this spelling.

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
    if is_enabled(failover) and failover.get("mode") and failover["mode"] not in _MODES:
        yield at.not_supported("failover.mode", failover["mode"], _MODES)


_SIDECAR: Final = "sidecar-frontend"


@rule("DYN205", where=COMPONENT_V1ALPHA1, when="frontendSidecar", stage=Stage.COMPONENT)
def frontend_sidecar_conflict(at: At) -> Hits:
    """A container has the name of the frontend sidecar.

    Why
        `frontendSidecar` adds a container named `sidecar-frontend`, and container names in a pod must be unique.

    Fix
        Rename the container in `extraPodSpec.containers`, or remove one of the two.

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
    """The amount of a resource isn't a valid quantity.

    Why
        The operator silently drops an invalid amount: the pod then runs without the limit, or on a node that is too small.

    Fix
        Write a number with an optional suffix, without spaces: 2, 500m, 16Gi.

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
        amounts: Fields = resources.get(part) or {}
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


@differs((), "the same block enables the adapter in v1beta1; here it is silently missing", lacking=True)
@rule("DYN910", where=COMPONENT_V1ALPHA1, when="scalingAdapter", stage=Stage.ADVICE)
def scaling_adapter_off(at: At) -> Hits:
    """A component has an empty scaling adapter block, which means disabled.

    Why
        In v1beta1, `scalingAdapter: {}` enables the adapter. In v1alpha1, the field `enabled` does, and it is false if you leave it out.

    Fix
        Set `scalingAdapter.enabled` to true, or to false if you want no adapter.

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
        The block replaces the default volume of 8Gi, so it needs a size.

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
    """A volume mount has no path.

    Why
        Only the compilation cache has a default path. Every other mount needs its path in the container.

    Fix
        Set `mountPoint`, or set `useAsCompilationCache` if the mount is the cache.

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
    mounts: list[Fields | None] = at.value["volumeMounts"]
    for index, mount in enumerate(mounts):
        if not mount or not (mount.get("mountPoint") or mount.get("useAsCompilationCache")):
            yield at.required(("volumeMounts", index, "mountPoint"), _NOTHING)


@rule("DYN902", where=COMPONENT_V1ALPHA1, removes=True, when="autoscaling", stage=Stage.ADVICE)
def warn_autoscaling(at: At) -> Hits:
    """A component has autoscaling settings, which are ignored.

    Why
        The block is left from older versions and has no effect, even if it is empty.

    Fix
        Remove `autoscaling`, and enable `scalingAdapter` to scale with a HorizontalPodAutoscaler, KEDA or the planner.

    Example
        spec:
          services:
    bad     worker:
    bad       componentType: worker
    bad       autoscaling: {enabled: true, minReplicas: 1, maxReplicas: 4}  # expect
    ok      worker: {componentType: worker, scalingAdapter: {enabled: true}}
    """
    yield at.warning("autoscaling", "is deprecated and ignored: remove it, use scalingAdapter")


@differs(("G-10",), "1.2 silently ignores a second flagged mount", lacking=True)
@rule("DYN909", where=COMPONENT_V1ALPHA1, when="volumeMounts.useAsCompilationCache=true", stage=Stage.ADVICE)
def warn_compilation_cache_first_only(at: At) -> Hits:
    """A component flags several mounts as its compilation cache.

    Why
        An engine has one cache; only the first flagged mount is used.

    Fix
        Keep the flag `useAsCompilationCache` on one mount, and give the others a `mountPoint`.

    Example
        spec:
          services:
            worker:
              componentType: worker
              volumeMounts:
                - {name: kernels, mountPoint: /kernels, useAsCompilationCache: true}
    bad         - {name: more, mountPoint: /more, useAsCompilationCache: true}  # expect
    ok          - {name: models, mountPoint: /models}
    """
    flagged = [index for index, mount in enumerate(at.value["volumeMounts"]) if mount and mount.get("useAsCompilationCache")]
    for index in flagged[1:]:
        text = f"is ignored: only the first, volumeMounts[{flagged[0]}], is the cache"
        yield at.warning(("volumeMounts", index, "useAsCompilationCache"), text)


# `default` has no rules of its own, but is a word of the operator that it accepts
_KNOWN: Final = ("frontend", "worker", "prefill", "decode", "planner", "epp", "default")


@differs(("Q-16",), "a misspelled type escapes the rules and defaults of the intended type", lacking=True)
@rule("DYN907", where=COMPONENT_V1ALPHA1, when=f"componentType!={','.join(_KNOWN)}", stage=Stage.ADVICE)
def warn_component_type_unknown(at: At) -> Hits:
    """The operator doesn't know a component's type.

    Why
        The type determines command, ports, probes and rules. It is case-sensitive, so `Worker` or `EPP` is a custom type without any of
        these.

    Fix
        Write frontend, worker, prefill, decode, planner or epp, or leave the type out if you want a plain component. Since operator 1.5, a
        type can't change: delete a graph that exists and create it again.

    Example
        spec:
          services:
    bad     worker:
    bad       componentType: Worker  # expect
    ok      worker: {componentType: worker}
    ok      other: {componentType: ""}
    """
    kind = at.value["componentType"]
    if kind and not (kind == LPX and is_line_1_6(at.review)):
        meant = kind.strip().lower()
        fix = f"write {meant}" if meant in _KNOWN else ""
        yield at.warning("componentType", f'is not a known component type, got "{kind}"', fix=fix, mend=Mend(meant) if fix else None)


_SHARED: Final = "dynamo"  # the namespace of all components with globalDynamoNamespace


@rule("DYN901", where=COMPONENT_V1ALPHA1, removes=True, when="dynamoNamespace", stage=Stage.ADVICE)
def warn_dynamo_namespace(at: At) -> Hits:
    """A component sets its Dynamo namespace, which is ignored.

    Why
        Components of one graph must find each other, so the Dynamo namespace is derived from the graph's namespace and name, or is the
        shared one if `globalDynamoNamespace` is true.

    Fix
        Remove `dynamoNamespace`.

    Example
        spec:
          services:
    bad     worker:
    bad       componentType: worker
    bad       dynamoNamespace: mine  # expect
    ok      worker: {componentType: worker, globalDynamoNamespace: true}
    """
    written = at.value["dynamoNamespace"]
    if written:
        used = _SHARED if at.value.get("globalDynamoNamespace") is True else _of_graph(at.review)
        yield at.warning("dynamoNamespace", f'is deprecated and ignored: remove it; "{used}" is used, not "{written}"')


def _of_graph(review: Review) -> str:
    """The namespace of the graph's components; a file need not say in which namespace it is applied, or under which generated name."""
    graph = (owning_graph(review) or "") if review.kind == DCD_V1ALPHA1 else review.metadata.get("name") or "<name>"
    return f"{quote_once(review.metadata.get('namespace') or '<namespace>')}-{quote_once(graph).replace('.', '-')}"


@differs(("Q-04",), "the Go operator fails on a null service; here it is a finding, and nulls in the stored object are ignored")
@rule("DYN102", where=GRAPH_V1ALPHA1, when="services", stage=Stage.SHAPE)
def service_null(at: At) -> Hits:
    """A service has a name, but its value is null.

    Why
        `worker:` without a value is null. The API server silently drops such an entry, and the graph starts without the service.

    Fix
        Write `{}` after the name for a {service} without settings, or remove the entry.

    Example
        spec:
          services:
            frontend: {componentType: frontend}
    bad     worker: null  # expect
    ok      worker: {}
    """
    services: Fields = at.value["services"]
    for name, service in services.items():
        if service is None:
            fix = f"write `{name}: {{}}` for a service without settings, or remove the entry"
            yield at.invalid(("services", Key(name)), None, "must be an object, got null", fix=fix)


@differs((), "fields without effect are reported instead of being silently accepted", lacking=True)
@rule(
    "DYN913",
    where=COMPONENT_V1ALPHA1,
    when=("serviceName", "annotations", "extraPodSpec.mainContainer.name", "ingress.labels", "ingress.annotations"),
    stage=Stage.ADVICE,
)
def service_field_without_effect(at: At) -> Hits:
    """A service has a field or an annotation without effect.

    Why
        It is accepted and kept, but changes nothing. The condition `FieldsIgnored` names it, too.

    Fix
        Remove it, or set it where it has an effect.

    Example
        spec:
          services:
    bad     frontend:
    bad       componentType: frontend
    bad       serviceName: front  # expect
    ok      frontend: {componentType: frontend}
    """
    alone = at.review.kind == DCD_V1ALPHA1
    for path, why in list_ignored_of_service(at.value, (), grove=False if alone else may_run_on_grove(at.review), alone=alone):
        yield at.warning(path, f"is without effect{why.removeprefix('has no effect')}")


@differs(("Q-04",), "a null annotation counts as absent")
@rule("DYN206", where=COMPONENT_V1ALPHA1, when="annotations", stage=Stage.COMPONENT)
def service_annotation_vllm_executor(at: At) -> Hits:
    """The component's annotation for vLLM's executor has an unknown value.

    Why
        Multi-node vLLM is started by its own multiprocessing or by Ray. Any other value would silently select a default.

    Fix
        Write `mp` or `ray`, or remove the annotation.

    Example
        spec:
          services:
            worker:
              componentType: worker
    bad       annotations: {nvidia.com/vllm-distributed-executor-backend: dask}  # expect
    ok        annotations: {nvidia.com/vllm-distributed-executor-backend: Ray}
    """
    value = at.value["annotations"].get(VLLM_EXECUTOR)
    if value is not None and value.lower() not in EXECUTORS:
        yield at.not_supported(("annotations", Key(VLLM_EXECUTOR)), value, EXECUTORS)
