"""DYN223: several endpoint pickers, or none, in one component."""

from dynamo_webhooks.policies.at import At
from dynamo_webhooks.policies.finding import Mend
from dynamo_webhooks.policies.order import Stage
from dynamo_webhooks.policies.rule import COMPONENT, Hits, rule


@rule("DYN223", where=COMPONENT, when="componentType=epp", stage=Stage.EPP)
def epp_single_replica(at: At) -> Hits:
    """An endpoint picker has another number of replicas than one.

    Why
        Each picker knows only the requests that it routed itself, so two of them would work against each other; and with none the pool
        has nothing that chooses an endpoint.

    Fix
        Set `replicas` to 1, or leave it out.

    Bad
        ```yaml
        spec:
          services:
            picker:  # expect
              componentType: epp
              replicas: 2
              eppConfig: {configMapRef: {name: c, key: k}}
        ```

    Good
        ```yaml
        spec:
          services:
            picker:
              componentType: epp
              replicas: 1
              eppConfig: {configMapRef: {name: c, key: k}}
        ```
    """
    replicas = at.value.get("replicas")
    # a negative number is refused by replicas-non-negative
    if replicas not in (None, 1) and replicas >= 0:
        text = f'must have exactly 1 replica, being of type "epp", got {replicas}'
        yield at.invalid("", None, text, mend=Mend(None, ("replicas",)))
