"""DYN126: two claims of one name."""

from dynamo_webhooks.policies.at import At
from dynamo_webhooks.policies.order import Stage
from dynamo_webhooks.policies.rule import GRAPH, Difference, Hits, rule


@rule(
    "DYN126",
    where=GRAPH,
    when="pvcs",
    stage=Stage.STORAGE,
    current_only=Difference(("G-07",), "the second of two different claims with one name is silently ignored"),
)
def pvc_name_duplicate(at: At) -> Hits:
    """Two different claims of the graph have the same name.

    Why
        Only one claim of a name can be created. Whichever of the two comes first decides on class and size, and the other is passed over
        in silence. Naming a claim twice in the same words, or one that exists already, harms nobody.

    Fix
        Remove one of them, or give it another name.

    Bad
        ```yaml
        spec:
          pvcs:
            - {name: models, create: true, storageClass: shared, size: 100Gi, volumeAccessMode: ReadWriteMany}
            - name: models  # expect
              create: true
              storageClass: local
              size: 1Gi
              volumeAccessMode: ReadWriteOnce
        ```

    Good
        ```yaml
        spec:
          pvcs:
            - name: models
            - name: models
            - name: cache
        ```
    """
    claims = at.value["pvcs"]
    if len(claims) < 2:
        return
    first: dict[str, int] = {}
    for index, claim in enumerate(claims):
        name = claim.get("name") if claim else None
        if not name or (other := first.setdefault(name, index)) == index:
            continue
        # said twice alike, or of claims that are there already, it harms nobody
        if claim != claims[other] and (claim.get("create") or claims[other].get("create")):
            yield at.duplicate(("pvcs", index, "name"), name, f'must be unique, got "{name}" again after pvcs[{other}]')
