"""DYN122: claims to be created without a storage class."""

from dynamo_webhooks.policies.at import At
from dynamo_webhooks.policies.order import Stage
from dynamo_webhooks.policies.rule import CLAIMS, Hits, rule


@rule("DYN122", where=CLAIMS, when="create=true", stage=Stage.STORAGE)
def pvc_create_storage_class(at: At) -> Hits:
    """A claim is to be created, but says no storage class.

    Why
        The operator creates the claim exactly as it is described. It does not guess which of the cluster's storage classes can serve all
        pods that mount it.

    Fix
        Name a storage class, or leave `create` out for a claim that exists.

    Bad
        ```yaml
        spec:
          pvcs:
            - name: models  # expect
              create: true
              size: 100Gi
              volumeAccessMode: ReadWriteMany
        ```
        ```yaml
        spec:
          pvcs:
            - name: models
              create: true
              storageClass: ""  # expect
              size: 100Gi
              volumeAccessMode: ReadWriteMany
        ```

    Good
        ```yaml
        spec:
          pvcs:
            - {name: models, create: true, storageClass: shared, size: 100Gi, volumeAccessMode: ReadWriteMany}
            - {name: there-already}
        ```
    """
    if not at.value.get("storageClass"):
        yield at.required("storageClass", "must be set when create is true, got nothing")
