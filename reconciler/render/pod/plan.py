"""The input of a pod, for a Deployment, a LeaderWorkerSet, a PodCliqueSet or a job."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from dynamo_webhooks.reconciler.render.graph import experimental
from dynamo_webhooks.reconciler.render.merge import texts
from dynamo_webhooks.reconciler.render.names import WORKERS

if TYPE_CHECKING:
    from dynamo_webhooks.api.paths import Path
    from dynamo_webhooks.conversion.lens.protocol import Fields
    from dynamo_webhooks.reconciler.render.multinode.role import Role
    from dynamo_webhooks.reconciler.render.workload import Workload


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
    def is_worker(self) -> bool:
        """Whether it serves a model."""
        return self.type in WORKERS

    def wants(self, feature: str) -> Fields | None:
        """The block of an experimental feature, or None."""
        return experimental(self.component, feature)


def plan_of(workload: Workload, role: Role | None = None) -> PodPlan:
    """The plan of a component's pods."""
    return PodPlan(
        component=workload.spec,
        name=workload.component,
        type=workload.type,
        parent=workload.parent,
        namespace=workload.namespace,
        dynamo_namespace=workload.dynamo_namespace,
        framework=workload.framework,
        worker_hash=workload.worker_hash,
        annotations=workload.template_annotations,
        hints={**texts(workload.alpha.get("annotations")), **workload.template_annotations},
        path=("spec",),
        role=role,
    )
