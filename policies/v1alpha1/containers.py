"""Containers that a service adds to its pod."""

from typing import Final

from ..at import At, Findings
from ..rule import COMPONENT_V1ALPHA1, Stage, rule

_SIDECAR: Final = "sidecar-frontend"


@rule("DYN205", where=COMPONENT_V1ALPHA1, when="frontendSidecar", stage=Stage.COMPONENT)
def frontend_sidecar_conflict(at: At) -> Findings:
    """A container has the name of the frontend sidecar.

    Why
        `frontendSidecar` adds a container named `sidecar-frontend`, and container names in a pod must be unique.

    Fix
        Rename the container in `extraPodSpec.containers`, or remove one of the two.

    Example
         spec:
           services:
             worker:  # expect
               componentType: worker
               frontendSidecar: {image: "example/frontend:1"}
               extraPodSpec:
        -        containers: [{name: sidecar-frontend, image: "example/other:1"}]
        +        containers: [{name: probe, image: "example/other:1"}]
    """
    containers = at.get("extraPodSpec.containers") or ()
    if any(container and container.get("name") == _SIDECAR for container in containers):
        text = f'must not have a container "{_SIDECAR}" in extraPodSpec: frontendSidecar adds one of that name'
        yield at.forbidden("", text)
