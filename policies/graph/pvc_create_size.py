"""DYN123: claims to be created without a size."""

from dynamo_webhooks.api.quantity import is_zero
from dynamo_webhooks.policies.at import At
from dynamo_webhooks.policies.order import Stage
from dynamo_webhooks.policies.rule import CLAIMS, Hits, rule


@rule("DYN123", where=CLAIMS, when="create=true", stage=Stage.STORAGE)
def pvc_create_size(at: At) -> Hits:
    """A claim is to be created, but has no size.

    Why
        A claim asks for an amount of storage. Nothing, or zero, is refused by the storage long after the graph was accepted.

    Fix
        Write the size that the models or caches need, such as `100Gi`.

    Bad
        ```yaml
        spec:
          pvcs:
            - name: models
              create: true
              storageClass: shared
              size: "0"  # expect
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
    if size is None or is_zero(size):
        yield at.required("size", f"must be more than zero when create is true, got {'nothing' if size is None else size}")
