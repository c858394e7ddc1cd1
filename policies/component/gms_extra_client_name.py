"""DYN303: a client of the GPU memory service whose name no container can have."""

from dynamo_webhooks.policies.at import At
from dynamo_webhooks.policies.domain import LABEL_WANTED, is_label
from dynamo_webhooks.policies.order import Stage
from dynamo_webhooks.policies.rule import COMPONENT, Hits, rule


@rule("DYN303", where=COMPONENT, when="gpuMemoryService", stage=Stage.GMS)
def gms_extra_client_name(at: At) -> Hits:
    """A further client of the GPU memory service has a name that no container can have.

    Why
        The entries are names of containers, which are DNS labels. One that is none can't be found in the pod. It is looked at while the
        service is switched off too, as the schema does, so that switching it on brings no surprises.

    Fix
        Write the name of a container of the pod: lower-case letters, digits and inner dashes, at most 63.

    Bad
        ```yaml
        spec:
          services:
            worker:
              componentType: worker
              gpuMemoryService: {enabled: false, extraClientContainers: [Probe]}  # expect
        ```

    Good
        ```yaml
        spec:
          services:
            worker:
              componentType: worker
              gpuMemoryService: {enabled: false, extraClientContainers: [probe]}
        ```
    """
    for index, name in enumerate(at.value["gpuMemoryService"].get("extraClientContainers") or ()):
        if not is_label(name or ""):
            text = f'{LABEL_WANTED}, got "{name or ""}"'
            yield at.invalid(("gpuMemoryService", "extraClientContainers", index), name, text)
