"""DYN504: sizes, times and counts that are zero or negative."""

from dynamo_webhooks.policies.at import At
from dynamo_webhooks.policies.order import Stage
from dynamo_webhooks.policies.rule import REQUEST, Difference, Hits, rule

_NUMBERS = (
    ("hardware", ("numGpusPerNode", "totalGpus", "vramMb")),
    ("sla", ("e2eLatency", "itl", "ttft")),
    ("workload", ("concurrency", "isl", "osl", "requestRate")),
)


@rule(
    "DYN504",
    where=REQUEST,
    when=("hardware", "sla", "workload"),
    stage=Stage.REQUEST,
    current_only=Difference(("G-16",), "the profiler fails hours later, in a job's log"),
)
def dgdr_number_positive(at: At) -> Hits:
    """A size, time or count of a request is zero or negative.

    Why
        The profiler divides by these numbers and searches below them; with zero or less it fails after the job was scheduled.

    Fix
        Give a positive number, or leave the field out.

    Bad
        ```yaml
        spec:
          workload:
            isl: 0  # expect
            osl: 500
          sla:
            ttft: -1.5  # expect
        ```

    Good
        ```yaml
        spec: {workload: {isl: 3000, osl: 500}, sla: {ttft: 50.0, itl: 10}}
        ```
    """
    for block, fields in _NUMBERS:
        values = at.value.get(block)
        if not values:
            continue
        for field in fields:
            number = values.get(field)
            if number is not None and number <= 0:
                yield at.invalid((block, field), number, f"must be greater than 0, got {number}")
