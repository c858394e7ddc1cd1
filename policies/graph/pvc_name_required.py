"""DYN121: claims without a name."""

from dynamo_webhooks.policies.at import At
from dynamo_webhooks.policies.order import Stage
from dynamo_webhooks.policies.rule import GRAPH, Hits, rule


@rule("DYN121", where=GRAPH, when="pvcs", stage=Stage.STORAGE)
def pvc_name_required(at: At) -> Hits:
    """A claim of the graph has no name.

    Why
        Volume mounts of services find a claim by its name, and a claim that is to be created needs one.

    Fix
        Give the claim the name that the {services}' `volumeMounts` use.

    Bad
        ```yaml
        spec:
          pvcs:
            - {name: models}
            - name: ""  # expect
        ```

    Good
        ```yaml
        spec:
          pvcs:
            - name: models
        ```
    """
    # a null entry reads as a claim without anything, hence not the selector `spec.pvcs.*`
    for index, claim in enumerate(at.value["pvcs"]):
        if not (claim and claim.get("name")):
            yield at.required(("pvcs", index, "name"), "must name the claim, got nothing")
