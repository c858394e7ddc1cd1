"""Pods of checkpoints that an API server refuses."""

from typing import Final

from ..at import At, Findings
from ..components import MAIN, is_enabled
from ..pods import ADDED_VOLUMES, PROBES, list_template_mistakes
from ..rule import CHECKPOINT, Stage, differs, rule

_TEMPLATE: Final = ("job", "podTemplateSpec")
_REPLACED: Final = {("spec", "restartPolicy"), ("spec", "securityContext", "seccompProfile")}


@differs("the API server refuses the pods later, where the error is hard to find", lacking=True)
@rule("DYN430", where=CHECKPOINT, when="job.podTemplateSpec", stage=Stage.CHECKPOINT)
def ckpt_pod_refused(at: At) -> Findings:
    """The API server would refuse the checkpoint's pod.

    Why
        The definition of the kind checks only the types of a pod template. The API server checks the rest when the pod is created, so the
        checkpoint would never be made.

    Fix
        Correct the field as the message says.

    Example
         spec:
           job:
             podTemplateSpec:
               spec:
                 containers:
                   - name: main
                     image: example/vllm:1.4.0
        -            volumeMounts: [{name: weights, mountPath: /weights}]  # expect
        +            volumeMounts: [{name: models, mountPath: /weights}]
                 volumes: [{name: models, emptyDir: {}}]
    """
    job = at.value["job"]
    template, target = job["podTemplateSpec"], job.get("targetContainerName") or MAIN
    spec = template.get("spec") or {}
    containers = enumerate(spec.get("containers") or ())
    served = is_enabled(at.value.get("gpuMemoryService"))
    replaced = [("spec", "containers", index) for index, container in containers if container and container.get("name") == target]
    for path, text in list_template_mistakes(template, ADDED_VOLUMES, imageless=frozenset()):
        # the job's policy of restarts, profile and probes are those of a snapshot, and other rules look at claims for the service
        if path[:3] not in _REPLACED and (path[:3] not in replaced or path[3] not in PROBES) and not (served and "claims" in path):
            yield at.invalid((*_TEMPLATE, *path), None, text)
