"""The power limit of GPUs."""

from collections.abc import Iterator

from ...api.paths import Path
from ..annotations import POWER_LIMIT
from ..at import At, Findings
from ..components import POWER_LIMIT_PATH, count_nodes, read_gms, read_pod, read_power_limit
from ..gpu import count_plain_gpus, read_plain_gpus
from ..patterns import parse_whole_number
from ..review import UPDATE, Fields
from ..rule import GRAPH_COMPONENT, Stage, rule
from ..words import quote_once


@rule("DYN718", where=GRAPH_COMPONENT, on=(UPDATE,), stage=Stage.IMMUTABLE, ratchets=False, since="1.4")
def power_limit_immutable(at: At) -> Findings:
    """The power limit of a component changes after creation, or its number of GPUs or nodes changes under a limit.

    Why
        Power is planned once, for the GPUs that the component has at creation. A component without a limit may change its GPUs and nodes.

    Fix
        Restore the old limit and numbers, or create another graph with the new ones.

    Example
        -spec:
        -  components:
        -    - name: worker
        -      podTemplate: {spec: {containers: [{name: main}]}, metadata: {annotations: {dynamo.nvidia.com/gpu-power-limit: "300"}}}
        ---- # becomes
        -{worker}
        -      podTemplate:
        -        spec: {containers: [{name: main, image: "example/vllm:1.5.0"}]}
        -        {annotations}
        -            dynamo.nvidia.com/gpu-power-limit: "400"  # expect

         spec:
           components:
             - name: worker
               podTemplate:
                 spec: {containers: [{name: main, resources: {limits: {nvidia.com/gpu: "4"}}}]}
                 metadata: {annotations: {dynamo.nvidia.com/gpu-power-limit: "300"}}
         --- # becomes
         {worker}
        +      replicas: 2
               {containers of a pod}
                     - name: main
                       image: example/vllm:1.5.0
                       resources:
                         limits:
        -                  nvidia.com/gpu: "8"  # expect
        +                  nvidia.com/gpu: "4"
                 metadata: {annotations: {dynamo.nvidia.com/gpu-power-limit: "300"}}
    """
    if at.old is None:
        return
    limit, before = read_power_limit(at.value), read_power_limit(at.old)
    if limit != before:
        yield at.immutable(POWER_LIMIT_PATH, f"must stay {_format_limit(before)} after creation, got {_format_limit(limit)}", value=limit)
    if before is None:
        return
    (gpus, place), (gpus_before, _) = read_plain_gpus(at.value), read_plain_gpus(at.old)
    if gpus != gpus_before:
        text = f"must stay {gpus_before or 'unset'} under a power limit, got {gpus or 'none'}"
        yield at.immutable(place, text, value=gpus)
    nodes, nodes_before = count_nodes(at.value), count_nodes(at.old)
    if nodes != nodes_before and (nodes > 1) == (nodes_before > 1):  # dgd-node-layout-immutable says the rest
        yield at.immutable("multinode.nodeCount", f"must stay {nodes_before} under a power limit, got {nodes}", value=nodes)


@rule("DYN729", where=GRAPH_COMPONENT, on=(UPDATE,), when="podTemplate", stage=Stage.IMMUTABLE, ratchets=False, since="1.6")
def power_limit_pod_immutable(at: At) -> Findings:
    """The number of GPUs in the whole pod changes under a power limit.

    Why
        Power is planned once, for all GPUs of the pod, including those of other containers.

    Fix
        Restore the old numbers, or create another graph with the new ones.

    Example
         {worker with a pod}
                   containers: [{name: main, image: "example/vllm:1.6.0", resources: {limits: {nvidia.com/gpu: "4"}}}]
                 metadata: {annotations: {dynamo.nvidia.com/gpu-power-limit: "300"}}
         --- # becomes
         {worker}
               podTemplate:
                 spec:  # expect
                   containers:
                     - {name: main, image: "example/vllm:1.6.0", resources: {limits: {nvidia.com/gpu: "4"}}}
        -            - {name: beside, image: "example/vllm:1.6.0", resources: {limits: {nvidia.com/gpu: "1"}}}
        +            - {name: beside, image: "example/vllm:1.6.0"}
                 metadata: {annotations: {dynamo.nvidia.com/gpu-power-limit: "300"}}
    """
    if at.old is None or read_power_limit(at.old) is None:
        return
    now, before = (count_plain_gpus(component) for component in (at.value, at.old))
    if now != before and read_plain_gpus(at.value)[0] == read_plain_gpus(at.old)[0]:  # power-limit-immutable says the rest
        yield at.immutable("podTemplate.spec", f"must keep {before} GPUs in all containers under a power limit, got {now}")


def _format_limit(limit: str | None) -> str:
    return "unset" if limit is None else f'"{quote_once(limit)}"'


@rule("DYN216", where=GRAPH_COMPONENT, when="podTemplate.metadata.annotations", stage=Stage.COMPONENT, since="1.4")
def power_limit_number(at: At) -> Findings:
    """The annotation for the GPU power limit isn't a whole number of watts above zero.

    Why
        The number is set on each GPU when the pod starts. With any other value, the GPUs keep their default limit.

    Fix
        Write a whole number of watts, in quotes, or remove the annotation.

    Example
         {worker}
               podTemplate:
                 spec: {containers: [{name: main, image: "example/vllm:1.5.0"}]}
                 {annotations}
        -            dynamo.nvidia.com/gpu-power-limit: 300W  # expect
        +            dynamo.nvidia.com/gpu-power-limit: "300"
    """
    limit = read_power_limit(at.value)
    if limit is not None and (parse_whole_number(limit) or 0) <= 0:
        yield at.invalid(POWER_LIMIT_PATH, limit, f'must be a whole number of watts above 0, got "{quote_once(limit)}"')


@rule("DYN217", where=GRAPH_COMPONENT, when="podTemplate.metadata.annotations", stage=Stage.COMPONENT, since="1.4")
def power_limit_without_dra(at: At) -> Findings:
    """A component has a power limit, but its GPUs are allocated by claims.

    Why
        Power is planned for GPUs that a container requests by number. The planner doesn't know GPUs that are allocated by a claim (DRA),
        as with a GPU memory service.

    Fix
        Remove the annotation `dynamo.nvidia.com/gpu-power-limit`, or the claims and the GPU memory service.

    Example
         {worker}
               podTemplate:
                 spec: {containers: [{name: main, image: "example/vllm:1.5.0", resources: {limits: {nvidia.com/gpu: "1"}}}]}
                 metadata: {annotations: {dynamo.nvidia.com/gpu-power-limit: "300"}}
        -      experimental:
        -        gpuMemoryService: {}  # expect

        -{worker with a pod}
        -          resourceClaims: [{name: gpus, resourceClaimTemplateName: gpus}]
        -          containers:
        -            - name: main
        -              image: example/vllm:1.5.0
        -              resources:
        -                claims: [{name: gpus}]  # expect
        -        metadata: {annotations: {dynamo.nvidia.com/gpu-power-limit: "300"}}
    """
    if read_power_limit(at.value) is None:
        return
    text = f"must not be set together with the annotation {POWER_LIMIT}"
    if read_gms(at.value) is not None:
        yield at.forbidden("experimental.gpuMemoryService", text)
    for path in _claims(at.value):
        yield at.forbidden(path, text)


def _claims(component: Fields) -> Iterator[Path]:
    """Places where containers claim devices."""
    pod = read_pod(component)
    for part in ("containers", "initContainers"):
        for index, container in enumerate(pod.get(part) or ()):
            if ((container or {}).get("resources") or {}).get("claims"):
                yield "podTemplate", "spec", part, index, "resources", "claims"
