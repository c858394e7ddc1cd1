"""Components of type lpx, one at a time."""

from collections.abc import Iterator

from ...api.schema import load_schema, resolve
from ..at import At, Findings
from ..components import LPX, read_pod
from ..engines import list_roles, list_templates
from ..review import UPDATE, Fields
from ..rule import COMPONENT, GRAPH_COMPONENT, Stage, rule
from ..sameness import has_same_meaning
from ..words import quote_once
from .role_template import template_path

AGENT = "agent"
_AFFINITIES = ("affinity", "nodeAffinity", "podAffinity", "podAntiAffinity")  # which mean nothing without terms
_USUAL = (None, "", "default-scheduler")
# fields of pods that the scheduler of LPX decides: those of all, and those of agents
_OF_ALL = ("hostname", "subdomain", "nodeName", "topologySpreadConstraints")
_OF_AGENTS = ("nodeSelector", "affinity", "schedulingGates", "resourceClaims")


def list_pods(component: Fields) -> Iterator[tuple[int, object, Fields]]:
    """The pod of each role with a template: the role's place and name, and the pod's spec."""
    for index, template in list_templates(component):
        yield index, component["roles"][index].get("name"), template.get("spec") or {}


@rule("DYN257", where=GRAPH_COMPONENT, when="type=lpx", stage=Stage.COMPONENT, since="1.6")
def lpx_pod_fixed(at: At) -> Findings:
    """A role of a component of type lpx sets the placement or the names of its pods.

    Why
        The LPX scheduler places and names these pods. Agents may only set required node affinity.

    Fix
        Remove the field.

    Example
         {lpx worker}
               roles:
                 - name: agent
                   podTemplate:
                     spec:
                       containers: [{name: main, image: "example/lpx:1.6.0"}]
        -              nodeSelector: {zone: a}  # expect
                 - name: conductor
                   podTemplate:
                     spec:
                       containers: [{name: main, image: "example/lpx:1.6.0"}]
        -              hostname: here  # expect
        +              nodeSelector:
        +                zone: a
    """
    for index, name, pod in list_pods(at.value):
        fields = ["schedulerName"] if pod.get("schedulerName") not in _USUAL else []
        fields += [
            field for field in (*_OF_ALL, *(_OF_AGENTS if name == AGENT else ())) if pod.get(field) and not _is_node_affinity(field, pod)
        ]
        for field in fields:
            yield at.forbidden(template_path(index, "spec", field), "must be unset: the LPX scheduler decides it")


def _is_node_affinity(field: str, pod: Fields) -> bool:
    """Whether a field is an affinity that only requires nodes."""
    wanted = pod[field]
    if field != "affinity" or not isinstance(wanted, dict) or any(_has_terms(wanted.get(name)) for name in _AFFINITIES[2:]):
        return False
    nodes = wanted.get("nodeAffinity") or {}
    return not any(value for name, value in nodes.items() if name != "requiredDuringSchedulingIgnoredDuringExecution")


def _has_terms(affinity: object) -> bool:
    return isinstance(affinity, dict) and any(affinity.values())


_ROLES = (AGENT, "conductor")
_SCHEDULER = "lpx-scheduler"


@rule("DYN251", where=GRAPH_COMPONENT, when="type=lpx", stage=Stage.COMPONENT, needs=("lpx",), ratchets=False, since="1.6")
def lpx_gate(at: At) -> Findings:
    """A component of type lpx is created or changed, but LPX is disabled in the operator.

    Why
        Nothing would run it. An existing component stays unchanged; other components and labels of the graph may change.

    Fix
        Enable LPX in the operator's configuration (`lpx.enabled`), or remove the {service}.

    Example
        -# facts: {lpx: false}
         spec:
           components:
             - name: worker
               type: lpx  # expect
               {lpx roles}
    """
    if not (at.value == at.old or _is_unchanged(at)) and not at.fact("lpx"):
        yield at.forbidden("type", 'must not be "lpx" while LPX is switched off in the operator')


def _is_unchanged(at: At) -> bool:
    """Whether an update leaves a component as it is, however it is written now."""
    if at.old is None:
        return False
    node = load_schema("DynamoGraphDeployment", "v1beta1", at.review.line)["properties"]["spec"]["properties"]["components"]["items"]
    return has_same_meaning(at.value, at.old, resolve(node), lambda path: path[-1] in _AFFINITIES)


@rule("DYN252", where=GRAPH_COMPONENT, when="type=lpx", stage=Stage.COMPONENT, since="1.6")
def lpx_role_unknown(at: At) -> Findings:
    """A role of a component of type lpx is neither agent nor conductor.

    Why
        A component of type lpx has only these two roles.

    Fix
        Name the roles `agent` and `conductor`.

    Example
         {lpx worker}
               roles:  # expect: lpx-agent-required
        -        - {name: leader, podTemplate: {spec: {containers: [{name: main, image: "example/lpx:1.6.0"}]}}}  # expect
        +        - {name: agent, podTemplate: {spec: {containers: [{name: main, image: "example/lpx:1.6.0"}]}}}
                 - {name: conductor, podTemplate: {spec: {containers: [{name: main, image: "example/lpx:1.6.0"}]}}}
    """
    for index, role in list_roles(at.value):
        if (name := role.get("name")) not in _ROLES:
            yield at.not_supported(("roles", index, "name"), name, _ROLES)


@rule("DYN254", where=GRAPH_COMPONENT, when="type=lpx", stage=Stage.COMPONENT, ratchets=False, since="1.6")
def lpx_role_template_required(at: At) -> Findings:
    """A role of a component of type lpx has no pod template.

    Why
        The component has no template of its own that the role could use.

    Fix
        Set `podTemplate` of the role.

    Example
         {lpx worker}
               roles:
                 - {name: agent, podTemplate: {spec: {containers: [{name: main, image: "example/lpx:1.6.0"}]}}}
        -        - {name: conductor}  # expect
        +        - {name: conductor, podTemplate: {spec: {containers: [{name: main, image: "example/lpx:1.6.0"}]}}}
    """
    for index, role in list_roles(at.value):
        if role.get("name") in _ROLES and role.get("podTemplate") is None:
            yield at.required(("roles", index, "podTemplate"), "must be set for each role of a component of type lpx, got nothing")


@rule("DYN255", where=GRAPH_COMPONENT, when="type=lpx", stage=Stage.COMPONENT, since="1.6")
def lpx_build_id_blank(at: At) -> Findings:
    """The build id of a component of type lpx is blank.

    Why
        The build id names the compiled model to load.

    Fix
        Set `lpx.buildId` to the name of the build.

    Example
         spec:
           components:
             - name: worker
               type: lpx
               lpx:
        -        buildId: " "  # expect
        +        buildId: "b"
               roles:
                 {agent and conductor}
    """
    build = at.get("lpx.buildId")
    if build and not str(build).strip():
        yield at.required("lpx.buildId", "must name a build, got blanks")


@rule("DYN258", where=COMPONENT, when="podTemplate.spec.schedulerName", stage=Stage.COMPONENT, since="1.6")
def lpx_scheduler_reserved(at: At) -> Findings:
    """A component of another type names the LPX scheduler.

    Why
        That scheduler only handles pods of LPX components, so these pods would wait forever.

    Fix
        Remove `schedulerName`, or name another scheduler.

    Example
         {worker with a pod}
                   containers: [{name: main, image: "example/vllm:1.6.0"}]
        -          schedulerName: lpx-scheduler  # expect
    """
    if read_pod(at.value).get("schedulerName") == _SCHEDULER and at.value.get("type") != LPX:
        yield at.forbidden("podTemplate.spec.schedulerName", f'must not be "{_SCHEDULER}" for a component of another type than lpx')


@rule("DYN727", where=GRAPH_COMPONENT, on=(UPDATE,), stage=Stage.IMMUTABLE, ratchets=False, since="1.6")
def lpx_type_immutable(at: At) -> Findings:
    """The type of a component changes to lpx, or from lpx.

    Why
        LPX components have their own kinds of objects in the cluster, which can't be converted.

    Fix
        Restore the old type, or create another graph.

    Example
         spec:
           components:
             - {name: worker, podTemplate: {spec: {containers: [{name: main, image: "example/vllm:1.6.0"}]}}}
         --- # becomes
         spec:
           components:
        -    - name: worker
        -      type: lpx  # expect
        -      {lpx roles}
        +    - {name: worker, type: worker, podTemplate: {spec: {containers: [{name: main, image: "example/vllm:1.6.0"}]}}}
    """
    if at.old is None:
        return
    now, before = at.value.get("type"), at.old.get("type")
    if (now == LPX) != (before == LPX):
        shown = "unset" if before is None else f'"{quote_once(str(before))}"'
        yield at.immutable("type", f'must stay {shown} after creation, got "{quote_once(str(now or ""))}"', value=now)


@rule("DYN253", where=GRAPH_COMPONENT, when="type=lpx", stage=Stage.COMPONENT, since="1.6")
def lpx_agent_required(at: At) -> Findings:
    """A component of type lpx has no agent role.

    Why
        Agents run the model.

    Fix
        Add the role `agent` with its pod template.

    Example
         {lpx worker}
               roles:  # expect
        +        - {name: agent, podTemplate: {spec: {containers: [{name: main, image: "example/lpx:1.6.0"}]}}}
                 - {name: conductor, podTemplate: {spec: {containers: [{name: main, image: "example/lpx:1.6.0"}]}}}
    """
    if all(role.get("name") != AGENT for _, role in list_roles(at.value)):
        yield at.required("roles", 'must have the role "agent", got none')


@rule("DYN256", where=GRAPH_COMPONENT, when="type=lpx", stage=Stage.COMPONENT, since="1.6")
def lpx_agent_container(at: At) -> Findings:
    """A container in the pod template of the agent role is named agent.

    Why
        The operator adds a container of that name.

    Fix
        Give the container another name.

    Example
         {lpx worker}
               roles:
                 - name: agent
                   {containers of a pod}
                         - {name: main, image: "example/lpx:1.6.0"}
        -                - {name: agent, image: "example/lpx:1.6.0"}  # expect
                 - {name: conductor, podTemplate: {spec: {containers: [{name: main, image: "example/lpx:1.6.0"}]}}}
    """
    for index, name, pod in list_pods(at.value):
        for part in ("containers", "initContainers") if name == AGENT else ():
            for step, each in enumerate(pod.get(part) or ()):
                if each and each.get("name") == AGENT:
                    path = template_path(index, "spec", part, step, "name")
                    yield at.forbidden(path, 'must not be "agent" in the pod template of agents')
