"""Fields and annotations of a graph, or of a standalone component, that have no effect."""

from ..annotations import GROVE_UPDATE_STRATEGY
from ..at import At, Findings
from ..components import find_owning_graph
from ..no_effect import list_ignored, list_ignored_of, may_run_on_grove
from ..review import is_line_1_4
from ..rule import DCD, GRAPH_OBJECT, Stage, differs, rule


@differs("fields without effect are reported instead of being silently accepted", lacking=True)
@rule("DYN911", where={**GRAPH_OBJECT, DCD: ""}, when="spec", stage=Stage.ADVICE)
def field_without_effect(at: At) -> Findings:
    """A graph or a standalone component has a field or an annotation without effect.

    Why
        It is accepted and kept, but changes nothing. The object's condition `FieldsIgnored` names it, too.

    Fix
        Remove it, or set it where it has an effect.

    Example
        +{annotations}
        +    nvidia.com/enable-grove: "false"
         spec:
        +  annotations:
        +    nvidia.com/deployment-strategy: Recreate
           {worker component}
               modelRef:
                 name: m
        -        revision: main  # expect

        -{annotations}
        -    nvidia.com/deployment-strategy: Recreate  # expect

         # kind: DynamoComponentDeployment/v1beta1
         spec:
           type: worker
           modelRef:
             name: m
        -    revision: main  # expect
    """
    if at.review.kind == DCD:  # one that was made of a graph has the graph's
        grove: bool | None = False
        ignored = list_ignored_of(at.value["spec"], ("spec",), grove=False) if find_owning_graph(at.review) is None else []
    else:
        grove = may_run_on_grove(at.review)
        ignored = list_ignored(at.value, at.review.line, grove=grove)
    for path, why in ignored:
        if path[-1] != GROVE_UPDATE_STRATEGY or grove is False or not is_line_1_4(at.review):  # another rule refuses an unknown one
            yield at.warning(path, f"is without effect{why.removeprefix('has no effect')}")
