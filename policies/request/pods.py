"""Pods of profiling jobs that an API server refuses."""

from typing import Any, Final

from ..at import At, Findings
from ..pods import list_template_mistakes
from ..review import Fields
from ..rule import REQUEST, Stage, differs, rule

_TEMPLATE: Final = ("overrides", "profilingJob", "template")
# fields that are taken from a user's template: from its pod, the pod's security context and the first container
TAKEN_OF_POD: Final = (
    *("tolerations", "nodeSelector", "affinity", "priorityClassName", "schedulingGroup", "serviceAccountName", "runtimeClassName"),
    *("dnsPolicy", "dnsConfig", "terminationGracePeriodSeconds", "topologySpreadConstraints", "automountServiceAccountToken"),
)
TAKEN_OF_SECURITY: Final = (
    *("runAsNonRoot", "runAsUser", "runAsGroup", "fsGroup", "supplementalGroups", "sysctls", "fsGroupChangePolicy"),
    *("seccompProfile", "appArmorProfile", "seLinuxOptions", "windowsOptions"),
)
TAKEN_OF_CONTAINER: Final = ("image", "resources", "securityContext")
_LISTS: Final = ("imagePullSecrets", "volumes", "initContainers")
_OF_CONTAINER: Final = (*TAKEN_OF_CONTAINER, "env", "envFrom", "volumeMounts")
_PROFILER: Final = "profiler"
_ADDED: Final = frozenset({"profiling-output", "profiling-config", "model-cache", "request-spec"})


@differs("the API server refuses the pods later, where the error is hard to find", lacking=True)
@rule("DYN507", where=REQUEST, when="overrides.profilingJob.template", stage=Stage.REQUEST)
def dgdr_pod_refused(at: At) -> Findings:
    """The API server would refuse the pod of the profiling job.

    Why
        The definition of the kind checks only the types of a pod template. The API server checks the rest when the pod is created, so the
        model would never be profiled.

    Fix
        Correct the field as the message says. Fields of the template that the profiling job doesn't take are not looked at.

    Example
         spec:
           overrides:
             profilingJob:
               template:
                 spec:
                   containers: [{name: profiler}]
                   tolerations:
        -            - {key: nvidia.com/gpu, operator: In, effect: NoSchedule}  # expect
        +            - {key: nvidia.com/gpu, operator: Exists, effect: NoSchedule}
    """
    template = at.value["overrides"]["profilingJob"]["template"]
    pod = template.get("spec") or {}
    spec = _take(pod, (*TAKEN_OF_POD, *_LISTS)) | {"securityContext": _take(pod.get("securityContext"), TAKEN_OF_SECURITY)}
    containers = pod.get("containers") or ()
    # the first container gets the job's own name; other containers are not taken, nor are variables without a name
    spec["containers"] = [{**_take(container, _OF_CONTAINER), "name": _PROFILER} for container in containers[:1] if container]
    for taken in spec["containers"]:
        taken["env"] = [variable for variable in taken.get("env") or () if variable and variable.get("name")]
    whole = {"metadata": template.get("metadata"), "spec": spec}
    for path, text in list_template_mistakes(whole, _ADDED, frozenset({_PROFILER})):
        yield at.invalid((*_TEMPLATE, *path), None, text)


def _take(value: Any, names: tuple[str, ...]) -> Fields:
    return {name: item for name, item in (value or {}).items() if name in names and item not in (None, "", [], {})}
