"""DYN101: a graph without services."""

from dynamo_webhooks.policies.at import At
from dynamo_webhooks.policies.order import Stage
from dynamo_webhooks.policies.rule import GRAPH, Hits, rule
from dynamo_webhooks.policies.words import words


@rule("DYN101", where=GRAPH, stage=Stage.SHAPE)
def dgd_services_required(at: At) -> Hits:
    """A graph has no services.

    Why
        A graph is made of its services. Without any there is nothing to deploy, and an empty graph is nearly always a slip of indentation.

    Fix
        Add at least one {service} under `spec.{services}`.

    Bad
        ```yaml
        spec:
          services: {}  # expect
        ```

    Good
        ```yaml
        spec:
          services:
            frontend: {componentType: frontend}
        ```
    """
    if not at.value.get("services"):
        yield at.required("services", words("must hold at least one {service}, got none"))
