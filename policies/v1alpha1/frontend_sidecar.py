"""The frontend sidecar: in v1beta1 it is one of the pod's containers."""

from typing import Final

from ..at import At
from ..rule import COMPONENT_V1ALPHA1, Hits, Stage, rule

_SIDECAR: Final = "sidecar-frontend"


@rule("DYN205", where=COMPONENT_V1ALPHA1, when="frontendSidecar", stage=Stage.COMPONENT)
def frontend_sidecar_conflict(at: At) -> Hits:
    """A container of the pod has the name that the frontend sidecar gets.

    Why
        `frontendSidecar` adds a container called `sidecar-frontend`, and the names of a pod's containers must differ.

    Fix
        Rename the container in `extraPodSpec.containers`, or drop one of the two.

    Example
        spec:
          services:
            worker:  # expect
              componentType: worker
              frontendSidecar: {image: "example/frontend:1"}
              extraPodSpec:
    bad         containers: [{name: sidecar-frontend, image: "example/other:1"}]
    ok          containers: [{name: probe, image: "example/other:1"}]
    """
    containers = at.get("extraPodSpec.containers") or ()
    if any(container and container.get("name") == _SIDECAR for container in containers):
        text = f'must not have a container "{_SIDECAR}" in extraPodSpec: frontendSidecar adds one of that name'
        yield at.forbidden("", text)
