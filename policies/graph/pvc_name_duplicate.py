"""DYN126: two claims of one name."""

from policies.at import At
from policies.order import Stage
from policies.rule import GRAPH, Difference, Hits, rule


@rule(
    "DYN126",
    where=GRAPH,
    when="pvcs",
    stage=Stage.STORAGE,
    current_only=Difference(("G-07",), "which of two claims of one name is created was left to chance"),
)
def pvc_name_duplicate(at: At) -> Hits:
    """Two claims of the graph have the same name.

    Why
        A volume mount finds its claim by name. Which of two would be created, and with what size, is left to chance.

    Fix
        Remove one of them, or give it another name.

    Bad
        ```yaml
        spec:
          pvcs:
            - name: models
            - name: models  # expect
        ```

    Good
        ```yaml
        spec:
          pvcs:
            - name: models
            - name: cache
        ```
    """
    first: dict[str, int] = {}
    for index, claim in enumerate(at.value["pvcs"]):
        name = claim.get("name") if claim else None
        if name and (other := first.setdefault(name, index)) != index:
            yield at.duplicate(("pvcs", index, "name"), name, f'must be unique, got "{name}" again after pvcs[{other}]')
