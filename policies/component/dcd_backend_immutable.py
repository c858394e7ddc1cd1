"""DYN710: a standalone component that changes its inference backend."""

from dynamo_webhooks.policies.at import At
from dynamo_webhooks.policies.order import Stage
from dynamo_webhooks.policies.review import UPDATE
from dynamo_webhooks.policies.rule import DCD, Hits, rule
from dynamo_webhooks.policies.unchanged import stays


@rule("DYN710", where={DCD: ""}, on=(UPDATE,), stage=Stage.IMMUTABLE, ratchets=False)
def dcd_backend_immutable(at: At) -> Hits:
    """The backend of a standalone component changes after creation.

    Why
        Commands, ports, probes and the layout of pods all follow from the backend; running pods can't be carried over to another one.

    Fix
        Put the old value back, or create a second component with the new backend and delete this one when it serves.

    Bad
        ```yaml
        spec: {backendFramework: vllm}
        --- # becomes
        spec:
          backendFramework: trtllm  # expect: dcd-backend-immutable, warn-backend-framework-change
        ```

    Good
        ```yaml
        spec: {backendFramework: vllm, replicas: 1}
        --- # becomes
        spec: {backendFramework: vllm, replicas: 2}
        ```
    """
    yield from stays(at, "spec.backendFramework", "component")
