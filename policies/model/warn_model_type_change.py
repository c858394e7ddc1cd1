"""DYN904: what a change of a model's type would do."""

from policies.at import At
from policies.finding import Level
from policies.order import Stage
from policies.review import UPDATE
from policies.rule import MODEL_KIND, Hits, rule
from policies.unchanged import now_and_before


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
