"""The number of replicas."""

from ..at import At
from ..rule import COMPONENT, Hits, Stage, rule


@rule("DYN201", where=COMPONENT, when="replicas", stage=Stage.COMPONENT)
def replicas_non_negative(at: At) -> Hits:
    """A component asks for a negative number of replicas.

    Why
        Pods can't be counted below zero; the Deployment or PodClique made from the component would be refused.

    Fix
        Write 0 to stop the component, or the number of replicas that should run.

    Example
    bad spec:
    bad   components:
    bad     - name: worker
    bad       type: worker
    bad       replicas: -1  # expect
    ok  spec: {components: [{name: frontend, type: frontend, replicas: 0}]}
    """
    replicas = at.value["replicas"]
    if replicas < 0:
        yield at.invalid("replicas", replicas, f"must be 0 or more, got {replicas}")
