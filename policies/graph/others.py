"""Rules of graphs whose theme is a field or two, of names of services, and of replicas under a scaling adapter."""

import re
from typing import Final

from ...api.paths import Key
from ..at import At
from ..command_line import find_model, split_words
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
    quote_once,
    way_to_grove,
)
from ..engines import list_templates
from ..finding import Mend
from ..image_tag import runtime_version
from ..no_effect import list_ignored, may_run_on_grove
from ..review import CREATE, UPDATE, Fields
from ..rule import GRAPH, GRAPH_ANNOTATIONS, GRAPH_COMPONENT, GRAPH_OBJECT, TOPOLOGY, Hits, Stage, differs, rule
from ..words import format_words


@differs(("G-13", "Q-17"), "v1beta1 allows one endpoint picker; two would use the same pool", lacking=True)
@rule("DYN112", where=GRAPH, when="components.*.type=epp", stage=Stage.EPP)
def epp_single_per_graph(at: At) -> Hits:
    """A graph has two endpoint pickers.

    Why
        The workers of a graph form one inference pool, and a pool has one endpoint picker. With two pickers, it would be undefined which
        one routes.

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
    pickers = sorted((name, index) for index, name, component in at.components if component.get("type") == "epp")
    if len(pickers) > 1:
        text = format_words('must be "epp" for one {service} only, got it for {count}', count=len(pickers))
        for _, index in pickers[1:]:
            yield at.duplicate(("components", index, "type"), "epp", text)


@differs(("Q-10",), EMPTY_MODE)
@rule("DYN108", where=GRAPH_OBJECT, when="spec.components.*.experimental", stage=Stage.FAILOVER)
def failover_intrapod_discovery_mode(at: At) -> Hits:
    """A component has standby engines in its pod, but discovery registers whole pods.

    Why
        With intra-pod failover, a pod holds two engines, and one of them serves. Discovery by pod can't distinguish them: requests would
        also go to the standby, or no engine would be found after a failover.

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


@differs((), "fields without effect are reported instead of being silently accepted", lacking=True)
@rule("DYN911", where=GRAPH_OBJECT, when="spec", stage=Stage.ADVICE)
def field_without_effect(at: At) -> Hits:
    """A graph has a field or an annotation without effect.

    Why
        It is accepted and kept, but changes nothing. The graph's condition `FieldsIgnored` names it, too.

    Fix
        Remove it, or set it where it has an effect.

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
    for path, why in list_ignored(at.value, at.review.line, grove=grove):
        if path[-1] != GROVE_UPDATE_STRATEGY or grove is False or not is_line_1_4(at.review):  # another rule refuses an unknown one
            yield at.warning(path, f"is without effect{why.removeprefix('has no effect')}")


_LWS: Final = "LeaderWorkerSet with Volcano"


@differs(("G-02",), "without both orchestrators the operator fails the graph", lacking=True)
@rule("DYN111", where=GRAPH_COMPONENT, when="multinode", stage=Stage.SCHEDULING, needs=("grove", "lws"))
def multinode_requires_orchestrator(at: At) -> Hits:
    """A component spans several nodes, but the cluster has neither Grove nor LeaderWorkerSet.

    Why
        The pods of an engine that spans several nodes must start and stop together. Deployments can't do that, so the graph would fail.

    Fix
        Install Grove (usual) or LeaderWorkerSet with Volcano, or keep the {service} on one node. A graph that was created without Grove
        must be created again to run there, without the annotation `nvidia.com/enable-grove: "false"`.

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
        On Grove, the graph is scheduled as one gang with this priority class. Without Grove, the class is ignored, and the pods have the
        default priority.

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
    """A graph's planner is too old for pod templates of roles.

    Why
        Planners before 1.6.0 read only the component's own template, and would plan without GPUs.

    Fix
        Use planner 1.6.0 or later (the same update may change it), or use one template for the {service}.

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
    components = at.components
    planners = [component for _, _, component in components if component.get("type") == "planner"]
    if all((runtime_version(planner) or ()) >= _READS for planner in planners):
        return
    for index, _, component in components:
        if list_templates(component):
            path = ("components", index, "roles")
            yield at.forbidden(path, "must have no pod templates unless each planner of the graph is of version 1.6.0 or later")


@differs((), "otherwise requests for a model that no component serves fail without a warning", lacking=True)
@rule("DYN912", where=GRAPH, when="components.*.replicas=0", stage=Stage.ADVICE)
def scale_to_zero_unroutable(at: At) -> Hits:
    """A worker has 0 replicas, and no other component serves its model.

    Why
        Frontends forget a model with its last worker, and then refuse requests for it. They don't wait for a worker, and nothing scales
        one up.

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
    workers = [(index, component) for index, _, component in at.components if component.get("type") in WORKERS]
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
    return find_model(split_words(find_main(component)[0]))


@differs(("Q-26",), "values that look like an opt-out, but aren't, get a warning", lacking=True)
@rule("DYN908", where=GRAPH_ANNOTATIONS, when=GROVE_OPT_OUT, stage=Stage.ADVICE)
def warn_grove_annotation(at: At) -> Hits:
    """The annotation `nvidia.com/enable-grove` is neither true nor false.

    Why
        Only `false` keeps a graph off Grove. With `no`, `0` or an empty value the graph still runs on Grove.

    Fix
        Write `"false"` to keep the graph off Grove; write `"true"` or remove the annotation to run it there.

    Example
    bad metadata:
    bad   annotations:
    bad     nvidia.com/enable-grove: "no"  # expect
    ok  metadata: {annotations: {nvidia.com/enable-grove: "False"}}
    """
    value = at.value[GROVE_OPT_OUT]
    if value.lower() not in ("true", "false"):
        yield at.warning((Key(GROVE_OPT_OUT),), f'must be "true" or "false", got "{value}"')


@differs(("Q-08",), "constraints without effect are reported instead of silently dropped", lacking=True)
@rule("DYN906", where=TOPOLOGY, stage=Stage.ADVICE)
def warn_topology_ignored(at: At) -> Hits:
    """The graph has topology constraints, but Grove does not run it.

    Why
        Only Grove packs pods by topology. Without it, the constraints are validated and then ignored.

    Fix
        Run the graph on Grove, or remove the constraints and use the affinity of `{extraPodSpec}`.

    Example
    bad # facts: {grove: false}
    bad spec:
    bad   topologyConstraint: {clusterTopologyName: default, packDomain: zone}  # expect

    bad metadata: {annotations: {nvidia.com/enable-grove: "false"}}
    bad spec:
    bad   topologyConstraint: {clusterTopologyName: default, packDomain: zone}  # expect
    ok  spec: {topologyConstraint: {clusterTopologyName: default, packDomain: zone}}
    """
    # an unknown Grove is silence: advice must not keep a graph from being judged
    if at.review.facts.grove is False or opts_out_of_grove(at.review):
        yield at.warning("", f"is ignored, because {explain_off_grove(at)}")


# A name is fixed once the graph exists, so that only a create can be asked to have another one.
@differs(("G-08",), "two services would overwrite each other's child objects", lacking=True)
@rule("DYN110", where=GRAPH, when="components", stage=Stage.NAMES, on=(CREATE,))
def service_name_collision(at: At) -> Hits:
    """Two components have names that differ only in case.

    Why
        Names of child objects are lower case, so both components would own the same Deployment, and overwrite each other again and again.

    Fix
        Rename one of them.

    Example
    bad spec:
    bad   components:
    bad     - {name: Worker, type: worker}
    bad     - {name: worker, type: worker}  # expect
    ok  spec: {components: [{name: worker-a, type: worker}, {name: worker-b, type: worker}]}
    """
    components = at.components
    if len({name.lower() for _, name, _ in components}) == len(components):
        return
    names = {name: index for index, name, _ in components}
    first: dict[str, str] = {}
    for name in sorted(names):
        other = first.setdefault(name.lower(), name)
        if other != name:
            text = format_words('must differ from {service} "{other}" in more than case, got "{name}"', other=other, name=name)
            yield at.duplicate(("components", names[name]), name, text)


_LONGEST: Final = 63
_NAME: Final = re.compile(rf"[A-Za-z0-9](?:[-A-Za-z0-9]{{0,{_LONGEST - 2}}}[A-Za-z0-9])?")


# A name is fixed once the graph exists, so that only a create can be asked to have another one.
@differs(("G-08",), "names that child objects and v1beta1 components can't have would fail later", lacking=True)
@rule("DYN109", where=GRAPH, when="components", stage=Stage.NAMES, on=(CREATE,))
def service_name_format(at: At) -> Hits:
    """A component's name can't be used for its child objects.

    Why
        Deployments, Services and labels contain the component's name. Spaces, dots, slashes and underscores make them invalid, and v1beta1
        doesn't allow such a name at all.

    Fix
        Use 1 to 63 letters, digits and dashes, and begin and end with a letter or digit.

    Example
    bad spec:
    bad   components:
    bad     - {name: decode.worker, type: worker}  # expect
    bad     - {name: prefill_worker, type: worker}  # expect
    ok  spec: {components: [{name: PrefillWorker, type: worker}, {name: decode-worker, type: worker}]}
    """
    for index, name, _ in at.components:
        # most names are letters and digits only, which needs no pattern
        if not (name.isalnum() and name.isascii() and len(name) <= _LONGEST) and not _NAME.fullmatch(name):
            seen = f"{len(name)} characters" if len(name) > _LONGEST else f'"{name}"'
            text = f"must be named with 1 to {_LONGEST} letters, digits and inner dashes, got {seen}"
            yield at.invalid(("components", index), name, text)


_ACCOUNT = "system:serviceaccount:"
_PLANNER = "planner-serviceaccount"


@differs(("Q-27",), "the stored object's adapter protects the replicas too, so one update can't disable it and change them")
@rule("DYN714", where=GRAPH_COMPONENT, on=(UPDATE,), needs=("operatorPrincipal",), stage=Stage.OWNERSHIP, ratchets=False)
def scaling_adapter_owns_replicas(at: At) -> Hits:
    """The replicas of a component change although a scaling adapter owns them.

    Why
        With the adapter enabled, an autoscaler or the planner writes the replicas; a second writer would make the number flap. Enable or
        disable the adapter in one update and change the replicas in another, so that neither happens by accident.

    Fix
        Scale through the DynamoGraphDeploymentScalingAdapter of the {service}, or disable the adapter first and scale afterwards.

    Example
    ok  # user: system:serviceaccount:dynamo-system:operator
        spec: {components: [{name: worker, replicas: 1, scalingAdapter: {}}]}
        --- # becomes
    bad spec:
    bad   components:
    bad     - name: worker
    bad       replicas: 2  # expect
    bad       scalingAdapter: {}
    ok  spec: {components: [{name: worker, replicas: 2, scalingAdapter: {}}]}

    ok  spec: {components: [{name: worker, scalingAdapter: {}}]}
    ok  --- # becomes
        spec: {components: [{name: worker, replicas: 1, scalingAdapter: {}}]}
    bad --- # becomes
    bad spec:
    bad   components:
    bad     - name: worker
    bad       replicas: 2  # expect
    """
    if at.old is not None and (at.value.get("scalingAdapter") is not None or at.old.get("scalingAdapter") is not None):
        now, before = _replicas(at.value), _replicas(at.old)
        if now != before and not _may_scale(at):
            text = f"must stay {before}, because the scaling adapter owns it, got {now}; scale through the adapter"
            if at.review.facts.operatorPrincipal == "" and at.review.user.startswith(_ACCOUNT):
                named = quote_once(at.review.user)
                text += f"; the server knows no operator account: if it is {named}, name it in operator.serviceAccount"
            yield at.forbidden("replicas", text)


def _replicas(service: Fields) -> int:
    found = service.get("replicas")
    return 1 if found is None else int(found)


def _may_scale(at: At) -> bool:
    """Whether the caller is the planner of some namespace or the operator itself; a user that is not known is neither."""
    user = at.review.user
    if not user.startswith(_ACCOUNT):  # an operator outside of the cluster has another name
        return bool(user) and user == at.review.facts.operatorPrincipal
    parts = user.split(":")
    return (len(parts) == 4 and parts[3] == _PLANNER) or user == at.fact("operatorPrincipal")
