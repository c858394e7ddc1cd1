"""DYN553: a LoRA model without a source."""

from dynamo_webhooks.policies.at import At
from dynamo_webhooks.policies.order import Stage
from dynamo_webhooks.policies.rule import MODEL, Hits, rule


@rule("DYN553", where=MODEL, when="modelType=lora", stage=Stage.MODEL)
def model_lora_source_required(at: At) -> Hits:
    """A LoRA model doesn't say where its weights are.

    Why
        LoRA weights are loaded into running workers from a place of their own; the image of the workers doesn't hold them.

    Fix
        Set `spec.source.uri` to an s3:// or hf:// address.

    Bad
        ```yaml
        spec:  # expect
          modelType: lora
        ```

    Good
        ```yaml
        spec: {modelType: lora, source: {uri: "hf://acme/adapter"}}
        ```
    """
    if at.value.get("source") is None:
        yield at.required("source", "must be set for a model of type lora, got nothing")
