"""DYN115: the annotation that remembers who runs a graph."""

from dynamo_webhooks.api.paths import Key
from dynamo_webhooks.policies.at import At
from dynamo_webhooks.policies.domain import COMPONENTS, GROVE, WORKLOAD_PROVIDER
from dynamo_webhooks.policies.facts import UNKNOWN
from dynamo_webhooks.policies.order import Stage
from dynamo_webhooks.policies.review import CREATE
from dynamo_webhooks.policies.rule import GRAPH_ANNOTATIONS, Hits, rule


@rule("DYN115", where=GRAPH_ANNOTATIONS, when=WORKLOAD_PROVIDER, stage=Stage.METADATA, since="1.5")
def workload_provider_enum(at: At) -> Hits:
    """The annotation for the workload provider names no provider.

    Why
        A graph is run by Grove or as single components. The operator writes the annotation when the graph is created, and reads it ever
        after.

    Fix
        Remove the annotation and let the operator write it; on an update put the old value back.

    Bad
        ```yaml
        metadata:
          annotations:
            nvidia.com/workload-provider: lws  # expect
        ```

    Good
        ```yaml
        metadata:
          annotations:
            nvidia.com/workload-provider: component
        ```
    """
    if at.review.operation == CREATE and at.review.facts.grove is UNKNOWN:
        return  # the defaults overwrite it, with whatever the fact says
    value = at.value[WORKLOAD_PROVIDER]
    # what an update may not change at all, workload-provider-immutable says
    if value not in (GROVE, COMPONENTS) and (at.old or {}).get(WORKLOAD_PROVIDER) in (None, value):
        yield at.not_supported((Key(WORKLOAD_PROVIDER),), value, (COMPONENTS, GROVE))
