"""Fields and annotations of a graph that have no effect."""

from ..annotations import GROVE_UPDATE_STRATEGY
from ..at import At, Hits
from ..no_effect import list_ignored, may_run_on_grove
from ..review import is_line_1_4
from ..rule import GRAPH_OBJECT, Stage, differs, rule


@differs((), "fields without effect are reported instead of being silently accepted", lacking=True)
@rule("DYN911", where=GRAPH_OBJECT, when="spec", stage=Stage.ADVICE)
def field_without_effect(at: At) -> Hits:
    """A graph has a field or an annotation without effect.

    Why
        It is accepted and kept, but changes nothing. The graph's condition `FieldsIgnored` names it, too.

    Fix
        Remove it, or set it where it has an effect.

    Example
        +metadata:
        +  annotations:
        +    nvidia.com/enable-grove: "false"
         spec:
        +  annotations:
        +    nvidia.com/deployment-strategy: Recreate
           components:
             - name: worker
               type: worker
               modelRef:
                 name: m
        -        revision: main  # expect

        -metadata:
        -  annotations:
        -    nvidia.com/deployment-strategy: Recreate  # expect
    """
    grove = may_run_on_grove(at.review)
    for path, why in list_ignored(at.value, at.review.line, grove=grove):
        if path[-1] != GROVE_UPDATE_STRATEGY or grove is False or not is_line_1_4(at.review):  # another rule refuses an unknown one
            yield at.warning(path, f"is without effect{why.removeprefix('has no effect')}")
