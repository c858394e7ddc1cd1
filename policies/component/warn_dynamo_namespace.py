"""DYN901: a Dynamo namespace that the operator doesn't read."""

from typing import Final

from dynamo_webhooks.policies.at import At
from dynamo_webhooks.policies.domain import owning_graph, said
from dynamo_webhooks.policies.finding import Level
from dynamo_webhooks.policies.order import Stage
from dynamo_webhooks.policies.review import Review
from dynamo_webhooks.policies.rule import COMPONENT, DCD, Hits, rule

_SHARED: Final = "dynamo"  # the namespace of all components with globalDynamoNamespace


@rule("DYN901", where=COMPONENT, removes=True, when="dynamoNamespace", level=Level.WARNING, stage=Stage.ADVICE)
def warn_dynamo_namespace(at: At) -> Hits:
    """A component sets its Dynamo namespace, which is ignored.

    Why
        Components of one graph must find each other, so the namespace follows from the graph's own namespace and name, or is the shared one
        where `globalDynamoNamespace` is true.

    Fix
        Remove `dynamoNamespace`.

    Bad
        ```yaml
        spec:
          services:
            worker:
              componentType: worker
              dynamoNamespace: mine  # expect
        ```

    Good
        ```yaml
        spec:
          services:
            worker: {componentType: worker, globalDynamoNamespace: true}
        ```
    """
    written = at.value["dynamoNamespace"]
    if written:
        used = _SHARED if at.value.get("globalDynamoNamespace") is True else _of_graph(at.review)
        yield at.warning("dynamoNamespace", f'is deprecated and ignored: remove it; "{used}" is used, not "{written}"')


def _of_graph(review: Review) -> str:
    """The namespace of the graph's components; a file need not say in which namespace it is applied, or under which generated name."""
    graph = (owning_graph(review) or "") if review.kind == DCD else review.metadata.get("name") or "<name>"
    return f"{said(review.metadata.get('namespace') or '<namespace>')}-{said(graph).replace('.', '-')}"
