"""DYN555: a LoRA model at an address that workers can't load from."""

from dynamo_webhooks.policies.at import At
from dynamo_webhooks.policies.domain import on_1_5
from dynamo_webhooks.policies.finding import Finding
from dynamo_webhooks.policies.order import Stage
from dynamo_webhooks.policies.rule import MODEL, Hits, rule

_SCHEMES = ("s3://", "hf://")
_LOCAL = "file:///"  # since line 1.5
_LONGEST = 32  # characters of a scheme; what is longer is none


@rule("DYN555", where=MODEL, when="modelType=lora", stage=Stage.MODEL)
def model_lora_uri_scheme(at: At) -> Hits:
    """The address of a LoRA model is neither s3:// nor hf://, or nothing follows.

    Why
        Workers load LoRA weights from object stores that speak S3 and from Hugging Face; since line 1.5 of the operator from their own file
        system too.

    Fix
        Write s3://bucket/path or hf://organisation/repository, the scheme in lower case; on line 1.5 also file:///path with three slashes.

    Bad
        ```yaml
        spec:
          modelType: lora
          source:
            uri: S3://bucket/adapter  # expect
        ```
        A scheme alone names nothing.
        ```yaml
        spec:
          modelType: lora
          source:
            uri: "hf://"  # expect
        ```

    Good
        ```yaml
        spec: {modelType: lora, source: {uri: "hf://acme/adapter"}}
        ```
    """
    uri = at.get("source.uri")
    if not uri:
        return
    scheme = next((known for known in _known(at) if uri.startswith(known)), None)
    if scheme is None:
        yield _other_scheme(at, uri)
    elif not uri[len(scheme) :].strip(" /"):
        yield at.invalid("source.uri", uri, f'must name a bucket, repository or path after the scheme, got "{uri}"')


@model_lora_uri_scheme.in_1_2("G-21", because="1.2 accepts a bare scheme, whose model never loads")
def model_lora_uri_scheme_in_1_2(at: At) -> Hits:
    """Only the scheme is looked at."""
    uri = at.get("source.uri")
    if uri and not uri.startswith(_SCHEMES):
        yield _other_scheme(at, uri)


def _known(at: At) -> tuple[str, ...]:
    return (*_SCHEMES, _LOCAL) if on_1_5(at.review) else _SCHEMES


def _other_scheme(at: At, uri: str) -> Finding:
    """Shows the scheme only: behind it people put user names and tokens."""
    scheme, colon, _ = uri.partition("://")
    seen = f"{scheme}://" if colon and len(scheme) <= _LONGEST else ""
    *others, last = _known(at)
    text = f"must begin with {', '.join(others)} or {last} in lower case"
    return at.invalid("source.uri", seen or None, f'{text}, got "{seen}..."' if seen else f"{text}, got an address without a scheme")
