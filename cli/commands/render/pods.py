"""The pods that an object renders to, as users' rules read them: template, number, and what controls them."""

from collections.abc import Callable, Iterator
from typing import Final

from ....admission.userrules.evaluate import UnknownError
from ....conversion.lens.protocol import Fields
from ....policies.facts import Facts
from ....reconciler.render.observed import Held
from ....reconciler.render.template import pod_templates
from ...objects.forms import FormError, create
from .kinds import Operator, children
from .run import DEFAULT_NAMESPACE, choose_operator

_LEADER: Final = "leaderTemplate"


def read_pods() -> Callable[[Fields, Facts, list[Fields]], list[Fields]]:
    """A function that lists the pods of an object beside others; it raises UnknownError where they can't be rendered.

    Unknown facts are assumed as `render` does.
    """
    operators: list[tuple[Facts, Operator]] = []

    def pods(obj: Fields, facts: Facts, others: list[Fields]) -> list[Fields]:
        operator = next((one for known, one in operators if known is facts), None)
        if operator is None:
            operators.append((facts, operator := choose_operator(facts, None)[0]))
        try:
            created = create(obj, facts, "")
        except FormError as error:
            raise UnknownError(f"its pods can't be rendered: {error}") from None
        made = children(created, Held([created, *others], DEFAULT_NAMESPACE), operator)
        if made.problems:
            raise UnknownError(f"its pods can't be rendered: {made.problems[0]}")
        return [pod for child in made.children for pod in _pods(child)]

    return pods


def _pods(child: Fields) -> Iterator[Fields]:
    controller = {"kind": child["kind"], "name": child["metadata"]["name"]}
    spec = child.get("spec") or {}
    if child["kind"] == "Job":
        yield {"controller": controller, "replicas": 1, **spec["template"]}
    for number, (name, template) in enumerate(pod_templates(child).items()):
        metadata = template.get("metadata") or {key: template.get(key) or {} for key in ("labels", "annotations")}
        count = _clique_replicas(spec, number) if child["kind"] == "PodCliqueSet" else _replicas(spec, name)
        yield {"controller": controller, "replicas": count, "metadata": metadata, "spec": template["spec"]}


def _replicas(spec: Fields, template: str) -> int:
    replicas = spec.get("replicas")
    groups = int(1 if replicas is None else replicas)
    inner = spec.get("leaderWorkerTemplate")
    if inner is None or template == _LEADER:
        return groups
    return groups * (int(inner.get("size") or 1) - (1 if inner.get(_LEADER) else 0))


def _clique_replicas(spec: Fields, number: int) -> int:
    template = spec["template"]
    clique = template["cliques"][number]
    groups = template.get("podCliqueScalingGroups") or ()
    count = next((int(one.get("replicas") or 0) for one in groups if clique["name"] in one["cliqueNames"]), 1)
    return int(spec.get("replicas") or 1) * int(clique["spec"].get("replicas") or 0) * count
