"""DYN713: a model that changes its base model."""

from dynamo_webhooks.policies.at import At
from dynamo_webhooks.policies.order import Stage
from dynamo_webhooks.policies.review import UPDATE
from dynamo_webhooks.policies.rule import MODEL_KIND, Hits, rule
from dynamo_webhooks.policies.unchanged import stays


@rule("DYN713", where={MODEL_KIND: ""}, on=(UPDATE,), stage=Stage.IMMUTABLE, ratchets=False)
def model_base_name_immutable(at: At) -> Hits:
    """The base model of a model changes after creation.

    Why
        The endpoints that serve a model are found by the name of its base model; those found before would be lost without being told.

    Fix
        Put the old name back, or create another DynamoModel.

    Bad
        ```yaml
        spec: {baseModelName: one}
        --- # becomes
        spec:
          baseModelName: other  # expect: model-base-name-immutable, warn-base-model-change
        ```

    Good
        ```yaml
        spec: {baseModelName: one, modelName: one}
        --- # becomes
        spec: {baseModelName: one, modelName: two}
        ```
    """
    yield from stays(at, "spec.baseModelName", "model")
