"""DYN702: a component that changes between one node and several."""

from dynamo_webhooks.policies.at import At
from dynamo_webhooks.policies.domain import multinode
from dynamo_webhooks.policies.order import Stage
from dynamo_webhooks.policies.review import UPDATE
from dynamo_webhooks.policies.rule import COMPONENT, SERVICES, Hits, rule


@rule("DYN702", where=COMPONENT, on=(UPDATE,), stage=Stage.IMMUTABLE, ratchets=False)
def dgd_node_layout_immutable(at: At) -> Hits:
    """A component goes from one node to several, or back.

    Why
        One node is one pod a replica, several nodes are a group of pods with a leader: different child objects, which can't turn
        into each other. The number of nodes of a multi-node component may change.

    Fix
        Put the old layout back, or create another graph with the new one; a component that stands alone can be created under another name.

    Bad
        ```yaml
        spec: {services: {worker: {}}}
        --- # becomes
        spec:
          services:
            worker:  # expect
              multinode: {nodeCount: 2}
        ```
        A standalone component is held to the same.
        ```yaml
        # kind: DynamoComponentDeployment/v1alpha1
        spec: {multinode: {nodeCount: 2}}
        --- # becomes
        spec:  # expect
          replicas: 2
        ```

    Good
        ```yaml
        spec: {services: {worker: {multinode: {nodeCount: 2}}}}
        --- # becomes
        spec: {services: {worker: {multinode: {nodeCount: 4}}}}
        ```
    """
    if at.old is not None and multinode(at.value) != multinode(at.old):
        was, now = ("one node", "several nodes") if multinode(at.value) else ("several nodes", "one node")
        yield at.immutable("", f"must stay on {was}, got {now}")


dgd_node_layout_immutable_in_1_2 = dgd_node_layout_immutable.same_in_1_2(
    "Q-09",
    because="a standalone component has the same child objects as one of a graph",
    where=SERVICES,
)
