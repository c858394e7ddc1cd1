"""DYN502: a request that optimises for something unknown."""

from policies.at import At
from policies.order import Stage
from policies.review import CREATE
from policies.rule import REQUEST, Hits, rule

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
    "Q-30", because="an update could bring in what a creation may not; now both are checked", on=(CREATE,)
)
