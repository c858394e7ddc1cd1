"""The mode of failover: the schema of v1beta1 refuses an unknown one."""

from ..at import At
from ..domain import is_enabled
from ..rule import COMPONENT_V1ALPHA1, Difference, Hits, Stage, rule

_MODES = ("intraPod", "interPod")


@rule(
    "DYN350",
    where=COMPONENT_V1ALPHA1,
    when="failover",
    stage=Stage.FAILOVER,
    differs=Difference(("Q-10",), "an unknown mode skips all other rules of failover; only one version's schema refuses it", lacking=True),
)
def failover_mode_unknown(at: At) -> Hits:
    """Failover is on in a mode that doesn't exist.

    Why
        There are two layouts of standby engines. Any other word means neither, and the component would run without the standby that its
        author relies on.

    Fix
        Write intraPod or interPod, in exactly this spelling.

    Example
        spec:
    ok    backendFramework: vllm
          services:
            worker:
              componentType: worker
              resources: {limits: {gpu: "1"}}
    bad       gpuMemoryService: {enabled: true}
    bad       failover: {enabled: true, mode: interpod}  # expect
    ok        gpuMemoryService: {enabled: true, mode: interPod}
    ok        failover: {enabled: true, mode: interPod}
    """
    failover = at.value["failover"]
    if is_enabled(failover) and failover.get("mode") not in (None, "", *_MODES):
        yield at.not_supported("failover.mode", failover["mode"], _MODES)
