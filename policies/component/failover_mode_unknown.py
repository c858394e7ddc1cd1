"""DYN350: failover in a mode that doesn't exist."""

from dynamo_webhooks.policies.at import At
from dynamo_webhooks.policies.domain import INTER_POD, INTRA_POD, enabled
from dynamo_webhooks.policies.order import Stage
from dynamo_webhooks.policies.rule import COMPONENT, Difference, Hits, rule


@rule(
    "DYN350",
    where=COMPONENT,
    when="failover",
    stage=Stage.FAILOVER,
    current_only=Difference(("Q-10",), "an unknown mode skips all other rules of failover; only one version's schema refuses it"),
)
def failover_mode_unknown(at: At) -> Hits:
    """Failover is on in a mode that doesn't exist.

    Why
        There are two layouts of standby engines. Any other word means neither, and the component would run without the standby that its
        author relies on.

    Fix
        Write {intraPod} or {interPod}, in exactly this spelling.

    Bad
        ```yaml
        spec:
          services:
            worker:
              componentType: worker
              resources: {limits: {gpu: "1"}}
              gpuMemoryService: {enabled: true}
              failover: {enabled: true, mode: InterPod}  # expect
        ```

    Good
        ```yaml
        spec:
          backendFramework: vllm
          services:
            worker:
              componentType: worker
              resources: {limits: {gpu: "1"}}
              gpuMemoryService: {enabled: true, mode: interPod}
              failover: {enabled: true, mode: interPod}
        ```
    """
    failover = at.value["failover"]
    if enabled(failover) and failover.get("mode") not in (None, "", INTRA_POD, INTER_POD):
        yield at.not_supported("failover.mode", failover["mode"], ("{intraPod}", "{interPod}"))
