"""DYND07: how many replicas of a component Grove starts together."""

from collections.abc import Iterator

from dynamo_webhooks.policies.at import At
from dynamo_webhooks.policies.domain import GROVE, filled_provider
from dynamo_webhooks.policies.edit import Edit
from dynamo_webhooks.policies.rule import SERVICES, default


@default("DYND07", where=SERVICES, needs=("grove",), since="1.5")
def mut_min_available(at: At) -> Iterator[Edit]:
    """A component on Grove without `minAvailable` gets one.

    Why
        Grove starts so many replicas together; one is what it would take by itself. The number can't be changed later.

    Before
        ```yaml
        spec: {services: {worker: {replicas: 2}}}
        ```

    After
        ```yaml
        spec: {services: {worker: {replicas: 2, minAvailable: 1}}}
        ```
    """
    if at.value.get("minAvailable") is None and filled_provider(at) == GROVE:
        yield at.set("minAvailable", 1)
