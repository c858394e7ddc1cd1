"""Rules for what Grove refuses of the pods of a graph, or of their change, though Kubernetes admits it."""

from collections import Counter
from collections.abc import Iterator
from typing import Final

from ...api.paths import Path
from ..at import At, Findings
from ..components import DEVICE_CLASS, LPX, WORKERS, count_nodes, find_main, interpod_gms, is_multinode, read_gms
from ..engines import list_templates
from ..frameworks import TRTLLM, find_frameworks
from ..gpu import count_gpus
from ..grove import explain_off_grove
from ..review import UPDATE, Fields
from ..rule import GRAPH, GRAPH_COMPONENT, Stage, differs, rule

_REFUSED: Final = "Grove would refuse the graph's pods for ever"
_FIXED: Final = "Grove would refuse the change for ever, and with it all others of the graph"


def _list_pods(component: Fields) -> Iterator[tuple[Path, Fields]]:
    """The pod specs that a component's pods on Grove are made of, with their places."""
    if component.get("type") == LPX:
        return
    templates: list[tuple[Path, Fields]] = [(("roles", index), template) for index, template in list_templates(component)]
    for place, template in templates or [((), component.get("podTemplate") or {})]:
        yield (*place, "podTemplate", "spec"), template.get("spec") or {}


_PLACED: Final = ("podTemplate.spec.nodeName", "podTemplate.spec.topologySpreadConstraints", "roles")
_SCHEDULED: Final = ("components.*.podTemplate.spec.schedulerName", "components.*.roles")


@differs(_REFUSED, lacking=True)
@rule("DYN118", where=GRAPH_COMPONENT, when=_PLACED, stage=Stage.SCHEDULING, needs=("grove",))
def grove_pod_placement(at: At) -> Findings:
    """A component on Grove chooses a node or spreads its pods.

    Why
        Grove places the pods of a graph as a group. It refuses pods that are bound to a node or have topology spread constraints.

    Fix
        Remove the field. Choose nodes with `nodeSelector` or `affinity`, or pack the pods with `topologyConstraint`.

    Example
         {worker with a pod}
                   containers: [{name: main}]
        -          nodeName: a  # expect
        -          topologySpreadConstraints: [{maxSkew: 1, topologyKey: zone, whenUnsatisfiable: DoNotSchedule}]  # expect
        +          nodeSelector: {kubernetes.io/hostname: a}

         # facts: {grove: true}
        +metadata: {annotations: {nvidia.com/enable-grove: "false"}}
         {worker with a pod}
                   containers: [{name: main}]
                   nodeName: a  # expect
    """
    for place, pod in _list_pods(at.value):
        for field in ("nodeName", "topologySpreadConstraints"):
            if pod.get(field) and not explain_off_grove(at):
                yield at.forbidden((*place, field), "must be unset on Grove, which places the pods of a graph as a group")


# what pods without a scheduler may get, as the cluster and the configuration of the operator decide
_CHOSEN: Final = frozenset({"default-scheduler", "kai-scheduler", "volcano"})


def _differ(name: str, other: str) -> bool:
    """Whether two names of schedulers, "" for none, can't mean the same one."""
    return name != other and not ({name, other} - {""} <= _CHOSEN and "" in (name, other))


def _list_schedulers(component: Fields) -> dict[Path, str]:
    return {(*place, "schedulerName"): pod.get("schedulerName") or "" for place, pod in _list_pods(component)}


@differs(_REFUSED, lacking=True)
@rule("DYN119", where=GRAPH, when=_SCHEDULED, stage=Stage.SCHEDULING, needs=("grove",))
def grove_one_scheduler(at: At) -> Findings:
    """Components on Grove have different schedulers.

    Why
        Grove schedules all pods of a graph together, and refuses a graph whose pods have several schedulers.

    Fix
        Set the same `schedulerName` in all {services}, or in none.

    Example
         spec:
           components:
             - name: frontend
               type: frontend
        +      podTemplate: {spec: {containers: [{name: main}], schedulerName: mine}}
             - name: worker
               type: worker
        +      podTemplate: {spec: {containers: [{name: main}], schedulerName: mine}}
        +    - name: other
        +      type: worker
               podTemplate:
                 spec:
                   containers: [{name: main}]
                   schedulerName: mine  # expect
    """
    schedulers = [
        ((("components", index, *place)), name)
        for index, _, component in at.components
        for place, name in _list_schedulers(component).items()
    ]
    if not any(name for _, name in schedulers):
        return
    usual = Counter(name for _, name in schedulers).most_common(1)[0][0]
    for place, name in schedulers:
        if _differ(name, usual) and not explain_off_grove(at):
            wanted = f'"{usual}"' if usual else "unset"
            yield at.invalid(place, name, f"must be {wanted} as in other components, because Grove runs it, got {_quote(name)}")


def _quote(name: str) -> str:
    return f'"{name}"' if name else "nothing"


@differs(_FIXED, lacking=True)
@rule("DYN730", where=GRAPH_COMPONENT, on=(UPDATE,), stage=Stage.IMMUTABLE, needs=("grove",), ratchets=False)
def grove_scheduler_immutable(at: At) -> Findings:
    """The scheduler of a component on Grove changes after creation.

    Why
        Grove refuses to move the pods of a graph to another scheduler.

    Fix
        Restore the old `schedulerName`, or create another graph with the new one.

    Example
        -{worker}
        +metadata: {annotations: {nvidia.com/enable-grove: "false"}}
        +{worker}
         --- # becomes
        +metadata: {annotations: {nvidia.com/enable-grove: "false"}}
         {worker with a pod}
                   containers: [{name: main}]
                   schedulerName: mine  # expect
    """
    if at.old is None:
        return
    before = _list_schedulers(at.old)
    for place, now in _list_schedulers(at.value).items():
        if _differ(now, was := before.get(place, "")) and not explain_off_grove(at):
            wanted = f'"{was}"' if was else "unset"
            yield at.immutable(place, f"must stay {wanted} for as long as Grove runs the graph, got {_quote(now)}", value=now)


@differs(_FIXED, lacking=True)
@rule("DYN731", where=GRAPH_COMPONENT, on=(UPDATE,), when="multinode", stage=Stage.IMMUTABLE, needs=("grove",), ratchets=False, until="1.6")
def grove_node_count_immutable(at: At) -> Findings:
    """The number of nodes of a component on Grove changes after creation.

    Why
        Grove starts all pods of a replica together, and refuses to change their number. Since operator 1.6, the number may not change
        anywhere.

    Fix
        Restore the old number and change `replicas`, or create another graph with the new number.

    Example
        +metadata: {annotations: {nvidia.com/enable-grove: "false"}}
         {worker}
               multinode: {nodeCount: 2}
         --- # becomes
        +metadata: {annotations: {nvidia.com/enable-grove: "false"}}
         {worker}
               multinode:
                 nodeCount: 4  # expect
    """
    if at.old is None or not is_multinode(at.value) or not is_multinode(at.old):
        return  # dgd-node-layout-immutable refuses it
    if (now := count_nodes(at.value)) != (was := count_nodes(at.old)) and not explain_off_grove(at):
        yield at.immutable("multinode.nodeCount", f"must stay {was} for as long as Grove runs the graph, got {now}", value=now)


@differs(_FIXED, lacking=True)
@rule("DYN732", where=GRAPH_COMPONENT, on=(UPDATE,), when="experimental", stage=Stage.IMMUTABLE, ratchets=False)
def gms_interpod_claim_immutable(at: At) -> Findings:
    """The GPUs change that engines share with a memory service in its own pods.

    Why
        These pods share GPUs through claims, whose templates Grove refuses to change.

    Fix
        Restore the old number of GPUs and the old `deviceClassName`, or create another graph with the new ones.

    Example
         {vllm worker with a GPU}
               experimental: {gpuMemoryService: {mode: InterPod}}
         --- # becomes
         {vllm worker}
        +      replicas: 2
               {containers of a pod}
                     - name: main
                       resources:
                         limits:
        -                  nvidia.com/gpu: "2"  # expect
        +                  nvidia.com/gpu: "1"
               experimental:
                 gpuMemoryService:
                   mode: InterPod
        -          deviceClassName: mig.nvidia.com  # expect
        +          deviceClassName: gpu.nvidia.com
    """
    if at.old is None or not interpod_gms(at.value) or not interpod_gms(at.old):
        return  # gms-interpod-immutable refuses it
    now, before = count_gpus(at.value), count_gpus(at.old)
    if now.number != before.number:
        text = f"must stay {before.text} while pods share GPUs, got {now.text or 'none'}"
        yield at.immutable(now.path, text, value=now.number)
    classes = [(read_gms(component) or {}).get("deviceClassName") or DEVICE_CLASS for component in (at.value, at.old)]
    if classes[0] != classes[1]:
        text = f'must stay "{classes[1]}" while pods share GPUs, got "{classes[0]}"'
        yield at.immutable("experimental.gpuMemoryService.deviceClassName", text, value=classes[0])


@differs(_FIXED, lacking=True)
@rule("DYN733", where=GRAPH_COMPONENT, on=(UPDATE,), when="multinode", stage=Stage.IMMUTABLE, needs=("grove",), ratchets=False)
def grove_engine_immutable(at: At) -> Findings:
    """A component on several nodes changes to TensorRT-LLM or from it, on Grove.

    Why
        The leader of TensorRT-LLM starts after its workers, and those of other engines don't. Grove refuses to change this order. An engine
        is found in the call of the main container unless `backendFramework` names it, which can't change.

    Fix
        Restore the old call, or create another graph with the new engine.

    Example
         {worker}
               multinode: {nodeCount: 2}
               podTemplate: {spec: {containers: [{name: main, args: [python3 -m dynamo.vllm]}]}}
         --- # becomes
         {worker}
               multinode: {nodeCount: 2}
               {containers of a pod}
                     - name: main
        -              args: [python3 -m dynamo.trtllm]  # expect
        +              args: [python3 -m dynamo.sglang]
    """
    if at.old is None or at.review.spec.get("backendFramework") or not is_multinode(at.value) or at.value.get("type") not in WORKERS:
        return
    if interpod_gms(at.value) or list_templates(at.value):
        return
    (now, place), (before, _) = at.main, find_main(at.old)
    engines = [find_frameworks(container) for container in (now, before)]
    if len(engines[0]) < 2 > len(engines[1]) and (TRTLLM in engines[0]) != (TRTLLM in engines[1]) and not explain_off_grove(at):
        was = f'"{engines[1][0]}"' if engines[1] else "none of the known engines"
        text = f"must run {was} for as long as Grove runs the graph"
        yield at.immutable((*place, "args" if now.get("args") else "command"), text)
