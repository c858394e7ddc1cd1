"""The minimum of available replicas."""

from ..at import At
from ..domain import component_off_grove
from ..rule import COMPONENT, Hits, Stage, rule


@rule("DYN214", where=COMPONENT, when="minAvailable", stage=Stage.COMPONENT, needs=("grove",), since="1.4")
def min_available_requires_grove(at: At) -> Hits:
    """A component says how many replicas must be available, but Grove does not run it.

    Why
        Only Grove schedules the first `minAvailable` replicas together. Without Grove, the number has no effect.

    Fix
        Remove `minAvailable`, or run the graph on Grove.

    Example
    bad metadata: {annotations: {nvidia.com/enable-grove: "false"}}
        spec:
          components:
            - name: worker
              type: worker
    bad       minAvailable: 1  # expect
    ok        replicas: 4
    ok        minAvailable: 2
              podTemplate: {spec: {containers: [{name: main, image: "example/vllm:1.5.0"}]}}

    bad # kind: DynamoComponentDeployment/v1beta1
    bad spec:
    bad   minAvailable: 1  # expect
    bad   podTemplate: {spec: {containers: [{name: main, image: "example/vllm:1.5.0"}]}}
    """
    if reason := component_off_grove(at):
        yield at.forbidden("minAvailable", f"must be unset without Grove, got {at.value['minAvailable']}: {reason}")
