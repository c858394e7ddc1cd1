"""DYN715: a graph that changes hands."""

from dynamo_webhooks.api.paths import Key
from dynamo_webhooks.policies.at import At
from dynamo_webhooks.policies.domain import WORKLOAD_PROVIDER, said
from dynamo_webhooks.policies.order import Stage
from dynamo_webhooks.policies.review import UPDATE
from dynamo_webhooks.policies.rule import GRAPH_OBJECT, Hits, rule

_PLACE = ("metadata", "annotations", Key(WORKLOAD_PROVIDER))


@rule("DYN715", where=GRAPH_OBJECT, on=(UPDATE,), needs=("operatorPrincipal",), stage=Stage.IMMUTABLE, ratchets=False, since="1.5")
def workload_provider_immutable(at: At) -> Hits:
    """An update changes who runs the graph's workloads.

    Why
        Grove's objects and those of single components can't turn into each other. A graph of an older operator has no such annotation until
        the operator adopts it.

    Fix
        Put the old annotation back, or create another graph. A graph without the annotation gets it from the operator.

    Bad
        ```yaml
        metadata: {annotations: {nvidia.com/workload-provider: grove}}
        --- # becomes
        metadata:
          annotations:
            nvidia.com/workload-provider: component  # expect
        ```
        Only the operator may add it.
        ```yaml
        spec: {backendFramework: vllm}
        --- # becomes
        metadata:
          annotations:
            nvidia.com/workload-provider: grove  # expect
        spec: {backendFramework: vllm}
        ```

    Good
        ```yaml
        # user: system:serviceaccount:dynamo-system:operator
        spec: {backendFramework: vllm}
        --- # becomes
        metadata: {annotations: {nvidia.com/workload-provider: grove}}
        spec: {backendFramework: vllm}
        ```
    """
    if at.review.old is None:
        return
    now = at.review.annotations.get(WORKLOAD_PROVIDER)
    before = (((at.old or {}).get("metadata") or {}).get("annotations") or {}).get(WORKLOAD_PROVIDER)
    if before is not None and now != before:
        seen = "none" if now is None else f'"{said(now)}"'
        yield at.immutable(_PLACE, f'must stay "{said(before)}" for as long as the graph lives, got {seen}', value=now)
    elif before is None and now is not None and at.fact("operatorPrincipal") not in ("", at.review.user):
        yield at.forbidden(_PLACE, f'must be added by the operator alone, got "{said(now)}"')
