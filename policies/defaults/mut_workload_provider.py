"""DYND06: who runs the workloads of a graph."""

from collections.abc import Iterator

from dynamo_webhooks.api.paths import Key
from dynamo_webhooks.policies.at import At
from dynamo_webhooks.policies.domain import WORKLOAD_PROVIDER, decided_provider
from dynamo_webhooks.policies.edit import Edit
from dynamo_webhooks.policies.review import CREATE
from dynamo_webhooks.policies.rule import GRAPH_OBJECT, default


@default("DYND06", where=GRAPH_OBJECT, on=(CREATE,), needs=("grove",), since="1.5")
def mut_workload_provider(at: At) -> Iterator[Edit]:
    """A new graph remembers whether Grove runs it.

    Why
        A graph stays with Grove, or without it, for as long as it lives, whatever is installed or switched off later. The annotation is
        written anew on creation, also where somebody else wrote one; to keep a graph off Grove, set `nvidia.com/enable-grove: "false"`.

    Before
        ```yaml
        metadata: {annotations: {nvidia.com/enable-grove: "false", nvidia.com/workload-provider: grove}}
        ```

    After
        ```yaml
        metadata: {annotations: {nvidia.com/enable-grove: "false", nvidia.com/workload-provider: component}}
        ```
    """
    if (decided := decided_provider(at)) != at.review.annotations.get(WORKLOAD_PROVIDER):
        yield at.set(("metadata", "annotations", Key(WORKLOAD_PROVIDER)), decided)
