"""DYN113: the annotation that chooses how pods of a graph find each other."""

from typing import Final

from dynamo_webhooks.api.paths import Key
from dynamo_webhooks.policies.at import At
from dynamo_webhooks.policies.domain import DISCOVERY_BACKEND
from dynamo_webhooks.policies.order import Stage
from dynamo_webhooks.policies.rule import GRAPH_ANNOTATIONS, Difference, Hits, rule

_BACKENDS: Final = ("kubernetes", "etcd")


@rule(
    "DYN113",
    where=GRAPH_ANNOTATIONS,
    when=DISCOVERY_BACKEND,
    stage=Stage.METADATA,
    current_only=Difference((), "with a misspelled backend, pods use Kubernetes without the permissions"),
)
def dgd_annotation_discovery_backend(at: At) -> Hits:
    """The discovery backend annotation names no backend.

    Why
        The annotation wins over the operator's configuration, and only `kubernetes` makes the account by which pods see each other.
        With any other word but `etcd` pods look for each other in Kubernetes all the same, and are forbidden to.

    Fix
        Write `kubernetes` or `etcd` in lower case, or remove the annotation, which leaves the choice to the operator's configuration.

    Bad
        ```yaml
        metadata:
          annotations:
            nvidia.com/dynamo-discovery-backend: kubernets  # expect
        ```

    Good
        ```yaml
        metadata:
          annotations:
            nvidia.com/dynamo-discovery-backend: etcd
        ```
    """
    value = at.value[DISCOVERY_BACKEND]
    if value not in _BACKENDS:
        yield at.not_supported((Key(DISCOVERY_BACKEND),), value, _BACKENDS)
