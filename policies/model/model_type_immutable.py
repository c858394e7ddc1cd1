"""DYN712: a model that changes its type."""

from dynamo_webhooks.policies.at import At
from dynamo_webhooks.policies.order import Stage
from dynamo_webhooks.policies.review import UPDATE
from dynamo_webhooks.policies.rule import MODEL_KIND, Hits, rule
from dynamo_webhooks.policies.unchanged import stays


@rule("DYN712", where={MODEL_KIND: ""}, on=(UPDATE,), stage=Stage.IMMUTABLE, ratchets=False)
def model_type_immutable(at: At) -> Hits:
    """The type of a model changes after creation.

    Why
        Base models, LoRA and adapters are loaded in different ways; what is loaded already would stay behind.

    Fix
        Put the old type back, or create another DynamoModel.

    Bad
        ```yaml
        spec: {modelType: base}
        --- # becomes
        spec:
          modelType: adapter  # expect: model-type-immutable, warn-model-type-change
        ```

    Good
        ```yaml
        spec: {modelType: base, modelName: one}
        --- # becomes
        spec: {modelType: base, modelName: two}
        ```
    """
    yield from stays(at, "spec.modelType", "model")
