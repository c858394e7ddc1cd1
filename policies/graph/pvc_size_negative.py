"""DYN125: claims to be created with a negative size."""

from dynamo_webhooks.api.quantity import parse
from dynamo_webhooks.policies.at import At
from dynamo_webhooks.policies.finding import Mend
from dynamo_webhooks.policies.order import Stage
from dynamo_webhooks.policies.rule import CLAIMS, Difference, Hits, rule


@rule(
    "DYN125",
    where=CLAIMS,
    when="create=true",
    stage=Stage.STORAGE,
    current_only=Difference(("G-07",), "the API server would refuse the claim"),
)
def pvc_size_negative(at: At) -> Hits:
    """A claim is to be created with a negative size.

    Why
        No storage has less than nothing. The graph would be accepted and its claim never created.

    Fix
        Remove the sign.

    Bad
        ```yaml
        spec:
          pvcs:
            - name: models
              create: true
              storageClass: shared
              size: -100Gi  # expect
              volumeAccessMode: ReadWriteMany
        ```

    Good
        ```yaml
        spec:
          pvcs:
            - {name: models, create: true, storageClass: shared, size: 100Gi, volumeAccessMode: ReadWriteMany}
        ```
    """
    size = at.value.get("size")
    if size is not None and parse(size) < 0:
        yield at.invalid("size", size, f"must be more than zero, got {size}", mend=Mend(str(size).removeprefix("-")))
