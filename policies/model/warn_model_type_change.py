"""DYN904: what a change of a model's type would do."""

from dynamo_webhooks.policies.at import At
from dynamo_webhooks.policies.finding import Level
from dynamo_webhooks.policies.order import Stage
from dynamo_webhooks.policies.review import UPDATE
from dynamo_webhooks.policies.rule import MODEL_KIND, Hits, rule
from dynamo_webhooks.policies.unchanged import now_and_before


@rule("DYN904", where={MODEL_KIND: ""}, on=(UPDATE,), level=Level.WARNING, stage=Stage.ADVICE, ratchets=False)
def warn_model_type_change(at: At) -> Hits:
    """An update asks for another type of model.

    Why
        It is refused as well; the warning says what it would have meant, for people who think of deleting and creating anew.

    Fix
        Unload the model first, by deleting its DynamoModel, before you create one of another type.

    Bad
        ```yaml
        spec: {modelType: base}
        --- # becomes
        spec:
          modelType: adapter  # expect: model-type-immutable, warn-model-type-change
        ```

    Good
        ```yaml
        spec: {modelType: base}
        --- # becomes
        spec: {modelType: base}
        ```
    """
    if now_and_before(at, "spec.modelType"):
        yield at.warning("spec.modelType", "a change of the model's type is risky: what is loaded stays behind")
