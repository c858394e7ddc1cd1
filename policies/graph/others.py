"""Rules of graphs whose theme is a field or two."""

from typing import Final

from ...api.paths import Key
from ..at import At
from ..component.failover import EMPTY_MODE, is_intrapod
from ..domain import (
    DISCOVERY_MODE,
    GROVE_OPT_OUT,
    GROVE_UPDATE_STRATEGY,
    WORKERS,
    explain_absence,
    explain_off_grove,
    find_main,
    is_line_1_4,
    is_multinode,
    list_components,
    node_count,
    opts_out_of_grove,
    provide,
    way_to_grove,
)
from ..engines import list_templates
from ..finding import Mend
from ..image_tag import runtime_version
from ..no_effect import list_ignored, may_run_on_grove
from ..review import Fields
from ..rule import GRAPH, GRAPH_COMPONENT, GRAPH_OBJECT, Hits, Stage, differs, rule
from ..words import format_words


@differs(("G-13", "Q-17"), "v1beta1 allows one endpoint picker; two would use the same pool", lacking=True)
@rule("DYN112", where=GRAPH, when="components.*.type=epp", stage=Stage.EPP)
def epp_single_per_graph(at: At) -> Hits:
    """A graph has two endpoint pickers.

    Why
        The graph's workers form one inference pool, and a pool has one endpoint picker. With two it is left to chance which one routes.

    Fix
        Keep one {service} of type `epp`, or make two graphs.

    Example
    bad spec:
    bad   components:
    bad     - {name: picker-a, type: epp, eppConfig: {configMapRef: {name: c, key: k}}}
    bad     - name: picker-b
    bad       type: epp  # expect
    bad       eppConfig: {configMapRef: {name: c, key: k}}
    ok  spec: {components: [{name: picker, type: epp, eppConfig: {configMapRef: {name: c, key: k}}}, {name: worker, type: worker}]}
    """
    pickers = sorted((name, index) for index, name, component in list_components(at.value) if component.get("type") == "epp")
    if len(pickers) > 1:
        text = format_words('must be "epp" for one {service} only, got it for {count}', count=len(pickers))
        for _, index in pickers[1:]:
            yield at.duplicate(("components", index, "type"), "epp", text)


@differs(("Q-10",), EMPTY_MODE)
@rule("DYN108", where=GRAPH_OBJECT, when="spec.components.*.experimental", stage=Stage.FAILOVER)
def failover_intrapod_discovery_mode(at: At) -> Hits:
    """A service keeps standby engines in its pod, but discovery looks at whole pods.

    Why
        With intra-pod failover a pod holds two engines of which one serves. Discovery by pod can't distinguish them, so requests would go
        to the standby too, or none would be found after a switch.

    Fix
        Set the graph's annotation `nvidia.com/dynamo-kube-discovery-mode` to `container`.

    Example
    bad metadata:
    bad   annotations:
    bad     nvidia.com/dynamo-kube-discovery-mode: pod  # expect
    ok  metadata: {annotations: {nvidia.com/dynamo-kube-discovery-mode: container}}
        {worker with a GPU}
              experimental: {gpuMemoryService: {mode: IntraPod}, failover: {mode: IntraPod}}

    bad metadata: {name: g}  # expect
    bad {worker with a GPU}
    bad       experimental: {gpuMemoryService: {}, failover: {}}
    """
    names = [name for _, name, component in list_components(at.value["spec"]) if is_intrapod(component)]
    value = at.review.annotations.get(DISCOVERY_MODE)
    if names and value != "container":
        seen = "got nothing" if value is None else f'got "{value}"'
        first = f'"{min(names)}"' + (f" and {len(names) - 1} more" if len(names) > 1 else "")
        text = f'must be "container" for the intra-pod failover of {first}, {seen}'
        yield at.invalid(("metadata", "annotations", Key(DISCOVERY_MODE)), value, text, mend=Mend("container"))


@differs((), "what is accepted and has no effect is named", lacking=True)
@rule("DYN911", where=GRAPH_OBJECT, when="spec", stage=Stage.ADVICE)
def field_without_effect(at: At) -> Hits:
    """A graph has a field or an annotation that nothing acts on.

    Why
        It is accepted and kept, but what runs is the same without it. A graph's condition `FieldsIgnored` names it, too.

    Fix
        Remove it, or write it where it acts.

    Example
    ok  metadata: {annotations: {nvidia.com/enable-grove: "false"}}
        spec:
    bad   components:
    bad     - name: worker
    bad       type: worker
    bad       modelRef:
    bad         name: m
    bad         revision: main  # expect
    ok    annotations: {nvidia.com/deployment-strategy: Recreate}
    ok    components: [{name: worker, type: worker, modelRef: {name: m}}]

    bad metadata:
    bad   annotations:
    bad     nvidia.com/deployment-strategy: Recreate  # expect
    """
    grove = may_run_on_grove(at.review)
    for path, why in list_ignored(at.value, grove=grove):
        if path[-1] != GROVE_UPDATE_STRATEGY or grove is False or not is_line_1_4(at.review):  # another rule refuses an unknown one
            yield at.warning(path, f"is without effect{why.removeprefix('has no effect')}")


_LWS: Final = "LeaderWorkerSet with Volcano"


@differs(("G-02",), "without both orchestrators the operator fails the graph", lacking=True)
@rule("DYN111", where=GRAPH_COMPONENT, when="multinode", stage=Stage.SCHEDULING, needs=("grove", "lws"))
def multinode_requires_orchestrator(at: At) -> Hits:
    """A service spans several nodes, but neither Grove nor LeaderWorkerSet can run it.

    Why
        The pods of one engine that spans nodes must start and stop together. Plain Deployments can't do that, so the graph would end in
        state failed.

    Fix
        Install Grove, which most clusters run such graphs on, or LeaderWorkerSet with Volcano; or keep the {service} on one node. A graph
        that was created without Grove must be created anew to run there, without the annotation `nvidia.com/enable-grove: "false"`.

    Example
    bad # facts: {grove: false, lws: false}
    bad {worker}
    bad       multinode: {nodeCount: 2}  # expect

    bad # facts: {lws: false}
    bad metadata: {annotations: {nvidia.com/enable-grove: "false"}}
    bad {worker}
    bad       multinode: {nodeCount: 2}  # expect
    ok  # facts: {grove: false, lws: true}
    ok  spec: {components: [{name: worker, type: worker, multinode: {nodeCount: 2}}]}
    """
    if is_multinode(at.value) and not _can_run(at):
        lacks = explain_absence(at, "lws", _LWS)
        text = f"must not span {node_count(at.value)} nodes: {explain_off_grove(at)}; {lacks}"
        other = provide(at, "lws", _LWS)
        fix = format_words("{grove}, the usual way, or {other}; else keep the {service} on one node", grove=way_to_grove(at), other=other)
        yield at.forbidden("multinode", text, fix=fix)


def _can_run(at: At) -> bool:
    """Whether there is an orchestrator; one that is known to be there is enough, so the fact about the other may be unknown."""
    return at.review.facts.lws is True or not explain_off_grove(at) or bool(at.fact("lws"))


@rule("DYN106", where=GRAPH, when="priorityClassName", stage=Stage.SCHEDULING, needs=("grove",))
def priority_class_requires_grove(at: At) -> Hits:
    """A graph has a priority class, but Grove does not run it.

    Why
        Grove schedules the graph as one gang with this priority class. Without Grove, the class is ignored, and the
        pods run with the default priority.

    Fix
        Remove `priorityClassName`, or run the graph on Grove. A single {service} can have a priority class in its `{extraPodSpec}`.

    Example
    bad metadata: {annotations: {nvidia.com/enable-grove: "false"}}
    bad spec:
    bad   priorityClassName: high  # expect

    bad # facts: {grove: false}
    bad spec:
    bad   priorityClassName: high  # expect
    ok  spec: {priorityClassName: high}
    """
    name = at.value["priorityClassName"]
    if name and (reason := explain_off_grove(at)):
        switch = opts_out_of_grove(at.review) and at.review.facts.grove is not False
        fix = f"remove the annotation {GROVE_OPT_OUT}, or priorityClassName" if switch else ""
        yield at.forbidden("priorityClassName", f'must be unset without Grove, got "{name}": {reason}', fix=fix)


_READS = (1, 6, 0)  # the first planner that reads the templates of roles


@rule("DYN185", where=GRAPH, when="components.*.roles", stage=Stage.COMPONENT, since="1.6")
def role_template_planner(at: At) -> Hits:
    """A graph's planner is too old for the pod templates of roles.

    Why
        Planners before 1.6.0 read the component's own template, and would plan with no GPUs.

    Fix
        Use a planner from 1.6.0 on, in the same update if you like, or one template for the {service}.

    Example
        spec:
          components:
            - name: planner
              type: planner
    bad       podTemplate: {spec: {containers: [{name: main, image: "example/planner:1.5.0"}]}}
    ok        podTemplate: {spec: {containers: [{name: main, image: "example/planner:1.6.0"}]}}
            - name: worker
              type: worker
              multinode: {nodeCount: 2}
              roles:  # expect
                - {name: leader, podTemplate: {spec: {containers: [{name: main, image: "example/vllm:1.6.0"}]}}}
                - {name: worker, podTemplate: {spec: {containers: [{name: main, image: "example/vllm:1.6.0"}]}}}
    """
    components = list_components(at.value)
    planners = [component for _, _, component in components if component.get("type") == "planner"]
    if all((runtime_version(planner) or ()) >= _READS for planner in planners):
        return
    for index, _, component in components:
        if list_templates(component):
            path = ("components", index, "roles")
            yield at.forbidden(path, "must have no pod templates unless each planner of the graph is of version 1.6.0 or later")


_MODEL = ("--served-model-name", "--model", "--model-path")  # the first that is there names the model


@differs((), "requests of a model that no component serves any more fail without a warning", lacking=True)
@rule("DYN912", where=GRAPH, when="components.*.replicas=0", stage=Stage.ADVICE)
def scale_to_zero_unroutable(at: At) -> Hits:
    """A worker has no replicas, and no other component serves its model.

    Why
        Frontends forget a model with its last worker, and refuse requests for it. They don't wait for a worker, and nothing starts one.

    Fix
        Keep one replica, or expect that requests for the model fail until you scale the {service} up again.

    Example
        spec:
          components:
    bad     - {name: frontend, type: frontend}
    bad     - name: worker
    bad       type: worker
    bad       replicas: 0  # expect
    ok      - {name: worker, type: worker, replicas: 0}
    ok      - {name: more, type: worker, replicas: 1}
    """
    workers = [(index, component) for index, _, component in list_components(at.value) if component.get("type") in WORKERS]
    stopped = [(index, component) for index, component in workers if component.get("replicas") == 0]
    if not stopped:
        return
    served: dict[str, set[str]] = {}  # type -> the models of its workers that run; "" for one that is not named, which may be any
    for _, component in workers:
        if component.get("replicas") != 0:
            served.setdefault(component["type"], set()).add(_model(component))
    for index, component in stopped:
        models, name = served.get(component["type"], set()), _model(component)
        stands_in = not models.isdisjoint(("", name)) if name else bool(models)
        if not stands_in:
            yield at.warning(("components", index, "replicas"), "is 0, and no other component serves the model: requests for it fail")


def _model(component: Fields) -> str:
    """The model that a worker serves, as far as its command line says."""
    main, _ = find_main(component)
    words = [str(word) for part in ("command", "args") for word in main.get(part) or ()]
    for flag in _MODEL:
        for place, word in enumerate(words):
            name, _, value = word.partition("=")
            if name == flag:
                return value or (words[place + 1] if place + 1 < len(words) else "")
    return ""
