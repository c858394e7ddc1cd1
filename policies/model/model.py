"""The name, the base model, the type and the source of a model."""

from ..at import At, Findings
from ..finding import Finding
from ..review import UPDATE, is_line_1_4
from ..rule import MODEL, MODEL_KIND, Stage, differs, rule
from ..unchanged import check_unchanged


@rule("DYN713", where={MODEL_KIND: ""}, on=(UPDATE,), stage=Stage.IMMUTABLE, ratchets=False)
def model_base_name_immutable(at: At) -> Findings:
    """The base model of a model changes after creation.

    Why
        The endpoints of a model are found by the name of its base model; the previous endpoints would be lost.

    Fix
        Restore the old name, or create another DynamoModel.

    Example
        -spec: {baseModelName: one}
        +spec: {baseModelName: one, modelName: one}
         --- # becomes
        -spec:
        -  baseModelName: other  # expect: model-base-name-immutable, warn-base-model-change
        +spec: {baseModelName: one, modelName: two}
    """
    yield from check_unchanged(at, "spec.baseModelName", "model")


@differs("no endpoint has a blank name, which 1.2 accepts")
@rule("DYN552", where={MODEL_KIND: ""}, stage=Stage.MODEL)
def model_base_name_required(at: At) -> Findings:
    """A model doesn't name its base model.

    Why
        The endpoints of a model are found by the name of its base model, so it must not be empty or blank.

    Fix
        Set `spec.baseModelName` to the model name with which the workers were started.

    Example
         spec:
        -  baseModelName: ""  # expect
        +  baseModelName: "Qwen/Qwen3-0.6B"
    """
    name = at.get("spec.baseModelName") or ""
    if not name.strip():
        yield at.required("spec.baseModelName", f"must name the base model, got {'blanks only' if name else 'nothing'}")


@differs("no worker can serve a blank name, which 1.2 accepts")
@rule("DYN551", where={MODEL_KIND: ""}, stage=Stage.MODEL)
def model_name_required(at: At) -> Findings:
    """A model has no name.

    Why
        Workers load the model by this name, so it must not be empty or blank.

    Fix
        Set `spec.modelName` to the name by which the model is served.

    Example
         spec:
        -  modelName: ""  # expect
        +  modelName: "Qwen/Qwen3-0.6B"
    """
    name = at.get("spec.modelName") or ""
    if not name.strip():
        yield at.required("spec.modelName", f"must name the model, got {'blanks only' if name else 'nothing'}")


@rule("DYN712", where={MODEL_KIND: ""}, on=(UPDATE,), stage=Stage.IMMUTABLE, ratchets=False)
def model_type_immutable(at: At) -> Findings:
    """The type of a model changes after creation.

    Why
        Base models, LoRA models and adapters are loaded in different ways; models that are loaded already would not be unloaded.

    Fix
        Restore the old type, or create another DynamoModel.

    Example
        -spec: {modelType: base}
        +spec: {modelType: base, modelName: one}
         --- # becomes
        -spec:
        -  modelType: adapter  # expect: model-type-immutable, warn-model-type-change
        +spec: {modelType: base, modelName: two}
    """
    yield from check_unchanged(at, "spec.modelType", "model")


@rule("DYN553", where=MODEL, when="modelType=lora", stage=Stage.MODEL)
def model_lora_source_required(at: At) -> Findings:
    """A LoRA model has no source for its weights.

    Why
        LoRA weights are loaded into running workers; they aren't in the workers' image.

    Fix
        Set `spec.source.uri` to an s3:// or hf:// address.

    Example
         spec:  # expect
           modelType: lora
        +  source:
        +    uri: hf://acme/adapter
    """
    if at.value.get("source") is None:
        yield at.required("source", "must be set for a model of type lora, got nothing")


@rule("DYN554", where=MODEL, when="modelType=lora", stage=Stage.MODEL)
def model_lora_uri_required(at: At) -> Findings:
    """The source of a LoRA model has no URI.

    Why
        LoRA weights are loaded into running workers from this URI.

    Fix
        Set `spec.source.uri` to an s3:// or hf:// URI.

    Example
         spec:
           modelType: lora
           source:
        -    uri: ""  # expect
        +    uri: "s3://bucket/adapters/one"
    """
    source = at.value.get("source")
    if source is not None and not source.get("uri"):
        yield at.required("source.uri", "must be set for a model of type lora, got nothing")


_SCHEMES = ("s3://", "hf://")
_LOCAL = "file:///"  # since line 1.5
_MAX_SCHEME_CHARACTERS = 32  # longer text is no scheme


@differs("1.2 accepts a bare scheme, whose model never loads")
@rule("DYN555", where=MODEL, when="modelType=lora", stage=Stage.MODEL)
def model_lora_uri_scheme(at: At) -> Findings:
    """The URI of a LoRA model has an unknown scheme, or nothing follows the scheme.

    Why
        Workers load LoRA weights from S3-compatible object stores and from Hugging Face; since operator 1.5 also from their own file
        system.

    Fix
        Write s3://bucket/path or hf://organisation/repository, with the scheme in lower case; since operator 1.5 also file:///path with
        three slashes.

    Example
        -spec:
        -  modelType: lora
        -  source:
        -    uri: S3://bucket/adapter  # expect

         spec:
           modelType: lora
           source:
        -    uri: "hf://"  # expect
        +    uri: "hf://acme/adapter"
    """
    uri = at.get("source.uri")
    if not uri:
        return
    scheme = next((known for known in _known(at) if uri.startswith(known)), None)
    if scheme is None:
        yield _other_scheme(at, uri)
    elif not uri[len(scheme) :].strip(" /"):
        yield at.invalid("source.uri", uri, f'must name a bucket, repository or path after the scheme, got "{uri}"')


def _known(at: At) -> tuple[str, ...]:
    return (*_SCHEMES, _LOCAL) if is_line_1_4(at.review) else _SCHEMES


def _other_scheme(at: At, uri: str) -> Finding:
    """Shows the scheme only: behind it people put user names and tokens."""
    scheme, colon, _ = uri.partition("://")
    seen = f"{scheme}://" if colon and len(scheme) <= _MAX_SCHEME_CHARACTERS else ""
    *others, last = _known(at)
    text = f"must begin with {', '.join(others)} or {last} in lower case"
    return at.invalid("source.uri", seen or None, f'{text}, got "{seen}..."' if seen else f"{text}, got an address without a scheme")
