"""DYN905: what a change of the base model would do."""

from dynamo_webhooks.policies.at import At
from dynamo_webhooks.policies.finding import Level
from dynamo_webhooks.policies.order import Stage
from dynamo_webhooks.policies.review import UPDATE
from dynamo_webhooks.policies.rule import MODEL_KIND, Hits, rule
from dynamo_webhooks.policies.unchanged import now_and_before


@rule("DYN905", where={MODEL_KIND: ""}, on=(UPDATE,), level=Level.WARNING, stage=Stage.ADVICE, ratchets=False)
def warn_base_model_change(at: At) -> Hits:
    """An update asks for another base model.

    Why
        It is refused as well; the warning says what it would have meant, for people who think of deleting and creating anew.

    Fix
        Make sure that workers of the new base model run before you create a DynamoModel for it.

    Bad
        ```yaml
        spec: {baseModelName: one}
        --- # becomes
        spec:
          baseModelName: other  # expect: model-base-name-immutable, warn-base-model-change
        ```

    Good
        ```yaml
        spec: {baseModelName: one}
        --- # becomes
        spec: {baseModelName: one}
        ```
    """
    if now_and_before(at, "spec.baseModelName"):
        yield at.warning("spec.baseModelName", "a change of the base model breaks the discovery of endpoints")
