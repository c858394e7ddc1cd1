"""Changes of a component or a graph that are risky."""

from ..at import At
from ..finding import Level
from ..review import UPDATE
from ..rule import DCD, DGD, Hits, Stage, rule
from ..unchanged import read_now_and_before


@rule("DYN903", where={DGD: "", DCD: ""}, on=(UPDATE,), level=Level.WARNING, stage=Stage.ADVICE, ratchets=False)
def warn_backend_framework_change(at: At) -> Hits:
    """An update asks for another backend.

    Why
        The change is refused as well; the warning states its consequence, in case you delete and recreate the object.

    Fix
        Check images, commands and engine arguments of every component before you move to another backend.

    Example
    bad # kind: DynamoComponentDeployment/v1beta1
    bad spec: {}
    ok  spec: {backendFramework: vllm}
        --- # becomes
    bad spec:
    bad   backendFramework: vllm  # expect: dcd-backend-immutable, warn-backend-framework-change
    ok  spec: {backendFramework: vllm}
    """
    if read_now_and_before(at, "spec.backendFramework"):
        yield at.warning("spec.backendFramework", "a change of backend is risky: images and commands must fit it")
