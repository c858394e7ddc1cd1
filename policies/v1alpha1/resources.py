"""Requests and limits: in v1beta1 an amount that is no quantity can't be decoded."""

from typing import Final

from ...api.paths import Key, Path
from ..at import At
from ..finding import Finding, Mend
from ..gpu import is_plain
from ..rule import COMPONENT_V1ALPHA1, Difference, Hits, Stage, rule

_PARTS: Final = ("limits", "requests")
_NAMED: Final = frozenset(("cpu", "memory", "gpu"))  # gpuType is a name, no amount


@rule(
    "DYN209",
    where=COMPONENT_V1ALPHA1,
    when="resources",
    stage=Stage.COMPONENT,
    differs=Difference(("G-14",), "an invalid amount is silently dropped", lacking=True),
)
def resources_quantity_invalid(at: At) -> Hits:
    """An amount of a resource is no quantity.

    Why
        What can't be read is left out of the pod without a word: it then runs without the limit, or is scheduled where it does not fit.

    Fix
        Write a number with an optional suffix, without blanks: 2, 500m, 16Gi.

    Example
        spec:
          services:
            worker:
              componentType: worker
              resources:
    bad         limits:
    bad           cpu: two  # expect
    bad           memory: 16 Gi  # expect
    bad         requests:
    bad           custom:
    bad             rdma/ib: one  # expect
    ok          limits: {cpu: "2", memory: 16Gi, gpu: "1"}
    ok          requests: {cpu: 500m, custom: {rdma/ib: "1"}}
    """
    resources = at.value["resources"]
    for part in _PARTS:
        amounts = resources.get(part)
        if not amounts:
            continue
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
