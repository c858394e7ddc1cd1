"""A graph for rendering: v1beta1, with v1alpha1's other values beside each component."""

import json
from collections.abc import Collection, Sequence
from typing import Any, Final, NamedTuple

from ...api.decode import decoder
from ...api.kinds import BY_NAME, api_version
from ...api.line import OLDEST, Line
from ...api.paths import Path
from ...conversion.kinds import KINDS
from ...conversion.lens.protocol import ConversionError, Fields
from ...conversion.objects import Target, convert_object, target
from ...conversion.pod_template.mounts import is_compilation_cache, native_mounts
from ...conversion.remainder import read_remainder
from ...policies.components import LPX
from ...policies.engines import ENGINES_SINCE, list_templates
from .errors import RenderError
from .framework import NONE, framework_of
from .merge import object_items, string_map
from .names import COMPONENT, COMPONENT_TYPE, EPP, MAIN, NAMESPACE, WORKERS, lower_name
from .template import find_shared_template

# as all lines read them; `_replace` names another line
NEW: Final[Target] = target(api_version("v1beta1"), OLDEST)
OLD: Final[Target] = target(api_version("v1alpha1"), OLDEST)
SHARED: Final = "dynamo"  # the Dynamo namespace of components that serve several graphs
INTER_POD: Final = "InterPod"
COPIED: Final = ("env", "labels", "annotations")  # fields of a graph that each component gets
MAX_COPIED_CHARACTERS: Final = 8 * 1024 * 1024  # of them in all components; to render them takes two seconds
WAIT: Final = "WaitForCheckpoint"  # startupPolicy


class Member(NamedTuple):
    """One component of a graph."""

    name: str
    type: str  # empty for the default type
    fields: Fields  # v1beta1
    alpha: Fields  # as a v1alpha1 service, for labels, annotations, ingress and dynamoNamespace
    path: Path  # in the v1beta1 object
    dynamo_namespace: str  # of the pods

    @property
    def is_worker(self) -> bool:
        """Whether it serves a model."""
        return self.type in WORKERS

    @property
    def nodes(self) -> int:
        """The nodes of one replica."""
        return count_nodes(self.fields)


class Graph(NamedTuple):
    """One graph."""

    object: Fields  # v1beta1, never changed
    name: str
    namespace: str
    annotations: dict[str, str]
    spec: Fields
    claims: list[Fields]  # the volume claims, only in v1alpha1
    members: list[Member]
    idle: Sequence[Member]  # components of type lpx, which only the Go operator runs
    line: Line

    @property
    def picker(self) -> Member | None:
        """The endpoint picker, of which a graph has at most one."""
        return next((member for member in self.members if member.type == EPP), None)

    @property
    def framework(self) -> str:
        """The framework of the graph: its own, else its workers'. Raises: RenderError if the workers run different ones."""
        if framework := str(self.spec.get("backendFramework") or ""):
            return framework
        path: Path = ("spec", "backendFramework")
        frameworks = sorted({framework_of(member.fields, "", path) for member in self.members} - {NONE})
        if len(frameworks) > 1:
            raise RenderError(
                path, f"must be one framework for all workers, found {' and '.join(frameworks)}; say which one, or split the graph"
            )
        return frameworks[0] if frameworks else NONE


def convert_for_render(obj: Fields, wanted: Target) -> Fields:
    """An object in a version. Raises: RenderError if it can't be converted."""
    try:
        return convert_object(obj, wanted).object
    except ConversionError as error:
        raise RenderError(error.path, error.reason) from None


def convert_both(obj: Fields, line: Line) -> tuple[Fields, Fields]:
    """An object as v1beta1 and as v1alpha1, as a line converts it; what `split` makes is written as line 1.2 does, which all lines read.

    Raises: RenderError naming a field of a wrong type, or one that can't be converted.
    """
    kind, version = str(obj.get("kind")), str(obj.get("apiVersion")).rpartition("/")[2]
    wrong = decoder(kind, version)(obj) if kind in BY_NAME and BY_NAME[kind].has(version) else ()
    if wrong:
        raise RenderError(wrong[0].path, wrong[0].message)
    return convert_for_render(obj, NEW._replace(line=line)), convert_for_render(obj, OLD._replace(line=line))


def read_graph(obj: Fields, line: Line) -> Graph:
    """Read a graph of either version, as a line converts it.

    Raises: RenderError if it has a wrong type or can't be converted, a component has no name, or too much is copied into each.
    """
    new, old = convert_both(obj, line)
    metadata = new.get("metadata") or {}
    name, namespace = str(metadata.get("name") or ""), str(metadata.get("namespace") or "default")
    if not name:
        raise RenderError(("metadata", "name"), "must say what the children are named after; a generated name is known only to the cluster")
    spec, alpha = new.get("spec") or {}, old.get("spec") or {}
    services: dict[str, Any] = alpha.get("services") or {}
    members: list[Member] = []
    idle: list[Member] = []
    first = is_written_as_alpha(new)
    for index, component in enumerate(object_items(spec.get("components"))):
        path: Path = ("spec", "components", index)
        if not component.get("name"):
            raise RenderError((*path, "name"), "must not be empty")
        called = str(component["name"])
        fields = with_alpha(component, services.get(called) or {}, first=first)
        dynamo_namespace = dynamo_namespace_of(fields, namespace, name)
        member = Member(called, str(fields.get("type") or ""), fields, services.get(called) or {}, path, dynamo_namespace)
        (idle if member.type == LPX else members).append(member)
    copied = measure_size([spec.get(field) for field in COPIED]) * len(members)
    if copied > MAX_COPIED_CHARACTERS:
        text = f"must be at most {MAX_COPIED_CHARACTERS} characters of JSON in all components together, got {copied}"
        raise RenderError(("spec",), f"{', '.join(COPIED)} {text}; set long ones in the components that need them")
    return Graph(new, name, namespace, string_map(metadata.get("annotations")), spec, object_items(alpha.get("pvcs")), members, idle, line)


def check_templates(graph: Graph, member: Member) -> None:
    """Refuse pod templates of single roles on lines that know none. Raises: RenderError."""
    if graph.line < ENGINES_SINCE and list_templates(member.fields):
        raise RenderError((*member.path, "roles"), f"must have no pod templates before operator {ENGINES_SINCE}; use podTemplate")


def measure_size(value: Any) -> int:
    """Characters of JSON, at most the bytes that an API server gets."""
    return len(json.dumps(value, ensure_ascii=False, separators=(",", ":")))


def is_written_as_alpha(new: Fields) -> bool:
    """Whether a v1beta1 object was first written in v1alpha1, and has no values that v1alpha1 lacks."""
    annotations = (new.get("metadata") or {}).get("annotations") or {}
    remembered, _ = read_remainder(KINDS[str(new["kind"])], annotations, rightward=False)
    return remembered.present and not remembered.both


def with_alpha(component: Fields, alpha: Fields, *, first: bool) -> Fields:
    """A component with values that only `alpha` has, the same component in v1alpha1.

    These are a type that v1beta1 lacks and, if v1alpha1 was written `first`, the place of its cache among main's mounts: pods restart if
    their mounts change places, or their workers' hash changes.
    """
    if (kind := alpha.get("componentType")) and not component.get("type"):
        component = {**component, "type": kind}
    flat = object_items(alpha.get("volumeMounts")) if first else []
    template = component.get("podTemplate") or {}
    spec = template.get("spec") or {}
    if not spec.get("containers") or not any(map(is_compilation_cache, flat)):
        return component
    containers = [_with_cache(container, flat) for container in object_items(spec["containers"])]
    return {**component, "podTemplate": {**template, "spec": {**spec, "containers": containers}}}


def _with_cache(container: Fields, flat: list[Fields]) -> Fields:
    if container.get("name") != MAIN or object_items(container.get("volumeMounts")) != native_mounts(flat):
        return container
    mounts = native_mounts(flat, cached=True)
    return {**container, "volumeMounts": mounts} if mounts else container


def dynamo_namespace_of(component: Fields, namespace: str, parent: str) -> str:
    """The Dynamo namespace of a component."""
    return SHARED if component.get("globalDynamoNamespace") else f"{namespace}-{parent.replace('.', '-')}"


def count_nodes(component: Fields) -> int:
    """The nodes of one replica of a component, usually 1."""
    count = (component.get("multinode") or {}).get("nodeCount")
    return count if isinstance(count, int) and count > 0 else 1


def read_replicas(spec: Fields) -> int:
    """The replicas of a component or of a workload, by its spec; 1 by default."""
    replicas = spec.get("replicas")
    return 1 if replicas is None else int(replicas)


def read_restart_id(graph: Graph) -> str:
    """The restart that a graph asks for; empty without one."""
    return str((graph.spec.get("restart") or {}).get("id") or "")


def read_experimental(component: Fields, feature: str) -> Fields | None:
    """The block of an experimental feature of a component, or None; a block that says `enabled: false` is none."""
    block = (component.get("experimental") or {}).get(feature)
    return block if isinstance(block, dict) and block.get("enabled") is not False else None


def names_checkpoint(checkpoint: Fields, path: Path, line: Line) -> bool:
    """Whether a block says which checkpoint it means; lines from 1.4 on admit one that doesn't. Raises: RenderError on line 1.2."""
    if checkpoint.get("checkpointRef") or checkpoint.get("identity"):
        return True
    if line >= Line.V1_4:
        return False
    raise RenderError(path, "checkpoint enabled but no checkpointRef or identity provided")


def waits_for_checkpoint(component: Fields) -> bool:
    """Whether a component has no pods before its checkpoint is ready. Pods that can't be restored don't wait."""
    wanted = read_experimental(component, "checkpoint")
    return wanted is not None and wanted.get("startupPolicy") == WAIT and not spans_pods(component)


def spans_pods(component: Fields) -> bool:
    """Whether one replica of a component is several pods, which are not restored from a checkpoint."""
    return count_nodes(component) > 1 or is_inter_pod(component)


def set_start_replicas(component: Fields, *, waiting: bool) -> Fields:
    """Returns a component as it starts: without pods while it waits. One that may wait has a number of replicas, to leave zero again."""
    if not waits_for_checkpoint(component):
        return component
    return {**component, "replicas": 0 if waiting else read_replicas(component)}


def start_waiting(graph: Graph, waiting: Collection[str] = ()) -> Graph:
    """A graph whose components are started as `set_start_replicas` says; `waiting` are the names of those that wait."""
    if not any(waits_for_checkpoint(member.fields) for member in graph.members):
        return graph
    return graph._replace(
        members=[member._replace(fields=set_start_replicas(member.fields, waiting=member.name in waiting)) for member in graph.members]
    )


def is_inter_pod(component: Fields, feature: str = "gpuMemoryService") -> bool:
    """Whether a component shares its GPUs between pods."""
    block = read_experimental(component, feature)
    return block is not None and block.get("mode") == INTER_POD


def make_selector(member: Member) -> dict[str, str]:
    """The pod selector of a member's Service on Grove; v1alpha1's deprecated `dynamoNamespace` has no effect there."""
    return {COMPONENT_TYPE: member.type, NAMESPACE: member.dynamo_namespace, COMPONENT: member.name}


def read_template_labels(member: Member) -> dict[str, str]:
    """The user's labels of the pod template."""
    return string_map((find_shared_template(member.fields).get("metadata") or {}).get("labels"))


def read_template_annotations(member: Member) -> dict[str, str]:
    """The user's annotations of the pod template."""
    return string_map((find_shared_template(member.fields).get("metadata") or {}).get("annotations"))


def object_name(graph: Graph, member: Member) -> str:
    """The name of a member's objects of every generation."""
    return f"{graph.name}-{lower_name(member.name)}"
