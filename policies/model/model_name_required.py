"""DYN551: a model without a name."""

from dynamo_webhooks.policies.at import At
from dynamo_webhooks.policies.order import Stage
from dynamo_webhooks.policies.rule import MODEL_KIND, Hits, rule


@rule("DYN551", where={MODEL_KIND: ""}, stage=Stage.MODEL)
def model_name_required(at: At) -> Hits:
    """A model has no name.

    Why
        Workers are asked to load the model by this name; without one, or with blanks only, there is nothing to ask for.

    Fix
        Set `spec.modelName` to the name by which the model is served.

    Bad
        ```yaml
        spec:
          modelName: ""  # expect
        ```

    Good
        ```yaml
        spec: {modelName: Qwen/Qwen3-0.6B}
        ```
    """
    name = at.get("spec.modelName") or ""
    if not name.strip():
        yield at.required("spec.modelName", f"must name the model, got {'blanks only' if name else 'nothing'}")


@model_name_required.in_1_2("G-21", because="no worker can serve a blank name, which 1.2 accepts")
def model_name_required_in_1_2(at: At) -> Hits:
    """Only the empty text is refused."""
    if not at.get("spec.modelName"):
        yield at.required("spec.modelName", "must name the model, got nothing")
