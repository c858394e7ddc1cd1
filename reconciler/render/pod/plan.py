"""The input of a pod, for a Deployment, a LeaderWorkerSet, a PodCliqueSet or a job."""

from typing import NamedTuple

from ....api.paths import Path
from ....conversion.lens.protocol import Fields
from ....policies.engines import list_templates
from ..merge import string_map
from ..multinode.role import Role
from ..workload import Workload


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
        hints={**string_map(workload.alpha.get("annotations")), **workload.template_annotations},
        path=("spec",),
        role=role,
    )
