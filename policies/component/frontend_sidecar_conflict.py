"""DYN205: two containers called sidecar-frontend."""

from typing import Final

from dynamo_webhooks.policies.at import At
from dynamo_webhooks.policies.order import Stage
from dynamo_webhooks.policies.rule import COMPONENT, Hits, rule
from dynamo_webhooks.policies.words import words

_SIDECAR: Final = "sidecar-frontend"


@rule("DYN205", where=COMPONENT, when="frontendSidecar", stage=Stage.COMPONENT)
def frontend_sidecar_conflict(at: At) -> Hits:
    """A container of the pod has the name that the frontend sidecar gets.

    Why
        `frontendSidecar` adds a container called `sidecar-frontend`, and the names of a pod's containers must differ.

    Fix
        Rename the container in `{extraPodSpec}.containers`, or drop one of the two.

    Bad
        ```yaml
        spec:
          services:
            worker:  # expect
              componentType: worker
              frontendSidecar: {image: "example/frontend:1"}
              extraPodSpec:
                containers: [{name: sidecar-frontend, image: "example/other:1"}]
        ```

    Good
        ```yaml
        spec:
          services:
            worker:
              componentType: worker
              frontendSidecar: {image: "example/frontend:1"}
              extraPodSpec:
                containers: [{name: probe, image: "example/other:1"}]
        ```
    """
    containers = at.get("extraPodSpec.containers") or ()
    if any(container and container.get("name") == _SIDECAR for container in containers):
        text = words('must not have a container "{name}" in {extraPodSpec}: frontendSidecar adds one of that name', name=_SIDECAR)
        yield at.forbidden("", text)
