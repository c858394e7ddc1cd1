"""The endpoint picker of a graph."""

from ..at import At, Findings
from ..rule import GRAPH, Stage, differs, rule
from ..words import format_words


@differs("v1beta1 allows one endpoint picker; two would use the same pool", lacking=True)
@rule("DYN112", where=GRAPH, when="components.*.type=epp", stage=Stage.EPP)
def epp_single_per_graph(at: At) -> Findings:
    """A graph has two endpoint pickers.

    Why
        The workers of a graph form one inference pool, and a pool has one endpoint picker. With two pickers, it would be undefined which
        one routes.

    Fix
        Keep one {service} of type `epp`, or make two graphs.

    Example
         spec:
           components:
             - {name: picker-a, type: epp, eppConfig: {configMapRef: {name: c, key: k}}}
        -    - name: picker-b
        -      type: epp  # expect
        -      eppConfig: {configMapRef: {name: c, key: k}}
        +    - {name: worker, type: worker}
    """
    pickers = sorted((name, index) for index, name, component in at.components if component.get("type") == "epp")
    if len(pickers) > 1:
        text = format_words('must be "epp" for one {service} only, got it for {count}', count=len(pickers))
        for _, index in pickers[1:]:
            yield at.duplicate(("components", index, "type"), "epp", text)
