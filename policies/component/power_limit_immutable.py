"""DYN718: a power limit, or what it was planned for, that changes later."""

from dynamo_webhooks.policies.at import At
from dynamo_webhooks.policies.domain import POWER_LIMIT_PATH, node_count, power_limit, said
from dynamo_webhooks.policies.gpu import plain_gpus
from dynamo_webhooks.policies.order import Stage
from dynamo_webhooks.policies.review import UPDATE
from dynamo_webhooks.policies.rule import SERVICES, Hits, rule


@rule("DYN718", where=SERVICES, on=(UPDATE,), stage=Stage.IMMUTABLE, ratchets=False, since="1.5")
def power_limit_immutable(at: At) -> Hits:
    """The power limit of a component changes after creation, or the number of its GPUs or nodes under such a limit.

    Why
        Power is planned once, for the GPUs that the component has then. A component without a limit may change its GPUs and nodes.

    Fix
        Put the old limit and numbers back, or create another graph with the new ones.

    Bad
        ```yaml
        spec: {services: {worker: {extraPodMetadata: {annotations: {dynamo.nvidia.com/gpu-power-limit: "300"}}}}}
        --- # becomes
        spec:
          services:
            worker:
              componentType: worker
              extraPodSpec: {mainContainer: {image: "example/vllm:1.5.0"}}
              extraPodMetadata:
                annotations:
                  dynamo.nvidia.com/gpu-power-limit: "400"  # expect
        ```
        ```yaml
        spec:
          services:
            worker:
              resources: {limits: {gpu: "4"}}
              extraPodMetadata: {annotations: {dynamo.nvidia.com/gpu-power-limit: "300"}}
        --- # becomes
        spec:
          services:
            worker:
              componentType: worker
              resources:
                limits:
                  gpu: "8"  # expect
              extraPodSpec: {mainContainer: {image: "example/vllm:1.5.0"}}
              extraPodMetadata: {annotations: {dynamo.nvidia.com/gpu-power-limit: "300"}}
        ```

    Good
        ```yaml
        spec:
          services:
            worker:
              resources: {limits: {gpu: "4"}}
              extraPodMetadata: {annotations: {dynamo.nvidia.com/gpu-power-limit: "300"}}
        --- # becomes
        spec:
          services:
            worker:
              componentType: worker
              replicas: 2
              resources: {limits: {gpu: "4"}}
              extraPodSpec: {mainContainer: {image: "example/vllm:1.5.0"}}
              extraPodMetadata: {annotations: {dynamo.nvidia.com/gpu-power-limit: "300"}}
        ```
    """
    if at.old is None:
        return
    limit, before = power_limit(at.value), power_limit(at.old)
    if limit != before:
        yield at.immutable(POWER_LIMIT_PATH, f"must stay {_shown(before)} after creation, got {_shown(limit)}", value=limit)
    if before is None:
        return
    (gpus, place), (gpus_before, _) = plain_gpus(at.value), plain_gpus(at.old)
    if gpus != gpus_before:
        text = f"must stay {gpus_before or 'unset'} under a power limit, got {gpus or 'none'}"
        yield at.immutable(place, text, value=gpus)
    nodes, nodes_before = node_count(at.value), node_count(at.old)
    if nodes != nodes_before and (nodes > 1) == (nodes_before > 1):  # dgd-node-layout-immutable says the rest
        yield at.immutable("multinode.nodeCount", f"must stay {nodes_before} under a power limit, got {nodes}", value=nodes)


def _shown(limit: str | None) -> str:
    return "unset" if limit is None else f'"{said(limit)}"'
