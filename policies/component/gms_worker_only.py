"""DYN304: a GPU memory service beside something that holds no weights."""

from typing import Final

from dynamo_webhooks.policies.at import At
from dynamo_webhooks.policies.domain import enabled
from dynamo_webhooks.policies.order import Stage
from dynamo_webhooks.policies.rule import COMPONENT, Hits, rule
from dynamo_webhooks.policies.words import words

_WORKERS: Final = ("worker", "prefill", "decode")


@rule("DYN304", where=COMPONENT, when="gpuMemoryService", stage=Stage.GMS)
def gms_worker_only(at: At) -> Hits:
    """A component that is no worker has a GPU memory service.

    Why
        The service keeps model weights for engines. Frontends, planners and endpoint pickers have none, and of a custom type the operator
        doesn't know.

    Fix
        Set `{componentType}` to worker, prefill or decode, or switch the service off.

    Bad
        ```yaml
        spec:
          services:
            frontend:
              componentType: frontend
              resources: {limits: {gpu: "1"}}
              gpuMemoryService: {enabled: true}  # expect
        ```

    Good
        ```yaml
        spec:
          services:
            decode:
              componentType: decode
              resources: {limits: {gpu: "1"}}
              gpuMemoryService: {enabled: true}
        ```
    """
    if enabled(at.value["gpuMemoryService"]):
        kind = at.value.get("componentType")
        if kind not in _WORKERS:
            seen = f'got "{kind}"' if kind else "got nothing"
            text = words("must be on a component whose {componentType} is one of {wanted}, {seen}", wanted=", ".join(_WORKERS), seen=seen)
            yield at.forbidden("gpuMemoryService", text)
