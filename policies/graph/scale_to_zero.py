"""Workers that are scaled to zero."""

from ..at import At
from ..domain import WORKERS, find_main, list_components
from ..finding import Level
from ..review import Fields
from ..rule import GRAPH, Difference, Hits, Stage, rule

_MODEL = ("--served-model-name", "--model", "--model-path")  # the first that is there names the model


@rule(
    "DYN912",
    where=GRAPH,
    when="components.*.replicas",
    level=Level.WARNING,
    stage=Stage.ADVICE,
    differs=Difference((), "requests of a model that no component serves any more fail without a warning", lacking=True),
)
def scale_to_zero_unroutable(at: At) -> Hits:
    """A worker has no replicas, and no other component serves its model.

    Why
        Frontends forget a model with its last worker, and refuse requests for it. They don't wait for a worker, and nothing starts one.

    Fix
        Keep one replica, or expect that requests for the model fail until you scale the {service} up again.

    Example
        spec:
          components:
    bad     - {name: frontend, type: frontend}
    bad     - name: worker
    bad       type: worker
    bad       replicas: 0  # expect
    ok      - {name: worker, type: worker, replicas: 0}
    ok      - {name: more, type: worker, replicas: 1}
    """
    workers = [(index, component) for index, _, component in list_components(at.value) if component.get("type") in WORKERS]
    stopped = [(index, component) for index, component in workers if component.get("replicas") == 0]
    if not stopped:
        return
    served: dict[str, set[str]] = {}  # type -> the models of its workers that run; "" for one that is not named, which may be any
    for _, component in workers:
        if component.get("replicas") != 0:
            served.setdefault(component["type"], set()).add(_model(component))
    for index, component in stopped:
        models, name = served.get(component["type"], set()), _model(component)
        stands_in = not models.isdisjoint(("", name)) if name else bool(models)
        if not stands_in:
            yield at.warning(("components", index, "replicas"), "is 0, and no other component serves the model: requests for it fail")


def _model(component: Fields) -> str:
    """The model that a worker serves, as far as its command line says."""
    main, _ = find_main(component)
    words = [str(word) for part in ("command", "args") for word in main.get(part) or ()]
    for flag in _MODEL:
        for place, word in enumerate(words):
            name, _, value = word.partition("=")
            if name == flag:
                return value or (words[place + 1] if place + 1 < len(words) else "")
    return ""
