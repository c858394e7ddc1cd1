"""DYN552: a model without a base model."""

from dynamo_webhooks.policies.at import At
from dynamo_webhooks.policies.order import Stage
from dynamo_webhooks.policies.rule import MODEL_KIND, Hits, rule


@rule("DYN552", where={MODEL_KIND: ""}, stage=Stage.MODEL)
def model_base_name_required(at: At) -> Hits:
    """A model doesn't name its base model.

    Why
        The endpoints that serve a model are found by the name of its base model; without it, or with blanks only, none are found.

    Fix
        Set `spec.baseModelName` to the name that the workers were started with.

    Bad
        ```yaml
        spec:
          baseModelName: ""  # expect
        ```

    Good
        ```yaml
        spec: {baseModelName: Qwen/Qwen3-0.6B}
        ```
    """
    name = at.get("spec.baseModelName") or ""
    if not name.strip():
        yield at.required("spec.baseModelName", f"must name the base model, got {'blanks only' if name else 'nothing'}")


@model_base_name_required.in_1_2("G-21", because="no endpoint has a blank name, which 1.2 accepts")
def model_base_name_required_in_1_2(at: At) -> Hits:
    """Only the empty text is refused."""
    if not at.get("spec.baseModelName"):
        yield at.required("spec.baseModelName", "must name the base model, got nothing")
