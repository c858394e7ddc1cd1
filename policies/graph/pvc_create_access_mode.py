"""DYN124: claims to be created without an access mode."""

from dynamo_webhooks.policies.at import At
from dynamo_webhooks.policies.order import Stage
from dynamo_webhooks.policies.rule import CLAIMS, Hits, rule


@rule("DYN124", where=CLAIMS, when="create=true", stage=Stage.STORAGE)
def pvc_create_access_mode(at: At) -> Hits:
    """A claim is to be created, but has no access mode.

    Why
        The access mode decides whether pods on several nodes can mount the claim at once. There is no mode that suits every graph.

    Fix
        Write `ReadWriteMany` for a claim that several pods share, `ReadWriteOnce` for one that a single node uses.

    Bad
        ```yaml
        spec:
          pvcs:
            - name: models
              create: true
              storageClass: shared
              size: 100Gi
              volumeAccessMode: ""  # expect
        ```

    Good
        ```yaml
        spec:
          pvcs:
            - {name: models, create: true, storageClass: shared, size: 100Gi, volumeAccessMode: ReadWriteMany}
        ```
    """
    if not at.value.get("volumeAccessMode"):
        yield at.required("volumeAccessMode", "must be set when create is true, got nothing")
