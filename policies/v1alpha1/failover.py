"""The mode of failover, which the schema of v1beta1 checks."""

from ..at import At, Findings
from ..components import is_enabled
from ..rule import COMPONENT_V1ALPHA1, Stage, differs, rule

_MODES = ("intraPod", "interPod")


@differs("an unknown mode disables all other failover rules there, and only one version's schema refuses it", lacking=True)
@rule("DYN350", where=COMPONENT_V1ALPHA1, when="failover", stage=Stage.FAILOVER)
def failover_mode_unknown(at: At) -> Findings:
    """Failover is enabled with an unknown mode.

    Why
        There are two layouts of standby engines. With any other value, the component would run without a standby.

    Fix
        Write intraPod or interPod, with exactly this spelling.

    Example
         spec:
        +  backendFramework: vllm
           services:
             worker:
               componentType: worker
               resources: {limits: {gpu: "1"}}
        -      gpuMemoryService: {enabled: true}
        -      failover: {enabled: true, mode: interpod}  # expect
        +      gpuMemoryService: {enabled: true, mode: interPod}
        +      failover: {enabled: true, mode: interPod}
    """
    failover = at.value["failover"]
    if is_enabled(failover) and failover.get("mode") and failover["mode"] not in _MODES:
        yield at.not_supported("failover.mode", failover["mode"], _MODES)
