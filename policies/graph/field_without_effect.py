"""Fields and annotations without effect."""

from ..at import At
from ..domain import GROVE_UPDATE_STRATEGY, is_line_1_4
from ..finding import Level
from ..no_effect import list_ignored, may_run_on_grove
from ..rule import GRAPH_OBJECT, Difference, Hits, Stage, rule


@rule(
    "DYN911",
    where=GRAPH_OBJECT,
    when="spec",
    level=Level.WARNING,
    stage=Stage.ADVICE,
    differs=Difference((), "what is accepted and has no effect is named", lacking=True),
)
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
