"""DYN309: a client of the GPU memory service that is named twice."""

from dynamo_webhooks.policies.at import At
from dynamo_webhooks.policies.order import Stage
from dynamo_webhooks.policies.rule import COMPONENT, Difference, Hits, rule


@rule(
    "DYN309",
    where=COMPONENT,
    when="gpuMemoryService",
    removes=True,
    stage=Stage.GMS,
    current_only=Difference((), "the schema makes the list a set; this rule judges objects that bypassed it"),
)
def gms_extra_client_duplicate(at: At) -> Hits:
    """A further client of the GPU memory service is named twice.

    Why
        The list is a set: a container is a client or it isn't. A repeated name is usually a slip for another container's.

    Fix
        Name each container once.

    Bad
        ```yaml
        spec:
          services:
            worker:
              componentType: worker
              gpuMemoryService:
                enabled: false
                extraClientContainers:
                  - probe
                  - probe  # expect
        ```

    Good
        ```yaml
        spec:
          services:
            worker:
              componentType: worker
              gpuMemoryService: {enabled: false, extraClientContainers: [probe, saver]}
        ```
    """
    seen: set[str] = set()
    for index, name in enumerate(at.value["gpuMemoryService"].get("extraClientContainers") or ()):
        if name and name in seen:
            yield at.duplicate(("gpuMemoryService", "extraClientContainers", index), name, f'must be named once, got "{name}" again')
        seen.add(name)
