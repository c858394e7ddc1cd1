"""The GPU that a request names."""

from ..at import At
from ..finding import Level
from ..rule import REQUEST, Hits, Stage, rule


@rule("DYN915", where=REQUEST, when="hardware", level=Level.WARNING, stage=Stage.ADVICE, ratchets=False, since="1.6")
def dgdr_gpu_deprecated(at: At) -> Hits:
    """A request names a GPU by a deprecated word.

    Why
        GB200 has no SXM form. The word still means the same, and a later operator may refuse it.

    Fix
        Write `gb200`.

    Example
    bad spec:
    bad   model: m
    bad   image: example/planner:1.6.0
    bad   hardware:
    bad     gpuSku: gb200_sxm  # expect
    ok  spec: {model: m, image: "example/planner:1.6.0", hardware: {gpuSku: gb200}}
    """
    if at.get("hardware.gpuSku") == "gb200_sxm":
        yield at.warning("hardware.gpuSku", 'is deprecated, and means "gb200"')
