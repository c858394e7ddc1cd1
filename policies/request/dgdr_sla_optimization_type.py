"""DYN502: a request that optimises for something unknown."""

from dynamo_webhooks.policies.at import At
from dynamo_webhooks.policies.order import Stage
from dynamo_webhooks.policies.review import CREATE
from dynamo_webhooks.policies.rule import REQUEST, Hits, rule

_TYPES = ("latency", "throughput")


@rule("DYN502", where=REQUEST, when="sla", stage=Stage.REQUEST)
def dgdr_sla_optimization_type(at: At) -> Hits:
    """The optimisation type of a request is unknown.

    Why
        The profiler knows two targets and would not start with a third.

    Fix
        Write latency or throughput in lower case, or leave the field out and give `ttft` and `itl` instead.

    Bad
        ```yaml
        spec:
          sla:
            optimizationType: Latency  # expect
        ```

    Good
        ```yaml
        spec: {sla: {optimizationType: latency}}
        ```
    """
    kind = at.get("sla.optimizationType")
    if kind is not None and kind not in _TYPES:
        yield at.not_supported("sla.optimizationType", kind, _TYPES)


dgdr_sla_optimization_type_in_1_2 = dgdr_sla_optimization_type.same_in_1_2(
    "Q-30", because="updates are checked like creations", on=(CREATE,)
)
