"""One component's object for rendering: v1beta1, its owner, the labels and annotations of all its children, and the plan of its pods."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import Final, NamedTuple

from ...api.line import Line
from ...api.paths import Path
from ...conversion.lens.protocol import Fields
from ...policies.engines import list_templates
from . import names
from .errors import RenderError
from .framework import framework_of
from .graph import Graph, Member, convert_both, count_nodes, dynamo_namespace_of, is_written_as_alpha, with_alpha
from .merge import string_map
from .multinode.role import Role
from .template import find_shared_template, select_role

_OWN: Final = (names.COMPONENT, names.NAMESPACE, names.GRAPH_NAME, names.WORKER_HASH, names.COMPONENT_CLASS)


class PodPlan(NamedTuple):
    """One pod to be assembled."""

    component: Fields  # v1beta1, never changed
    name: str  # of the component
    type: str  # in selectors; empty for the default type
    parent: str  # the graph, or the standalone component
    namespace: str
    dynamo_namespace: str
    framework: str
    worker_hash: str  # empty without generations
    annotations: dict[str, str]  # of the pod template, for discovery and pull secrets
    hints: dict[str, str]  # for frameworks: these, and those of a v1alpha1 service
    path: Path  # of the component, for errors
    role: Role | None = None  # of a pod in a replica that spans several nodes

    @property
    def is_launched_by_author(self) -> bool:
        """Whether command and arguments are its author's alone, as in the pod templates of roles."""
        return bool(list_templates(self.component))


@dataclass(frozen=True)
class Workload:
    """One component that becomes a Deployment or a LeaderWorkerSet."""

    object: Fields  # v1beta1, never changed
    spec: Fields
    alpha: Fields  # the same as v1alpha1
    graph: str  # empty for a standalone component
    type: str  # in selectors; empty for the default type

    @property
    def name(self) -> str:
        """The name of the object."""
        return str(self.object["metadata"]["name"])

    @property
    def namespace(self) -> str:
        """The namespace of the object."""
        return str(self.object["metadata"].get("namespace") or "default")

    @property
    def component(self) -> str:
        """The name of the component."""
        return str(self.spec.get("name") or self._own.get(names.COMPONENT) or self.alpha.get("serviceName") or self.name)

    @property
    def dynamo_namespace(self) -> str:
        """The Dynamo namespace of the pods."""
        return dynamo_namespace_of(self.spec, self.namespace, self.graph or self.name)

    @property
    def selected_namespace(self) -> str:
        """The Dynamo namespace in pods' labels and selectors, which v1alpha1 can override."""
        return str(self.alpha.get("dynamoNamespace") or "") or self.labels[names.NAMESPACE]

    @property
    def nodes(self) -> int:
        """The nodes of one replica."""
        return count_nodes(self.spec)

    @cached_property
    def labels(self) -> dict[str, str]:
        """The labels of the object, its pods and its Service; later ones override, and the object's own identity overrides all."""
        own, alpha = self._own, self.alpha
        out = {**own, **string_map(alpha.get("labels")), **string_map(self._template.get("labels"))}
        if self._model:
            out[names.BASE_MODEL_HASH] = names.digest(self._model)
        if alpha.get("subComponentType"):
            out[names.SUB_TYPE] = str(alpha["subComponentType"])
        out |= {names.COMPONENT: self.component, names.NAMESPACE: str(alpha.get("dynamoNamespace") or "") or self.dynamo_namespace}
        return out | {key: own[key] for key in _OWN if own.get(key)}

    @cached_property
    def annotations(self) -> dict[str, str]:
        """The annotations of the object's children."""
        out = {**string_map(self.alpha.get("annotations")), **self.template_annotations}
        if self._model:
            out[names.BASE_MODEL] = self._model
        # the first operator's version must not restart pods; the place comes only from the graph's policy
        out.pop(names.ORIGIN_VERSION, None)
        out.pop(names.TOPOLOGY_LABEL, None)
        place = string_map(self.object["metadata"].get("annotations")).get(names.TOPOLOGY_LABEL)
        return out | ({names.TOPOLOGY_LABEL: place} if place else {})

    @cached_property
    def template_annotations(self) -> dict[str, str]:
        """The annotations of the pod template, for settings of the component."""
        return string_map(self._template.get("annotations"))

    def of_role(self, name: str) -> Workload:
        """Return the workload as the pods of a role are made: with the role's template, labels and annotations, where it has them."""
        return replace(self, spec=select_role(self.spec, name))

    def plan_pod(self, role: Role | None = None) -> PodPlan:
        """The plan of a pod. Raises: RenderError if the framework contradicts the command."""
        return PodPlan(
            component=self.spec,
            name=self.component,
            type=self.type,
            parent=self.graph or self.name,
            namespace=self.namespace,
            dynamo_namespace=self.dynamo_namespace,
            framework=framework_of(self.spec, str(self.spec.get("backendFramework") or ""), ("spec", "podTemplate")),
            worker_hash=string_map(self._template.get("labels")).get(names.WORKER_HASH) or self._own.get(names.WORKER_HASH, ""),
            annotations=self.template_annotations,
            hints={**string_map(self.alpha.get("annotations")), **self.template_annotations},
            path=("spec",),
            role=role,
        )

    @property
    def _own(self) -> dict[str, str]:
        return string_map(self.object["metadata"].get("labels"))

    @property
    def _template(self) -> Fields:
        return find_shared_template(self.spec).get("metadata") or {}

    @property
    def _model(self) -> str:
        return str((self.spec.get("modelRef") or {}).get("name") or "")


def plan_member(graph: Graph, member: Member, component: Fields, annotations: dict[str, str], hints: dict[str, str]) -> PodPlan:
    """The plan of a pod that a graph makes without a component's object, and without generations. Raises: RenderError as `plan_pod`."""
    return PodPlan(
        component=component,
        name=member.name,
        type=member.type,
        parent=graph.name,
        namespace=graph.namespace,
        dynamo_namespace=member.dynamo_namespace,
        framework=framework_of(component, str(graph.spec.get("backendFramework") or ""), (*member.path, "podTemplate")),
        worker_hash="",
        annotations=annotations,
        hints=hints,
        path=member.path,
    )


def read_workload(obj: Fields, line: Line, *, old_selectors: bool = False, left: bool = False) -> Workload:
    """Read a component's object of either version, as a line converts it.

    With `old_selectors` its pods are selected as `worker` with a sub-type: selectors of running pods can't change. With `left` it has no
    owner, and still belongs to the graph that its label names.

    Raises: RenderError if it has a wrong type, no name, or can't be converted.
    """
    new, old = convert_both(obj, line)
    alpha = old.get("spec") or {}
    spec = with_alpha(new.get("spec") or {}, alpha, first=is_written_as_alpha(new))
    if not (new.get("metadata") or {}).get("name"):
        raise RenderError(("metadata", "name"), "must say what the children are named after; a generated name is known only to the cluster")
    kind = str(spec.get("type") or "")
    graph = owning_graph(new["metadata"]) or (read_graph_label(new) if left else "")
    return Workload(new, spec, alpha, graph, names.WORKER if old_selectors and kind in names.WORKERS else kind)


def uses_old_selectors(obj: Fields) -> bool:
    """Whether a component's labels show that its pods are selected as `worker` with a sub-type."""
    labels = string_map((obj.get("metadata") or {}).get("labels"))
    sub_type = labels.get(names.SUB_TYPE, "")
    return labels.get(names.COMPONENT_TYPE) == names.WORKER and sub_type in ("", str((obj.get("spec") or {}).get("type") or ""))


def owning_graph(metadata: Fields) -> str:
    """The name of the graph that owns a component's object; empty for a standalone one."""
    owners = metadata.get("ownerReferences") or ()
    return next((str(owner.get("name") or "") for owner in owners if owner and owner.get("kind") == "DynamoGraphDeployment"), "")


def read_graph_label(obj: Fields) -> str:
    """The name of the graph that a component's object was made for, by its label."""
    return string_map((obj.get("metadata") or {}).get("labels")).get(names.GRAPH_NAME, "")
