"""The Deployment of a component, and the metadata of pods on every orchestrator."""

from __future__ import annotations

from typing import TYPE_CHECKING

from dynamo_webhooks.reconciler.checkpoint.restore import restored_metadata, restored_spec, unmarked
from dynamo_webhooks.reconciler.render import discovery
from dynamo_webhooks.reconciler.render.generation import share
from dynamo_webhooks.reconciler.render.merge import texts
from dynamo_webhooks.reconciler.render.names import (
    COMPONENT_TYPE,
    ENABLE_METRICS,
    MAX_SURGE,
    MAX_UNAVAILABLE,
    METRICS_ENABLED,
    NAMESPACE,
    SELECTOR,
    STRATEGY,
)
from dynamo_webhooks.reconciler.render.objects import child
from dynamo_webhooks.reconciler.render.pod.assemble import pod_spec
from dynamo_webhooks.reconciler.render.pod.plan import plan_of

if TYPE_CHECKING:
    from dynamo_webhooks.conversion.lens.protocol import Fields
    from dynamo_webhooks.reconciler.checkpoint.restore import Restore
    from dynamo_webhooks.reconciler.render.settings import Settings
    from dynamo_webhooks.reconciler.render.workload import Workload


def deployment(workload: Workload, settings: Settings, restore: Restore | None = None) -> Fields:
    """The Deployment of a component on one node.

    Raises: RenderError if the component has no valid pod.
    """
    out = child(
        "apps/v1",
        "Deployment",
        workload.name,
        workload.namespace,
        labels=workload.labels,
        annotations=workload.annotations,
        owner=workload.object,
    )
    out["spec"] = {} if workload.spec.get("replicas") is None else {"replicas": workload.spec["replicas"]}
    out["spec"] |= {
        "selector": {"matchLabels": {SELECTOR: workload.name}},
        "strategy": _strategy(workload),
        "template": {"metadata": pod_metadata(workload, settings), "spec": pod_spec(plan_of(workload), settings)},
    }
    if restore is not None:
        template = out["spec"]["template"]
        restored_spec(template["spec"], workload.spec, restore, ("spec",))
        template["metadata"] = restored_metadata(template["metadata"], workload.spec, restore)
    return out


def pod_metadata(workload: Workload, settings: Settings) -> Fields:
    """Labels and annotations of a component's pods."""
    labels = {
        **unmarked(workload.labels),
        SELECTOR: workload.name,
        NAMESPACE: workload.selected_namespace,
        **discovery.labels(workload.template_annotations, settings),
    }
    if workload.annotations.get(ENABLE_METRICS) != "false":
        labels[METRICS_ENABLED] = "true"
    if workload.type:
        labels[COMPONENT_TYPE] = workload.type
    out: Fields = {"labels": dict(sorted(labels.items()))}
    annotations = unmarked(workload.annotations)
    return {**out, "annotations": dict(sorted(annotations.items()))} if annotations else out


def _strategy(workload: Workload) -> Fields:
    # includes annotations of a v1alpha1 service, which rolls of generations ignore
    said = {**texts(workload.alpha.get("annotations")), **workload.template_annotations}
    if said.get(STRATEGY) == "Recreate":
        return {"type": "Recreate"}
    figures = {"maxSurge": share(said.get(MAX_SURGE, "")), "maxUnavailable": share(said.get(MAX_UNAVAILABLE, ""))}
    return {"type": "RollingUpdate", "rollingUpdate": figures}
