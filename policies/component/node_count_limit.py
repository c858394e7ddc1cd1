"""DYN210: more nodes than any cluster gives to one engine."""

from typing import Final

from dynamo_webhooks.policies.at import At
from dynamo_webhooks.policies.domain import interpod_gms, node_count, off_grove
from dynamo_webhooks.policies.order import Stage
from dynamo_webhooks.policies.rule import COMPONENT, SERVICES, Hits, rule

# Every node is a child object of its own, or several, and Kubernetes supports clusters of 5,000 nodes: a fifth of the largest cluster for
# one replica is more than any engine has been spread over, and far below what exhausts anybody's memory.
LIMIT: Final = 1_000
_FAULTS_1_2: Final = 2**30  # from here on the Go operator's name check overflows


@rule("DYN210", where=COMPONENT, when="multinode", stage=Stage.COMPONENT)
def node_count_limit(at: At) -> Hits:
    """One replica spans an absurd number of nodes.

    Why
        The operator makes children for every node of a replica. A slip of the keyboard must not keep it and the API server
        busy for hours.

    Fix
        Write the number of nodes that one replica of the model is spread over, at most 1000.

    Bad
        ```yaml
        spec:
          services:
            worker:
              componentType: worker
              multinode: {nodeCount: 20000000}  # expect
        ```

    Good
        ```yaml
        spec:
          services:
            worker: {componentType: worker, multinode: {nodeCount: 16}}
        ```
    """
    nodes = node_count(at.value)
    if nodes > LIMIT:
        yield at.invalid("multinode.nodeCount", nodes, f"must be at most {LIMIT}, got {nodes}")


@node_count_limit.in_1_2("Q-05", because="a huge count costs the Go operator seconds and memory; from 2**30 it crashes", where=SERVICES)
def node_count_limit_in_1_2(at: At) -> Hits:
    """Refused only where the name check of a service with an inter-pod GPU memory service on Grove overflows."""
    nodes = node_count(at.value)
    if nodes >= _FAULTS_1_2 and interpod_gms(at.value) and not off_grove(at):
        yield at.invalid("multinode.nodeCount", nodes, f"must be less than {_FAULTS_1_2}, got {nodes}")
