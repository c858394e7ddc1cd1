"""The backend, the set of services and the annotations of a graph."""

from typing import Final

from ...api.paths import Key
from ..at import At
from ..domain import (
    DISCOVERY_BACKEND,
    DISCOVERY_MODE,
    EXECUTORS,
    ORIGIN_VERSION,
    VLLM_EXECUTOR,
    check_unchanged,
    list_components,
    quote_all,
    quote_once,
)
from ..no_effect import KAI_NODE_POOL, KAI_QUEUE, VOLCANO_QUEUE
from ..review import DELETING, UPDATE
from ..rule import GRAPH, GRAPH_ANNOTATIONS, GRAPH_OBJECT, Hits, Stage, differs, rule
from ..semver import is_semver
from ..words import format_words


@rule("DYN701", where=GRAPH_OBJECT, on=(UPDATE,), stage=Stage.IMMUTABLE, ratchets=False)
def dgd_backend_immutable(at: At) -> Hits:
    """The backend of a graph changes after creation.

    Why
        Commands, ports, probes and the layout of pods depend on the backend. Running pods can't be changed to another one.

    Fix
        Restore the old value, or create a second graph with the new backend and delete this one when the new one serves.

    Example
    ok  metadata: {labels: {team: search}}
        spec: {backendFramework: vllm}
        --- # becomes
    bad spec:
    bad   backendFramework: sglang  # expect: dgd-backend-immutable, warn-backend-framework-change
    ok  metadata: {labels: {team: ranking}}
    ok  spec: {backendFramework: vllm}
    """
    yield from check_unchanged(at, "spec.backendFramework", "graph")


@rule("DYN708", where=GRAPH_OBJECT, on=(UPDATE,), stage=Stage.IMMUTABLE, ratchets=False)
def dgd_service_set_immutable(at: At) -> Hits:
    """A component is added to an existing graph, removed from it, or renamed.

    Why
        The pods of a graph are created as one set, which can change the number of replicas but not its members.

    Fix
        Keep the names. To stop a {service}, set its `replicas` to 0; for other {services}, create another graph.

    Example
    bad spec: {components: [{name: frontend}, {name: worker}]}
    ok  spec: {components: [{name: frontend}, {name: worker, replicas: 2}]}
        --- # becomes
    bad spec:
    bad   components: [{name: decoder}, {name: frontend}]  # expect
    ok  spec: {components: [{name: frontend}, {name: worker, replicas: 0}]}
    """
    if at.old is None:
        return
    now, before = ({name for _, name, _ in list_components(obj.get("spec") or {})} for obj in (at.value, at.old))
    if not now or not before or now == before:  # no components at all: dgd-services-required speaks, and the graph may get them back
        return
    changes = [f"{word} {quote_all(names)}" for word, names in (("added", now - before), ("removed", before - now)) if names]
    text = format_words("must keep the {services} that the graph was created with: {changes}", changes="; ".join(changes))
    yield at.immutable("spec.components", text)


@differs((), "an update of a stored graph without components is refused, too: a write in v1alpha1 without conversion empties graphs")
@rule("DYN101", where=GRAPH, stage=Stage.SHAPE, ratchets=False)
def dgd_services_required(at: At) -> Hits:
    """A graph has no components.

    Why
        A graph consists of components. Without any, there is nothing to deploy; usually the indentation is wrong. If no update has the
        components, and the file does, the definition's conversion strategy is `None`: then a write in the other version empties graphs.

    Fix
        Add at least one {service} under `spec.{services}`. If they vanished, repair the definition first (`dynamo-webhooks doctor`).

    Example
    bad spec:
    bad   components: []  # expect
    ok  spec: {components: [{name: frontend, type: frontend}]}

    bad spec: {components: []}
    ok  spec: {components: []}
        --- # becomes
        metadata: {labels: {team: search}}
        spec:
    bad   components: []  # expect
    ok    components: [{name: frontend, type: frontend}]
    """
    if not at.components:
        yield at.required("components", format_words("must hold at least one {service}, got none"))


_BACKENDS: Final = ("kubernetes", "etcd")


@differs((), "with a misspelled backend, pods use Kubernetes without the permissions", lacking=True)
@rule("DYN113", where=GRAPH_ANNOTATIONS, when=DISCOVERY_BACKEND, stage=Stage.METADATA)
def dgd_annotation_discovery_backend(at: At) -> Hits:
    """The annotation for the discovery backend has an unknown value.

    Why
        The annotation overrides the operator's configuration. Only `kubernetes` creates the service account with which pods can find each
        other. With any other value but `etcd`, pods still use Kubernetes, but have no permission.

    Fix
        Write `kubernetes` or `etcd` in lower case, or remove the annotation to use the operator's configuration.

    Example
    bad metadata:
    bad   annotations:
    bad     nvidia.com/dynamo-discovery-backend: kubernets  # expect
    ok  metadata: {annotations: {nvidia.com/dynamo-discovery-backend: etcd}}
    """
    value = at.value[DISCOVERY_BACKEND]
    if value not in _BACKENDS:
        yield at.not_supported((Key(DISCOVERY_BACKEND),), value, _BACKENDS)


_MODES: Final = ("pod", "container")


@differs(("Q-04",), "a null annotation counts as absent")
@rule("DYN105", where=GRAPH_ANNOTATIONS, when=DISCOVERY_MODE, stage=Stage.METADATA)
def dgd_annotation_discovery_mode(at: At) -> Hits:
    """The annotation for the discovery mode has an unknown value.

    Why
        Discovery registers either pods or single containers. An unknown value would silently mean pods.

    Fix
        Write `pod` or `container` in lower case, or remove the annotation, which means `pod`.

    Example
    bad metadata:
    bad   annotations:
    bad     nvidia.com/dynamo-kube-discovery-mode: Pod  # expect
    ok  metadata: {annotations: {nvidia.com/dynamo-kube-discovery-mode: container}}
    """
    value = at.value[DISCOVERY_MODE]
    if value not in _MODES:
        yield at.not_supported((Key(DISCOVERY_MODE),), value, _MODES)


@differs(("Q-04",), "a null annotation counts as absent")
@rule("DYN103", where=GRAPH_ANNOTATIONS, when=ORIGIN_VERSION, stage=Stage.METADATA)
def dgd_annotation_origin_version(at: At) -> Hits:
    """The annotation for the origin version isn't a version.

    Why
        The operator writes the version that created a graph into this annotation, and keeps that version's behaviour for the graph. A
        value that isn't a version would silently select the oldest behaviour.

    Fix
        Remove the annotation, so that the operator writes its own version, or write one such as `1.2.0`.

    Example
    bad metadata:
    bad   annotations:
    bad     nvidia.com/dynamo-operator-origin-version: 1.2.3.4  # expect
    ok  metadata: {annotations: {nvidia.com/dynamo-operator-origin-version: v1.2.0-rc.1}}
    """
    value = at.value[ORIGIN_VERSION]
    if not is_semver(value):
        yield at.invalid((Key(ORIGIN_VERSION),), value, f'must be a semantic version such as 1.2.0, got "{value}"')


@differs(("Q-04",), "a null annotation counts as absent")
@rule("DYN104", where=GRAPH_ANNOTATIONS, when=VLLM_EXECUTOR, stage=Stage.METADATA)
def dgd_annotation_vllm_executor(at: At) -> Hits:
    """The annotation for vLLM's executor has an unknown value.

    Why
        Multi-node vLLM is started by its own multiprocessing or by Ray. Any other value would silently select a default.

    Fix
        Write `mp` or `ray` (case doesn't matter, spaces do), or remove the annotation.

    Example
    bad metadata:
    bad   annotations:
    bad     nvidia.com/vllm-distributed-executor-backend: "mp "  # expect
    ok  metadata: {annotations: {nvidia.com/vllm-distributed-executor-backend: Ray}}
    """
    value = at.value[VLLM_EXECUTOR]
    if value.lower() not in EXECUTORS:
        yield at.not_supported((Key(VLLM_EXECUTOR),), value, EXECUTORS)


@differs((), "the annotations are only known to later operators", lacking=True)
@rule("DYN176", where=GRAPH_ANNOTATIONS, when=VOLCANO_QUEUE, stage=Stage.METADATA)
def dgd_annotation_two_schedulers(at: At) -> Hits:
    """A graph has annotations for both Volcano and KAI.

    Why
        Grove starts the pods of a graph together, and only one scheduler can place them.

    Fix
        Keep the annotation of the scheduler that you use, and remove the other.

    Example
    bad metadata:
    bad   annotations:
    bad     nvidia.com/volcano-scheduler-queue: team  # expect
    bad     nvidia.com/kai-scheduler-queue: team
    ok  metadata: {annotations: {nvidia.com/volcano-scheduler-queue: team}}
    """
    for name in (KAI_QUEUE, KAI_NODE_POOL):
        if name in at.value:
            yield at.forbidden(
                (Key(VOLCANO_QUEUE),), f"must be left out beside {name}: one scheduler places a graph's pods; keep one of both"
            )
            return


@rule("DYN726", where=GRAPH_OBJECT, on=(UPDATE, DELETING), stage=Stage.IMMUTABLE, ratchets=False, since="1.6")
def dgd_annotation_origin_immutable(at: At) -> Hits:
    """An update changes the annotation for the origin version of a graph.

    Why
        Later operators treat a graph as its origin version did, so that an upgrade doesn't restart pods. Another origin version would
        restart them.

    Fix
        Restore the old value. If there was none, remove the annotation.

    Example
        metadata: {annotations: {nvidia.com/dynamo-operator-origin-version: 1.5.0}}
        --- # becomes
    bad metadata:
    bad   annotations:
    bad     nvidia.com/dynamo-operator-origin-version: 1.6.0  # expect
    ok  metadata: {annotations: {nvidia.com/dynamo-operator-origin-version: 1.5.0, team: search}}
    """
    now, before = (((obj or {}).get("metadata") or {}).get("annotations") or {} for obj in (at.value, at.old))
    said, wanted = now.get(ORIGIN_VERSION), before.get(ORIGIN_VERSION)
    if at.review.old is not None and said != wanted:
        seen, shown = ("none" if value is None else f'"{quote_once(str(value))}"' for value in (said, wanted))
        place = ("metadata", "annotations", Key(ORIGIN_VERSION))
        yield at.immutable(place, f"must keep the version that created the graph, {shown}, got {seen}", value=said)
