"""DYN349: inter-pod failover of something that is no engine."""

from typing import Final

from dynamo_webhooks.policies.at import At
from dynamo_webhooks.policies.component._failover import interpod_without_gms
from dynamo_webhooks.policies.order import Stage
from dynamo_webhooks.policies.rule import COMPONENT, Hits, rule
from dynamo_webhooks.policies.words import words

_NO_ENGINES: Final = ("epp", "frontend", "planner")


@rule("DYN349", where=COMPONENT, when="failover", stage=Stage.FAILOVER)
def failover_interpod_component_type(at: At) -> Hits:
    """Inter-pod failover is on for a component that runs no engine.

    Why
        Standby engines take over weights on GPUs. Frontends, planners and endpoint pickers hold none; they are made safe with replicas.

    Fix
        Switch failover off here, or set the `{componentType}` to that of a worker if it is one.

    Bad
        ```yaml
        spec:
          services:
            frontend:  # expect
              componentType: frontend
              resources: {limits: {gpu: "1"}}
              failover: {enabled: true, mode: interPod, numShadows: 1}  # expect: failover-interpod-requires-gms
        ```

    Good
        ```yaml
        spec:
          services:
            frontend: {componentType: frontend, replicas: 2}
        ```
    """
    kind = at.value.get("componentType")
    # where the GPU memory service is on, gms-worker-only refuses these and others
    if kind in _NO_ENGINES and interpod_without_gms(at.value):
        yield at.forbidden("", words('must run an engine for failover in mode {interPod}, got {componentType} "{seen}"', seen=kind))
