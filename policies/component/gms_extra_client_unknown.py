"""DYN308: a client of the GPU memory service that is not in the pod."""

from dynamo_webhooks.policies.at import At
from dynamo_webhooks.policies.domain import enabled, is_label
from dynamo_webhooks.policies.order import Stage
from dynamo_webhooks.policies.review import Fields
from dynamo_webhooks.policies.rule import COMPONENT, Difference, Hits, rule


@rule(
    "DYN308",
    where=COMPONENT,
    when="gpuMemoryService",
    stage=Stage.GMS,
    current_only=Difference((), "a misspelled client would be silently ignored"),
)
def gms_extra_client_unknown(at: At) -> Hits:
    """A further client of the GPU memory service is no container of the pod.

    Why
        The named containers get the claim and the socket directory of the service. A name that fits none is passed over silently, and the
        container that was meant fails to find the service. Init containers are no clients.

    Fix
        Name a container in `{extraPodSpec}.containers`, or remove the entry. The main container is a client without being named.

    Bad
        ```yaml
        spec:
          services:
            worker:
              componentType: worker
              resources: {limits: {gpu: "1"}}
              gpuMemoryService:
                enabled: true
                extraClientContainers: [prob]  # expect
              extraPodSpec:
                containers: [{name: probe, image: "example/probe:1"}]
        ```

    Good
        ```yaml
        spec:
          services:
            worker:
              componentType: worker
              resources: {limits: {gpu: "1"}}
              gpuMemoryService:
                enabled: true
                extraClientContainers: [probe]
              extraPodSpec:
                containers: [{name: probe, image: "example/probe:1"}]
        ```
    """
    gms = at.value["gpuMemoryService"]
    if enabled(gms) and (clients := gms.get("extraClientContainers")):
        known = _containers(at.value)
        for index, name in enumerate(clients):
            # a malformed name is refused by gms-extra-client-name
            if name and name not in known and is_label(name):
                text = f'must name a container of the pod, got "{name}"'
                yield at.not_found(("gpuMemoryService", "extraClientContainers", index), name, text)


def _containers(component: Fields) -> set[str]:
    """The names of the pod's regular containers as they will be rendered."""
    extra = (component.get("extraPodSpec") or {}).get("containers") or ()
    names = {container["name"] for container in extra if container and container.get("name")}
    return names | {"main"} | ({"sidecar-frontend"} if component.get("frontendSidecar") is not None else set())
