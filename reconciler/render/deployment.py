"""The Deployment of a component, and the metadata of pods on every orchestrator."""

from __future__ import annotations

from ...conversion.lens.protocol import Fields
from . import discovery
from .checkpoint.restore import Restore, restore_pod_metadata, restore_pod_spec, strip_restore_marks, targets_of
from .generation import share
from .merge import string_map
from .names import COMPONENT_TYPE, ENABLE_METRICS, MAX_SURGE, MAX_UNAVAILABLE, METRICS_ENABLED, NAMESPACE, SELECTOR, STRATEGY
from .objects import make_child
from .pod.assemble import pod_spec
from .pod.plan import plan_of
from .settings import Settings
from .workload import Workload


def deployment(workload: Workload, settings: Settings, restore: Restore | None = None) -> Fields:
    """The Deployment of a component on one node.

    Raises: RenderError if the component has no valid pod.
    """
    template = {"metadata": pod_metadata(workload, settings), "spec": pod_spec(plan_of(workload), settings)}
    if restore is not None:
        targets = targets_of(workload.spec)
        restore_pod_spec(template["spec"], targets, restore, ("spec",))
        template["metadata"] = restore_pod_metadata(template["metadata"], targets, restore)
    replicas = {} if workload.spec.get("replicas") is None else {"replicas": workload.spec["replicas"]}
    selector = {"matchLabels": {SELECTOR: workload.name}}
    return make_child(
        "apps/v1",
        "Deployment",
        workload.name,
        workload.namespace,
        labels=workload.labels,
        annotations=workload.annotations,
        owner=workload.object,
        spec={**replicas, "selector": selector, "strategy": _strategy(workload), "template": template},
    )


def pod_metadata(workload: Workload, settings: Settings) -> Fields:
    """Labels and annotations of a component's pods."""
    labels = {
        **strip_restore_marks(workload.labels),
        SELECTOR: workload.name,
        NAMESPACE: workload.selected_namespace,
        **discovery.labels(workload.template_annotations, settings),
    }
    if workload.annotations.get(ENABLE_METRICS) != "false":
        labels[METRICS_ENABLED] = "true"
    if workload.type:
        labels[COMPONENT_TYPE] = workload.type
    out: Fields = {"labels": dict(sorted(labels.items()))}
    annotations = strip_restore_marks(workload.annotations)
    return {**out, "annotations": dict(sorted(annotations.items()))} if annotations else out


def _strategy(workload: Workload) -> Fields:
    # includes annotations of a v1alpha1 service, which rolls of generations ignore
    said = {**string_map(workload.alpha.get("annotations")), **workload.template_annotations}
    if said.get(STRATEGY) == "Recreate":
        return {"type": "Recreate"}
    figures = {"maxSurge": share(said.get(MAX_SURGE, "")), "maxUnavailable": share(said.get(MAX_UNAVAILABLE, ""))}
    return {"type": "RollingUpdate", "rollingUpdate": figures}
