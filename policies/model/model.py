"""The name, the base model and the type of a model."""

from ..at import At
from ..review import UPDATE
from ..rule import MODEL_KIND, Difference, Hits, Stage, rule
from ..unchanged import check_unchanged


@rule("DYN713", where={MODEL_KIND: ""}, on=(UPDATE,), stage=Stage.IMMUTABLE, ratchets=False)
def model_base_name_immutable(at: At) -> Hits:
    """The base model of a model changes after creation.

    Why
        The endpoints that serve a model are found by the name of its base model; the previous ones would be silently lost.

    Fix
        Put the old name back, or create another DynamoModel.

    Example
    bad spec: {baseModelName: one}
    ok  spec: {baseModelName: one, modelName: one}
        --- # becomes
    bad spec:
    bad   baseModelName: other  # expect: model-base-name-immutable, warn-base-model-change
    ok  spec: {baseModelName: one, modelName: two}
    """
    yield from check_unchanged(at, "spec.baseModelName", "model")


@rule("DYN552", where={MODEL_KIND: ""}, stage=Stage.MODEL, differs=Difference(("G-21",), "no endpoint has a blank name, which 1.2 accepts"))
def model_base_name_required(at: At) -> Hits:
    """A model doesn't name its base model.

    Why
        The endpoints that serve a model are found by the name of its base model; without it, or with blanks only, none are found.

    Fix
        Set `spec.baseModelName` to the name that the workers were started with.

    Example
    bad spec:
    bad   baseModelName: ""  # expect
    ok  spec: {baseModelName: Qwen/Qwen3-0.6B}
    """
    name = at.get("spec.baseModelName") or ""
    if not name.strip():
        yield at.required("spec.baseModelName", f"must name the base model, got {'blanks only' if name else 'nothing'}")


@rule(
    "DYN551",
    where={MODEL_KIND: ""},
    stage=Stage.MODEL,
    differs=Difference(("G-21",), "no worker can serve a blank name, which 1.2 accepts"),
)
def model_name_required(at: At) -> Hits:
    """A model has no name.

    Why
        Workers are asked to load the model by this name; without one, or with blanks only, there is nothing to ask for.

    Fix
        Set `spec.modelName` to the name by which the model is served.

    Example
    bad spec:
    bad   modelName: ""  # expect
    ok  spec: {modelName: Qwen/Qwen3-0.6B}
    """
    name = at.get("spec.modelName") or ""
    if not name.strip():
        yield at.required("spec.modelName", f"must name the model, got {'blanks only' if name else 'nothing'}")


@rule("DYN712", where={MODEL_KIND: ""}, on=(UPDATE,), stage=Stage.IMMUTABLE, ratchets=False)
def model_type_immutable(at: At) -> Hits:
    """The type of a model changes after creation.

    Why
        Base models, LoRA and adapters are loaded in different ways; loaded models would stay behind.

    Fix
        Put the old type back, or create another DynamoModel.

    Example
    bad spec: {modelType: base}
    ok  spec: {modelType: base, modelName: one}
        --- # becomes
    bad spec:
    bad   modelType: adapter  # expect: model-type-immutable, warn-model-type-change
    ok  spec: {modelType: base, modelName: two}
    """
    yield from check_unchanged(at, "spec.modelType", "model")
