"""One component's object for rendering: v1beta1, its owner, and the labels and annotations of all its children."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, NamedTuple

from dynamo_webhooks.api.line import INSTALLED, Line
from dynamo_webhooks.reconciler.render.errors import RenderError
from dynamo_webhooks.reconciler.render.framework import framework_of
from dynamo_webhooks.reconciler.render.graph import both_versions, dynamo_namespace_of, experimental, nodes, with_alpha, written_as_alpha
from dynamo_webhooks.reconciler.render.merge import texts
from dynamo_webhooks.reconciler.render.names import (
    BASE_MODEL,
    BASE_MODEL_HASH,
    COMPONENT,
    COMPONENT_CLASS,
    COMPONENT_TYPE,
    GRAPH_NAME,
    NAMESPACE,
    ORIGIN_VERSION,
    SUB_TYPE,
    TOPOLOGY_LABEL,
    WORKER,
    WORKER_HASH,
    WORKERS,
    digest,
)

if TYPE_CHECKING:
    from dynamo_webhooks.conversion.lens.protocol import Fields

_OWN: Final = (COMPONENT, NAMESPACE, GRAPH_NAME, WORKER_HASH, COMPONENT_CLASS)


class _Who(NamedTuple):
    """The name of a component, and its owner."""

    name: str
    namespace: str
    graph: str
    component: str
    dynamo_namespace: str


class Workload(NamedTuple):
    """One component that becomes a Deployment or a LeaderWorkerSet."""

    object: Fields  # v1beta1, never changed
    name: str
    namespace: str
    graph: str  # empty for a standalone component
    component: str
    type: str  # in selectors; empty for the default type
    spec: Fields
    alpha: Fields  # the same as v1alpha1
    framework: str
    labels: dict[str, str]  # of the object, its pods, its Service
    annotations: dict[str, str]
    template_annotations: dict[str, str]  # of the pod template, for settings of the component
    dynamo_namespace: str  # of the pods
    worker_hash: str

    @property
    def parent(self) -> str:
        """The prefix of shared children's names."""
        return self.graph or self.name

    @property
    def selected_namespace(self) -> str:
        """The Dynamo namespace in pods' labels and selectors, which v1alpha1 can override."""
        return str(self.alpha.get("dynamoNamespace") or "") or self.labels[NAMESPACE]

    @property
    def nodes(self) -> int:
        """The nodes of one replica."""
        return nodes(self.spec)

    def wants(self, feature: str) -> Fields | None:
        """The block of an experimental feature, or None."""
        return experimental(self.spec, feature)


def read_workload(obj: Fields, line: Line = INSTALLED, *, old_selectors: bool = False, left: bool = False) -> Workload:
    """Read a component's object of either version, as a line converts it.

    With `old_selectors` its pods are selected as `worker` with a sub-type: selectors of running pods can't change. With `left` it has no
    owner, and still belongs to the graph that its label names.

    Raises: RenderError if it has a wrong type or can't be converted, or its framework contradicts its command.
    """
    new, old = both_versions(obj, line)
    metadata, alpha = new.get("metadata") or {}, old.get("spec") or {}
    spec = with_alpha(new.get("spec") or {}, alpha, first=written_as_alpha(new))
    if not metadata.get("name"):
        raise RenderError(("metadata", "name"), "must say what the children are named after; a generated name is known only to the cluster")
    own = texts(metadata.get("labels"))
    who = _who(metadata, spec, alpha, own, labelled_graph(new) if left else "")
    kind = str(spec.get("type") or "")
    template = (spec.get("podTemplate") or {}).get("metadata") or {}
    return Workload(
        object=new,
        name=who.name,
        namespace=who.namespace,
        graph=who.graph,
        component=who.component,
        type=WORKER if old_selectors and kind in WORKERS else kind,
        spec=spec,
        alpha=alpha,
        framework=framework_of(spec, str(spec.get("backendFramework") or ""), ("spec", "podTemplate")),
        labels=_labels(own, alpha, spec, who),
        annotations=_annotations(texts(metadata.get("annotations")), alpha, spec),
        template_annotations=texts(template.get("annotations")),
        dynamo_namespace=who.dynamo_namespace,
        worker_hash=texts(template.get("labels")).get(WORKER_HASH) or own.get(WORKER_HASH, ""),
    )


def shared_metadata(obj: Fields) -> tuple[dict[str, str], dict[str, str]]:
    """The labels and annotations that all children of a component's object share.

    Raises: RenderError if it has a wrong type or can't be converted.
    """
    new, old = both_versions(obj)
    metadata, alpha = new.get("metadata") or {}, old.get("spec") or {}
    spec = with_alpha(new.get("spec") or {}, alpha, first=written_as_alpha(new))
    own = texts(metadata.get("labels"))
    labels = _labels(own, alpha, spec, _who(metadata, spec, alpha, own))
    return labels, _annotations(texts(metadata.get("annotations")), alpha, spec)


def uses_old_selectors(obj: Fields) -> bool:
    """Whether a component's labels show that its pods are selected as `worker` with a sub-type."""
    labels = texts((obj.get("metadata") or {}).get("labels"))
    sub_type = labels.get(SUB_TYPE, "")
    return labels.get(COMPONENT_TYPE) == WORKER and sub_type in ("", str((obj.get("spec") or {}).get("type") or ""))


def owning_graph(metadata: Fields) -> str:
    """The name of the graph that owns a component's object; empty for a standalone one."""
    owners = metadata.get("ownerReferences") or ()
    return next((str(one.get("name") or "") for one in owners if one and one.get("kind") == "DynamoGraphDeployment"), "")


def labelled_graph(obj: Fields) -> str:
    """The name of the graph that a component's object was made for, by its label."""
    return texts((obj.get("metadata") or {}).get("labels")).get(GRAPH_NAME, "")


def _who(metadata: Fields, spec: Fields, alpha: Fields, own: dict[str, str], left_to: str = "") -> _Who:
    name, namespace = str(metadata.get("name") or ""), str(metadata.get("namespace") or "default")
    graph = owning_graph(metadata) or left_to
    component = str(spec.get("name") or own.get(COMPONENT) or alpha.get("serviceName") or name)
    return _Who(name, namespace, graph, component, dynamo_namespace_of(spec, namespace, graph or name))


def _labels(own: dict[str, str], alpha: Fields, spec: Fields, who: _Who) -> dict[str, str]:
    """Labels of all children; later ones override, and the object's own identity overrides all."""
    out = {**own, **texts(alpha.get("labels")), **texts(((spec.get("podTemplate") or {}).get("metadata") or {}).get("labels"))}
    model = str((spec.get("modelRef") or {}).get("name") or "")
    if model:
        out[BASE_MODEL_HASH] = digest(model)
    if alpha.get("subComponentType"):
        out[SUB_TYPE] = str(alpha["subComponentType"])
    out |= {COMPONENT: who.component, NAMESPACE: str(alpha.get("dynamoNamespace") or "") or who.dynamo_namespace}
    return out | {key: own[key] for key in _OWN if own.get(key)}


def _annotations(own: dict[str, str], alpha: Fields, spec: Fields) -> dict[str, str]:
    out = {**texts(alpha.get("annotations")), **texts(((spec.get("podTemplate") or {}).get("metadata") or {}).get("annotations"))}
    model = str((spec.get("modelRef") or {}).get("name") or "")
    if model:
        out[BASE_MODEL] = model
    # the first operator's version must not restart pods; the place comes only from the graph's policy
    out.pop(ORIGIN_VERSION, None)
    out.pop(TOPOLOGY_LABEL, None)
    return out | ({TOPOLOGY_LABEL: own[TOPOLOGY_LABEL]} if own.get(TOPOLOGY_LABEL) else {})
