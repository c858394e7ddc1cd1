"""DYN701: a graph that changes its inference backend."""

from dynamo_webhooks.policies.at import At
from dynamo_webhooks.policies.order import Stage
from dynamo_webhooks.policies.review import UPDATE
from dynamo_webhooks.policies.rule import GRAPH_OBJECT, Hits, rule
from dynamo_webhooks.policies.unchanged import stays


@rule("DYN701", where=GRAPH_OBJECT, on=(UPDATE,), stage=Stage.IMMUTABLE, ratchets=False)
def dgd_backend_immutable(at: At) -> Hits:
    """The backend of a graph changes after creation.

    Why
        Commands, ports, probes and the layout of pods all follow from the backend; running pods can't be carried over to another one.

    Fix
        Put the old value back, or create a second graph with the new backend and delete this one when it serves.

    Bad
        ```yaml
        spec: {backendFramework: vllm}
        --- # becomes
        spec:
          backendFramework: sglang  # expect: dgd-backend-immutable, warn-backend-framework-change
        ```

    Good
        ```yaml
        metadata: {labels: {team: search}}
        spec: {backendFramework: vllm}
        --- # becomes
        metadata: {labels: {team: ranking}}
        spec: {backendFramework: vllm}
        ```
    """
    yield from stays(at, "spec.backendFramework", "graph")
