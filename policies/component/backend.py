"""The backend of a component."""

from ..at import At, Findings
from ..review import UPDATE
from ..rule import DCD, DGD, Stage, rule
from ..unchanged import check_unchanged, read_now_and_before


@rule("DYN903", where={DGD: "", DCD: ""}, on=(UPDATE,), stage=Stage.ADVICE, ratchets=False)
def warn_backend_framework_change(at: At) -> Findings:
    """An update changes the backend.

    Why
        The change is refused as well. The warning explains the consequences in case you delete the object and create it again.

    Fix
        Restore the old `backendFramework`. If you create the object again with another one, check images, commands and engine arguments.

    Example
         # kind: DynamoComponentDeployment/v1beta1
        -spec: {}
        +spec: {backendFramework: vllm}
         --- # becomes
         spec:
           backendFramework: vllm  # expect: dcd-backend-immutable, warn-backend-framework-change
    """
    if read_now_and_before(at, "spec.backendFramework"):
        yield at.warning("spec.backendFramework", "a change of backend is risky: images and commands must fit it")


@rule("DYN710", where={DCD: ""}, on=(UPDATE,), stage=Stage.IMMUTABLE, ratchets=False)
def dcd_backend_immutable(at: At) -> Findings:
    """The backend of a standalone component changes after creation.

    Why
        Commands, ports, probes and the layout of pods depend on the backend. Running pods can't be changed to another one.

    Fix
        Restore the old value, or create a second component with the new backend and delete this one when the new one serves.

    Example
        -spec: {backendFramework: vllm}
        +spec: {backendFramework: vllm, replicas: 1}
         --- # becomes
        -spec:
        -  backendFramework: trtllm  # expect: dcd-backend-immutable, warn-backend-framework-change
        +spec: {backendFramework: vllm, replicas: 2}
    """
    yield from check_unchanged(at, "spec.backendFramework", "component")
