"""DYN202: an ingress without a host."""

from dynamo_webhooks.policies.at import At
from dynamo_webhooks.policies.domain import enabled
from dynamo_webhooks.policies.order import Stage
from dynamo_webhooks.policies.rule import COMPONENT, Hits, rule


@rule("DYN202", where=COMPONENT, when="ingress", stage=Stage.COMPONENT)
def ingress_host_required(at: At) -> Hits:
    """An ingress is switched on, but has no host.

    Why
        The host is what tells requests for this component from all others at the ingress controller.

    Fix
        Set `ingress.host`, or switch the ingress off.

    Bad
        ```yaml
        spec:
          services:
            frontend:
              componentType: frontend
              ingress: {enabled: true}  # expect
        ```

    Good
        ```yaml
        spec:
          services:
            frontend:
              componentType: frontend
              ingress: {enabled: true, host: chat}
            worker:
              componentType: worker
              ingress: {enabled: false}
        ```
    """
    ingress = at.value["ingress"]
    if enabled(ingress) and not ingress.get("host"):
        yield at.required("ingress.host", "must name a host while the ingress is enabled, got nothing")
