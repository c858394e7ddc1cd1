"""Fields and annotations that are accepted and that nothing acts on, as places with reasons. Cost: a look at each component."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Final

from ..api.paths import Key, Path
from ..api.quantity import is_quantity, is_zero
from .domain import (
    DISCOVERY_BACKEND,
    DISCOVERY_MODE,
    GROVE,
    GROVE_STRATEGIES,
    GROVE_UPDATE_STRATEGY,
    MAIN,
    WORKLOAD_PROVIDER,
    is_line_1_5,
    is_multinode,
    opts_out_of_grove,
)
from .review import Fields, Review

Ignored = Iterator[tuple[Path, str]]

DEPLOYMENT: Final = (
    "nvidia.com/deployment-strategy",
    "nvidia.com/deployment-rolling-update-max-surge",
    "nvidia.com/deployment-rolling-update-max-unavailable",
)
METRICS: Final = "nvidia.com/enable-metrics"
KAI_QUEUE: Final = "nvidia.com/kai-scheduler-queue"
KAI_NODE_POOL: Final = "nvidia.com/kai-scheduler-node-pool"
VOLCANO_QUEUE: Final = "nvidia.com/volcano-scheduler-queue"
_OF_GROVE: Final = (GROVE_UPDATE_STRATEGY, KAI_QUEUE, KAI_NODE_POOL, VOLCANO_QUEUE)
_NO_PULL_SECRETS: Final = "nvidia.com/disable-image-pull-secret-discovery"
_OF_PODS: Final = (*DEPLOYMENT, _NO_PULL_SECRETS)
_OF_GRAPHS: Final = (*_OF_GROVE, *_OF_PODS)
_OF_COMPONENTS: Final = (*DEPLOYMENT, METRICS)
_OF_TEMPLATES: Final = (DISCOVERY_BACKEND, DISCOVERY_MODE, _NO_PULL_SECRETS)  # read from the metadata of pods alone
_PICKER: Final = {"apiVersion": "inference.networking.x-k8s.io/v1alpha1", "kind": "EndpointPickerConfig"}
_SHARED_MEMORY: Final = "shared-memory"
_SHARED_MEMORY_PATH: Final = "/dev/shm"  # noqa: S108 - where programs expect it
_MARKS: Final = ("labels", "annotations")


def may_run_on_grove(review: Review) -> bool | None:
    """Whether Grove runs a graph; None if nobody knows."""
    remembered = review.annotations.get(WORKLOAD_PROVIDER) if is_line_1_5(review) else None
    grove = remembered == GROVE if remembered else False if opts_out_of_grove(review) else review.facts.grove
    return grove if isinstance(grove, bool) else None


def list_ignored(graph: Fields, *, grove: bool | None) -> Ignored:
    """The places of a v1beta1 graph that have no effect. Where nobody knows whether Grove runs it, those without any on either side."""
    annotations, spec = (graph.get("metadata") or {}).get("annotations"), graph.get("spec") or {}
    above: Path = ("metadata", "annotations")
    if annotations and not annotations.keys().isdisjoint(_OF_GRAPHS):
        for name in _written(annotations, _OF_PODS):
            yield (*above, Key(name)), "has no effect here: write it below spec.annotations, or in a component's pod template"
        strategy = annotations.get(GROVE_UPDATE_STRATEGY)
        if grove is not False and strategy is not None and strategy not in GROVE_STRATEGIES:
            yield (*above, Key(GROVE_UPDATE_STRATEGY)), 'has no effect: it must be "RollingRecreate" or "OnDelete"'
        for name in _written(annotations, _OF_GROVE if grove is False else ()):
            yield (*above, Key(name)), "has no effect: the graph does not run on Grove"
    if grove and (of_pods := spec.get("annotations")):
        yield from list_ignored_annotations(of_pods, ("spec", "annotations"), grove=True)
    for index, component in enumerate(spec.get("components") or ()):
        if component:
            yield from list_ignored_of(component, ("spec", "components", index), grove=grove)


def list_ignored_of(component: Fields, path: Path, *, grove: bool | None) -> Ignored:
    """The same of one component at a path. Every review of a graph looks here: what isn't written must cost next to nothing."""
    if (reference := component.get("modelRef")) and reference.get("revision"):
        yield (*path, "modelRef", "revision"), "has no effect: pods load what their command names"
    if component.get("eppConfig"):
        yield from _of_picker(component, path)
    template = component.get("podTemplate")
    if not template:
        return
    if metadata := template.get("metadata"):
        for name, value in metadata.items():
            if name not in _MARKS and value:
                yield (*path, "podTemplate", "metadata", name), "has no effect: pods get only labels and annotations of it"
        if (annotations := metadata.get("annotations")) and (grove or (grove is False and is_multinode(component))):
            yield from list_ignored_annotations(annotations, (*path, "podTemplate", "metadata", "annotations"), grove=bool(grove))
    if pod := template.get("spec"):
        yield from _of_shared_memory(component, pod, path)


def list_ignored_of_service(service: Fields, path: Path, *, grove: bool | None, alone: bool = False) -> Ignored:
    """The places of a v1alpha1 service, or with `alone` of a standalone component, that v1beta1 lacks and that have no effect."""
    annotations = service.get("annotations") or {}
    if not alone:
        if service.get("serviceName"):
            yield (*path, "serviceName"), "has no effect: services are named after the graph and the service"
        for name in _written(annotations, _OF_TEMPLATES):
            yield (*path, "annotations", Key(name)), "has no effect here: write it in extraPodMetadata"
    main = (service.get("extraPodSpec") or {}).get("mainContainer") or {}
    if main.get("name") not in (None, "", "main"):
        yield (*path, "extraPodSpec", "mainContainer", "name"), "has no effect: the main container is always named main"
    if grove or (grove is False and is_multinode(service)):
        yield from list_ignored_annotations(annotations, (*path, "annotations"), grove=bool(grove))
    for name in _MARKS:
        if (service.get("ingress") or {}).get(name):
            yield (*path, "ingress", name), "has no effect: an Ingress gets neither labels nor annotations"


def list_ignored_annotations(annotations: Mapping[str, str], path: Path, *, grove: bool) -> Ignored:
    """The annotations of pods, written below the graph's own, that have no effect on Grove, or without it on a LeaderWorkerSet."""
    if annotations.keys().isdisjoint(_OF_COMPONENTS):
        return
    for name in _written(annotations, DEPLOYMENT):
        why = "the graph runs on Grove" if grove else "a LeaderWorkerSet runs the pods"
        yield (*path, Key(name)), f"has no effect: only Deployments have it, and {why}"
    for name in _written(annotations, (METRICS,) if grove else ()):
        yield (*path, Key(name)), "has no effect on Grove: write it in the graph's metadata.annotations"


def _of_picker(component: Fields, path: Path) -> Ignored:
    block = component["eppConfig"]
    if component.get("type") != "epp":
        yield (*path, "eppConfig"), "has no effect: only a component of the type epp reads it"
        return
    for name, used in _PICKER.items():
        if (block.get("config") or {}).get(name) not in (None, "", used):
            yield (*path, "eppConfig", "config", name), f"has no effect: it is written as {used}"


def _of_shared_memory(component: Fields, pod: Fields, path: Path) -> Sequence[tuple[Path, str]]:
    """No generator: nearly every pod is looked at in vain."""
    places: list[Path] = []
    for index, container in enumerate(pod.get("containers") or ()):
        if container and container.get("name") == MAIN:
            for place, mount in enumerate(container.get("volumeMounts") or ()):
                if mount and mount.get("mountPath") == _SHARED_MEMORY_PATH and mount.get("name") != _SHARED_MEMORY:
                    places.append(("containers", index, "volumeMounts", place))
            break
    for index, volume in enumerate(pod.get("volumes") or ()):
        if volume and volume.get("name") == _SHARED_MEMORY:
            places.append(("volumes", index))
    if not places or ((size := component.get("sharedMemorySize")) is not None and is_quantity(size) and is_zero(size)):
        return ()
    fix = 'has no effect: every main container has shared memory; write sharedMemorySize: "0" to use your own'
    return [((*path, "podTemplate", "spec", *steps), fix) for steps in places]


def _written(annotations: Mapping[str, str], names: tuple[str, ...]) -> list[str]:
    return [name for name in names if name in annotations]
