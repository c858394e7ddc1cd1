"""The planner of a graph."""

from ..at import At, Findings
from ..engines import list_templates
from ..image_tag import find_runtime_version
from ..rule import GRAPH, Stage, rule

_READS = (1, 6, 0)  # the first planner that reads the templates of roles


@rule("DYN185", where=GRAPH, when="components.*.roles", stage=Stage.COMPONENT, since="1.6")
def role_template_planner(at: At) -> Findings:
    """A graph's planner is too old for pod templates of roles.

    Why
        Planners before 1.6.0 read only the component's own template, and would plan without GPUs.

    Fix
        Give the planner an `image` of 1.6.0 or later (the same update may change it), or use one template for the {service}.

    Example
         spec:
           components:
             - name: planner
               type: planner
        -      podTemplate: {spec: {containers: [{name: main, image: "example/planner:1.5.0"}]}}
        +      podTemplate: {spec: {containers: [{name: main, image: "example/planner:1.6.0"}]}}
             - name: worker
               type: worker
               multinode: {nodeCount: 2}
               roles:  # expect
                 - {name: leader, podTemplate: {spec: {containers: [{name: main, image: "example/vllm:1.6.0"}]}}}
                 - {name: worker, podTemplate: {spec: {containers: [{name: main, image: "example/vllm:1.6.0"}]}}}
    """
    components = at.components
    planners = [component for _, _, component in components if component.get("type") == "planner"]
    if all((find_runtime_version(planner) or ()) >= _READS for planner in planners):
        return
    for index, _, component in components:
        if list_templates(component):
            path = ("components", index, "roles")
            yield at.forbidden(path, "must have no pod templates unless each planner of the graph is of version 1.6.0 or later")
