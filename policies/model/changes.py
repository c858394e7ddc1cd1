"""Changes of a model that workloads do not follow."""

from ..at import At, Findings
from ..review import UPDATE
from ..rule import MODEL_KIND, Stage, rule
from ..unchanged import read_now_and_before


@rule("DYN905", where={MODEL_KIND: ""}, on=(UPDATE,), stage=Stage.ADVICE, ratchets=False)
def warn_base_model_change(at: At) -> Findings:
    """An update changes the base model.

    Why
        The change is refused as well. The warning explains the consequences in case you delete the object and create it again.

    Fix
        Make sure that workers of the new base model run before you create a DynamoModel for it.

    Example
         spec: {baseModelName: one}
         --- # becomes
         spec:
        -  baseModelName: other  # expect: model-base-name-immutable, warn-base-model-change
        +  baseModelName: one
    """
    if read_now_and_before(at, "spec.baseModelName"):
        yield at.warning("spec.baseModelName", "a change of the base model breaks the discovery of endpoints")


@rule("DYN904", where={MODEL_KIND: ""}, on=(UPDATE,), stage=Stage.ADVICE, ratchets=False)
def warn_model_type_change(at: At) -> Findings:
    """An update changes the type of a model.

    Why
        The change is refused as well. The warning explains the consequences in case you delete the object and create it again.

    Fix
        Unload the model by deleting its DynamoModel before you create one of another type.

    Example
         spec: {modelType: base}
         --- # becomes
         spec:
        -  modelType: adapter  # expect: model-type-immutable, warn-model-type-change
        +  modelType: base
    """
    if read_now_and_before(at, "spec.modelType"):
        yield at.warning("spec.modelType", "a change of the model's type is risky: loaded models stay loaded")
