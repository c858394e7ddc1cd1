"""The agents of components of type lpx."""

from ..at import At
from ..engines import list_roles
from ..rule import GRAPH_COMPONENT, Hits, Stage, rule
from .lpx_pod import AGENT, list_pods
from .role_template import place_of


@rule("DYN253", where=GRAPH_COMPONENT, when="type=lpx", stage=Stage.COMPONENT, since="1.6")
def lpx_agent_required(at: At) -> Hits:
    """A component of type lpx has no role agent.

    Why
        Agents run the model.

    Fix
        Add the role `agent` with its pod template.

    Example
        spec:
          components:
            - name: worker
              type: lpx
              lpx: {buildId: b}
              roles:  # expect
    ok          - {name: agent, podTemplate: {spec: {containers: [{name: main, image: "example/lpx:1.6.0"}]}}}
                - {name: conductor, podTemplate: {spec: {containers: [{name: main, image: "example/lpx:1.6.0"}]}}}
    """
    if all(role.get("name") != AGENT for _, role in list_roles(at.value)):
        yield at.required("roles", 'must have the role "agent", got none')


@rule("DYN256", where=GRAPH_COMPONENT, when="type=lpx", stage=Stage.COMPONENT, since="1.6")
def lpx_agent_container(at: At) -> Hits:
    """A container in the pod template of agents is named agent.

    Why
        The operator adds a container of that name.

    Fix
        Give the container another name.

    Example
        spec:
          components:
            - name: worker
              type: lpx
              lpx: {buildId: b}
              roles:
    bad         - name: agent
    bad           podTemplate:
    bad             spec:
    bad               containers:
    bad                 - {name: main, image: "example/lpx:1.6.0"}
    bad                 - {name: agent, image: "example/lpx:1.6.0"}  # expect
    ok          - {name: agent, podTemplate: {spec: {containers: [{name: main, image: "example/lpx:1.6.0"}]}}}
                - {name: conductor, podTemplate: {spec: {containers: [{name: main, image: "example/lpx:1.6.0"}]}}}
    """
    for index, name, pod in list_pods(at.value):
        for part in ("containers", "initContainers") if name == AGENT else ():
            for step, each in enumerate(pod.get(part) or ()):
                if each and each.get("name") == AGENT:
                    path = place_of(index, "spec", part, step, "name")
                    yield at.forbidden(path, 'must not be "agent" in the pod template of agents')
