"""DYN222: an endpoint picker on several nodes."""

from dynamo_webhooks.policies.at import At
from dynamo_webhooks.policies.domain import multinode, node_count
from dynamo_webhooks.policies.finding import Mend
from dynamo_webhooks.policies.order import Stage
from dynamo_webhooks.policies.rule import COMPONENT, Hits, rule


@rule("DYN222", where=COMPONENT, when="componentType=epp", stage=Stage.EPP)
def epp_single_node(at: At) -> Hits:
    """An endpoint picker spans several nodes.

    Why
        A picker is one small process that holds the routing state in its memory. There is nothing in it to spread over nodes.

    Fix
        Remove `multinode`.

    Bad
        ```yaml
        spec:
          services:
            picker:  # expect
              componentType: epp
              multinode: {nodeCount: 2}
              eppConfig: {configMapRef: {name: c, key: k}}
        ```

    Good
        ```yaml
        spec:
          services:
            picker:
              componentType: epp
              eppConfig: {configMapRef: {name: c, key: k}}
        ```
    """
    if multinode(at.value):
        text = f'must run on one node, being of type "epp", got multinode.nodeCount {node_count(at.value)}'
        yield at.invalid("", None, text, mend=Mend(None, ("multinode",)))
