"""The replicas of a component."""

from ..at import At, Findings
from ..grove import component_off_grove
from ..rule import COMPONENT, Stage, rule


@rule("DYN214", where=COMPONENT, when="minAvailable", stage=Stage.COMPONENT, needs=("grove",), since="1.4")
def min_available_requires_grove(at: At) -> Findings:
    """A component sets `minAvailable`, but Grove does not run it.

    Why
        Only Grove schedules the first `minAvailable` replicas together. Without Grove, the field has no effect.

    Fix
        Remove `minAvailable`, or run the graph on Grove.

    Example
        -metadata: {annotations: {nvidia.com/enable-grove: "false"}}
         {worker}
        -      minAvailable: 1  # expect
        +      replicas: 4
        +      minAvailable: 2
               podTemplate: {spec: {containers: [{name: main, image: "example/vllm:1.5.0"}]}}

        -# kind: DynamoComponentDeployment/v1beta1
        -spec:
        -  minAvailable: 1  # expect
        -  podTemplate: {spec: {containers: [{name: main, image: "example/vllm:1.5.0"}]}}
    """
    if reason := component_off_grove(at):
        yield at.forbidden("minAvailable", f"must be unset without Grove, got {at.value['minAvailable']}: {reason}")


@rule("DYN201", where=COMPONENT, when="replicas<0", stage=Stage.COMPONENT)
def replicas_non_negative(at: At) -> Findings:
    """A component has a negative number of replicas.

    Why
        The API server would refuse the Deployment or PodClique of the component.

    Fix
        Write 0 to stop the component, or the number of replicas that should run.

    Example
         {worker}
        -      replicas: -1  # expect
        +      replicas: 1

        +spec: {components: [{name: frontend, type: frontend, replicas: 0}]}
    """
    replicas = at.value["replicas"]
    yield at.invalid("replicas", replicas, f"must be 0 or more, got {replicas}")
