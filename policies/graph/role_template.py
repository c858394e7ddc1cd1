"""Pod templates of roles beside the other components of a graph."""

from ..at import At
from ..domain import list_components
from ..engines import list_templates
from ..image_tag import runtime_version
from ..rule import GRAPH, Hits, Stage, rule

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
