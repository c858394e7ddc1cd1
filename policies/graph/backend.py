"""The backend of a graph."""

from ..at import At, Findings
from ..review import UPDATE
from ..rule import GRAPH_OBJECT, Stage, rule
from ..unchanged import check_unchanged


@rule("DYN701", where=GRAPH_OBJECT, on=(UPDATE,), stage=Stage.IMMUTABLE, ratchets=False)
def dgd_backend_immutable(at: At) -> Findings:
    """The backend of a graph changes after creation.

    Why
        Commands, ports, probes and the layout of pods depend on the backend. Running pods can't be changed to another one.

    Fix
        Restore the old value, or create a second graph with the new backend and delete this one when the new one serves.

    Example
        +metadata: {labels: {team: search}}
         spec: {backendFramework: vllm}
         --- # becomes
        -spec:
        -  backendFramework: sglang  # expect: dgd-backend-immutable, warn-backend-framework-change
        +metadata: {labels: {team: ranking}}
        +spec: {backendFramework: vllm}
    """
    yield from check_unchanged(at, "spec.backendFramework", "graph")
