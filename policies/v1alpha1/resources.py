"""Resources of a service, which v1beta1 has in its containers."""

from typing import Final

from ...api.paths import Key, Path
from ..at import At, Findings
from ..finding import Finding, Mend
from ..gpu import is_plain
from ..review import Fields
from ..rule import COMPONENT_V1ALPHA1, Stage, differs, rule

_PARTS: Final = ("limits", "requests")
_NAMED: Final = frozenset(("cpu", "memory", "gpu"))  # gpuType is a name, no amount


@differs("an invalid amount is silently dropped", lacking=True)
@rule("DYN209", where=COMPONENT_V1ALPHA1, when="resources", stage=Stage.COMPONENT)
def resources_quantity_invalid(at: At) -> Findings:
    """The amount of a resource isn't a valid quantity.

    Why
        The operator silently drops an invalid amount: the pod then runs without the limit, or on a node that is too small.

    Fix
        Write a number with an optional suffix, without spaces: 2, 500m, 16Gi.

    Example
         {worker service}
               resources:
        -        limits:
        -          cpu: two  # expect
        -          memory: 16 Gi  # expect
        -        requests:
        -          custom:
        -            rdma/ib: one  # expect
        +        limits: {cpu: "2", memory: 16Gi, gpu: "1", custom: {rdma/ib: "1"}}
        +        requests: {cpu: 500m, custom: {rdma/ib: "1"}}
    """
    resources = at.value["resources"]
    for part in _PARTS:
        amounts: Fields = resources.get(part) or {}
        for name, amount in amounts.items():
            if name in _NAMED:
                if amount and not is_plain(amount):
                    yield _unreadable(at, ("resources", part, name), amount)
            elif name == "custom" and amount:
                for custom, text in amount.items():
                    if text is not None and not is_plain(text):
                        yield _unreadable(at, ("resources", part, name, Key(custom)), text)


def _unreadable(at: At, path: Path, text: str) -> Finding:
    close = "".join(text.split())
    mend = Mend(close) if is_plain(close) else None
    return at.invalid(path, text, f'must be a quantity such as 2, 500m or 16Gi, got "{text}"', mend=mend)
