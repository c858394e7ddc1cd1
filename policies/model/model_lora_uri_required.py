"""DYN554: a LoRA model with an empty source."""

from dynamo_webhooks.policies.at import At
from dynamo_webhooks.policies.order import Stage
from dynamo_webhooks.policies.rule import MODEL, Hits, rule


@rule("DYN554", where=MODEL, when="modelType=lora", stage=Stage.MODEL)
def model_lora_uri_required(at: At) -> Hits:
    """The source of a LoRA model has no address.

    Why
        LoRA weights are loaded into running workers from this address.

    Fix
        Set `spec.source.uri` to an s3:// or hf:// address.

    Bad
        ```yaml
        spec:
          modelType: lora
          source:
            uri: ""  # expect
        ```

    Good
        ```yaml
        spec: {modelType: lora, source: {uri: "s3://bucket/adapters/one"}}
        ```
    """
    source = at.value.get("source")
    if source is not None and not source.get("uri"):
        yield at.required("source.uri", "must be set for a model of type lora, got nothing")
