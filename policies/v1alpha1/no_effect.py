"""Fields and annotations of a service that have no effect."""

from typing import Final

from ..at import At, Findings
from ..components import find_owning_graph
from ..no_effect import list_ignored_of_service, may_run_on_grove
from ..review import Review
from ..rule import COMPONENT_V1ALPHA1, DCD_V1ALPHA1, Stage, differs, rule
from ..words import quote_once

_SHARED: Final = "dynamo"  # the namespace of all components with globalDynamoNamespace


@rule("DYN901", where=COMPONENT_V1ALPHA1, removes=True, when="dynamoNamespace", stage=Stage.ADVICE)
def warn_dynamo_namespace(at: At) -> Findings:
    """A component sets its Dynamo namespace, which is ignored.

    Why
        Components of one graph must find each other, so the Dynamo namespace is derived from the graph's namespace and name, or is the
        shared one if `globalDynamoNamespace` is true.

    Fix
        Remove `dynamoNamespace`.

    Example
         {worker service}
        -      dynamoNamespace: mine  # expect
        +      globalDynamoNamespace: true
    """
    written = at.value["dynamoNamespace"]
    if written:
        used = _SHARED if at.value.get("globalDynamoNamespace") is True else _of_graph(at.review)
        yield at.warning("dynamoNamespace", f'is deprecated and ignored: remove it; "{used}" is used, not "{written}"')


def _of_graph(review: Review) -> str:
    """The namespace of the graph's components; a file need not say in which namespace it is applied, or under which generated name."""
    graph = (find_owning_graph(review) or "") if review.kind == DCD_V1ALPHA1 else review.metadata.get("name") or "<name>"
    return f"{quote_once(review.metadata.get('namespace') or '<namespace>')}-{quote_once(graph).replace('.', '-')}"


@differs("fields without effect are reported instead of being silently accepted", lacking=True)
@rule(
    "DYN913",
    where=COMPONENT_V1ALPHA1,
    when=("serviceName", "annotations", "extraPodSpec.mainContainer.name", "ingress.labels", "ingress.annotations"),
    stage=Stage.ADVICE,
)
def service_field_without_effect(at: At) -> Findings:
    """A service has a field or an annotation without effect.

    Why
        It is accepted and kept, but changes nothing. The condition `FieldsIgnored` names it, too.

    Fix
        Remove it, or set it where it has an effect.

    Example
         {frontend service}
        -      serviceName: front  # expect
    """
    alone = at.review.kind == DCD_V1ALPHA1
    for path, why in list_ignored_of_service(at.value, (), grove=False if alone else may_run_on_grove(at.review), alone=alone):
        yield at.warning(path, f"is without effect{why.removeprefix('has no effect')}")
