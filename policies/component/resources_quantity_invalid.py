"""DYN209: amounts of resources that can't be read."""

from collections.abc import Iterator

from api.paths import Key, Path
from api.quantity import is_quantity
from policies.at import At
from policies.order import Stage
from policies.review import Fields
from policies.rule import COMPONENT, Difference, Hits, rule


@rule(
    "DYN209",
    where=COMPONENT,
    when="resources",
    stage=Stage.COMPONENT,
    current_only=Difference(("G-14",), "an amount that can't be read is dropped, and the pod runs without what its author asked for"),
)
def resources_quantity_invalid(at: At) -> Hits:
    """An amount of a resource is no quantity.

    Why
        What can't be read is left out of the pod without a word: it then runs without the limit, or is scheduled where it does not fit.

    Fix
        Write a number with an optional suffix, without blanks: 2, 500m, 16Gi.

    Bad
        ```yaml
        spec:
          services:
            worker:
              componentType: worker
              resources:
                limits:
                  cpu: two  # expect
                  memory: 16 Gi  # expect
                requests:
                  custom:
                    rdma/ib: one  # expect
        ```

    Good
        ```yaml
        spec:
          services:
            worker:
              componentType: worker
              resources:
                limits: {cpu: "2", memory: 16Gi, gpu: "1"}
                requests: {cpu: 500m, custom: {rdma/ib: "1"}}
        ```
    """
    for part in ("limits", "requests"):
        amounts = at.value["resources"].get(part)
        if amounts:
            for path, text in _amounts(amounts):
                if not is_quantity(text) or text != text.strip():
                    yield at.invalid(("resources", part, *path), text, f'must be a quantity such as 2, 500m or 16Gi, got "{text}"')


def _amounts(amounts: Fields) -> Iterator[tuple[Path, str]]:
    for name in ("cpu", "memory", "gpu"):
        if amounts.get(name):
            yield (name,), amounts[name]
    for name, text in (amounts.get("custom") or {}).items():
        if text is not None:
            yield ("custom", Key(name)), text
