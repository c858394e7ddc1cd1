"""Fields and annotations that are accepted and that nothing acts on, as places with reasons. Cost: a look at each component."""

from collections.abc import Mapping
from typing import Final, TypeAlias

from ..api.line import Line
from ..api.paths import Key, Path
from ..api.quantity import is_quantity, is_zero
from .annotations import DISCOVERY_BACKEND, DISCOVERY_MODE, GROVE_UPDATE_STRATEGY, WORKLOAD_PROVIDER
from .components import MAIN, is_multinode
from .engines import list_templates
from .grove import GROVE, list_grove_strategies, opts_out_of_grove
from .review import Fields, Review, is_line_1_5

Ignored: TypeAlias = list[tuple[Path, str]]  # no generators: nearly every object is looked at in vain

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
    """Returns whether Grove runs a graph; None if that is unknown."""
    remembered = review.annotations.get(WORKLOAD_PROVIDER) if is_line_1_5(review) else None
    grove = remembered == GROVE if remembered else False if opts_out_of_grove(review) else review.facts.grove
    return grove if isinstance(grove, bool) else None


def list_ignored(graph: Fields, line: Line, *, grove: bool | None) -> Ignored:
    """Lists the places of a v1beta1 graph that have no effect. If `grove` is None, lists those without effect on Grove and off it."""
    annotations, spec = (graph.get("metadata") or {}).get("annotations"), graph.get("spec") or {}
    ignored: Ignored = []
    if annotations and not annotations.keys().isdisjoint(_OF_GRAPHS):
        above: Path = ("metadata", "annotations")
        why = "has no effect here: write it below spec.annotations, or in a component's pod template"
        ignored += [((*above, Key(name)), why) for name in _written(annotations, _OF_PODS)]
        strategy = annotations.get(GROVE_UPDATE_STRATEGY)
        if grove is not False and strategy is not None and strategy not in (known := list_grove_strategies(line)):
            wanted = " or ".join(f'"{name}"' for name in known)
            ignored.append(((*above, Key(GROVE_UPDATE_STRATEGY)), f"has no effect: it must be {wanted}"))
        if grove is False:
            ignored += [
                ((*above, Key(name)), "has no effect: the graph does not run on Grove") for name in _written(annotations, _OF_GROVE)
            ]
    if grove and (of_pods := spec.get("annotations")):
        ignored += list_ignored_annotations(of_pods, ("spec", "annotations"), grove=True)
    components: list[Fields | None] = spec.get("components") or []
    for index, component in enumerate(components):
        if component:
            ignored += list_ignored_of(component, ("spec", "components", index), grove=grove)
    return ignored


def list_ignored_of(component: Fields, path: Path, *, grove: bool | None) -> Ignored:
    """List a component's fields without effect. Every review of a graph runs it: absent fields must cost next to nothing."""
    ignored: Ignored = []
    if (reference := component.get("modelRef")) and reference.get("revision"):
        ignored.append(((*path, "modelRef", "revision"), "has no effect: pods load what their command names"))
    if component.get("eppConfig"):
        ignored += _of_picker(component, path)
    if template := component.get("podTemplate"):
        for below, why in _of_template(component, template, grove):
            ignored.append(((*path, "podTemplate", *below), why))
    for index, template in list_templates(component):
        ignored += [((*path, "roles", index, "podTemplate", *below), why) for below, why in _of_template(component, template, grove)]
    return ignored


def _of_template(component: Fields, template: Fields, grove: bool | None) -> Ignored:
    ignored: Ignored = []
    if metadata := template.get("metadata"):
        why = "has no effect: pods get only labels and annotations of it"
        ignored += [(("metadata", name), why) for name, value in metadata.items() if name not in _MARKS and value]
        if (annotations := metadata.get("annotations")) and (grove or (grove is False and is_multinode(component))):
            ignored += list_ignored_annotations(annotations, ("metadata", "annotations"), grove=bool(grove))
    if pod := template.get("spec"):
        ignored += _of_shared_memory(component, pod)
    return ignored


def list_ignored_of_service(service: Fields, path: Path, *, grove: bool | None, alone: bool = False) -> Ignored:
    """The places of a v1alpha1 service, or with `alone` of a standalone component, that v1beta1 lacks and that have no effect."""
    annotations = service.get("annotations") or {}
    ignored: Ignored = []
    if not alone:
        if service.get("serviceName"):
            ignored.append(((*path, "serviceName"), "has no effect: services are named after the graph and the service"))
        why = "has no effect here: write it in extraPodMetadata"
        ignored += [((*path, "annotations", Key(name)), why) for name in _written(annotations, _OF_TEMPLATES)]
    main = (service.get("extraPodSpec") or {}).get("mainContainer") or {}
    if main.get("name") not in (None, "", "main"):
        ignored.append(((*path, "extraPodSpec", "mainContainer", "name"), "has no effect: the main container is always named main"))
    if grove or (grove is False and is_multinode(service)):
        ignored += list_ignored_annotations(annotations, (*path, "annotations"), grove=bool(grove))
    marked, why = service.get("ingress") or {}, "has no effect: an Ingress gets neither labels nor annotations"
    return ignored + [((*path, "ingress", name), why) for name in _MARKS if marked.get(name)]


def list_ignored_annotations(annotations: Mapping[str, str], path: Path, *, grove: bool) -> Ignored:
    """The annotations of pods, written below the graph's own, that have no effect on Grove, or without it on a LeaderWorkerSet."""
    if annotations.keys().isdisjoint(_OF_COMPONENTS):
        return []
    runs = "the graph runs on Grove" if grove else "a LeaderWorkerSet runs the pods"
    ignored: Ignored = [
        ((*path, Key(name)), f"has no effect: only Deployments have it, and {runs}") for name in _written(annotations, DEPLOYMENT)
    ]
    if grove and METRICS in annotations:
        ignored.append(((*path, Key(METRICS)), "has no effect on Grove: write it in the graph's metadata.annotations"))
    return ignored


def _of_picker(component: Fields, path: Path) -> Ignored:
    block = component["eppConfig"]
    if component.get("type") != "epp":
        return [((*path, "eppConfig"), "has no effect: only a component of the type epp reads it")]
    config = block.get("config") or {}
    return [
        ((*path, "eppConfig", "config", name), f"has no effect: it is written as {used}")
        for name, used in _PICKER.items()
        if config.get(name) not in (None, "", used)
    ]


def _of_shared_memory(component: Fields, pod: Fields) -> Ignored:
    places: list[Path] = []
    containers: list[Fields | None] = pod.get("containers") or []
    for index, container in enumerate(containers):
        if container and container.get("name") == MAIN:
            mounts: list[Fields | None] = container.get("volumeMounts") or []
            for place, mount in enumerate(mounts):
                if mount and mount.get("mountPath") == _SHARED_MEMORY_PATH and mount.get("name") != _SHARED_MEMORY:
                    places.append(("containers", index, "volumeMounts", place))
            break
    volumes: list[Fields | None] = pod.get("volumes") or []
    for index, volume in enumerate(volumes):
        if volume and volume.get("name") == _SHARED_MEMORY:
            places.append(("volumes", index))
    if not places or ((size := component.get("sharedMemorySize")) is not None and is_quantity(size) and is_zero(size)):
        return []
    fix = 'has no effect: every main container has shared memory; write sharedMemorySize: "0" to use your own'
    return [(("spec", *steps), fix) for steps in places]


def _written(annotations: Mapping[str, str], names: tuple[str, ...]) -> list[str]:
    return [name for name in names if name in annotations]
