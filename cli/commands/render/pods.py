"""The pods of children, whatever controls them: as users' rules read them, and which of them restart between two renders, and why."""

import json
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from functools import partial
from typing import Any, Final, NamedTuple

from ....admission.userrules.evaluate import UnknownError
from ....api.wording import shorten
from ....conversion.lens.protocol import Fields
from ....policies.facts import Facts
from ....reconciler.render.names import WORKER_HASH
from ....reconciler.render.object_index import ObjectIndex
from ....reconciler.render.template import read_pod_templates
from ...objects.forms import FormError, create
from ...objects.pairs import FileValue, pair_up
from .kinds import OperatorSettings, render_children
from .run import DEFAULT_NAMESPACE, RenderedChild, choose_operator

_GENERATION: Final = "GENERATION"  # replaces a worker generation in names and values
_LEADER: Final = "leaderTemplate"
_MAX_VALUE_CHARACTERS: Final = 80
_MAX_REASONS: Final = 20  # for one controller


class PodRestart(NamedTuple):
    """One controller of pods whose pods change."""

    kind: str
    namespace: str
    name: str
    pods: int  # that are there before
    what: str  # "restart", "start" (new), "stop" (gone) or "scale"
    reasons: list[str]
    file: str = ""  # that holds its object, of the new side if there is one


class _Controller(NamedTuple):
    file: str
    kind: str
    namespace: str
    name: str  # without a generation
    pods: int
    templates: Fields
    generation: str


def find_restarts(before: Iterable[RenderedChild], after: Iterable[RenderedChild]) -> list[PodRestart]:
    """Find the pods that restart between two lists of children, in the order of the second."""
    sides = (
        [
            FileValue(controller.file, (controller.kind, controller.namespace, controller.name), controller)
            for controller in _controllers(side)
        ]
        for side in (before, after)
    )
    restarts = (_change(was and was.value, now and now.value) for was, now in pair_up(*sides))
    return [restart for restart in restarts if restart is not None]


def format_restarts(restarts: list[PodRestart], *, whole: bool = True) -> str:
    """The changes as lines for people; `whole` where both sides could be rendered as a whole."""
    if not restarts:
        return "no pod restarts\n" if whole else "no pod restarts, of those that can be rendered\n"
    lines = []
    for restart in restarts:
        pods = f"{restart.pods} pod{'s' * (restart.pods != 1)}"
        place = f" ({restart.file})" if restart.file else ""
        lines.append(f"{restart.kind} {restart.namespace}/{restart.name}{place}: {pods} {restart.what}{'s' * (restart.pods == 1)}")
        lines += [f"  {reason}" for reason in restart.reasons[:_MAX_REASONS]]
        lines += [f"  and {len(restart.reasons) - _MAX_REASONS} more"] * (len(restart.reasons) > _MAX_REASONS)
    return "\n".join(lines) + "\n"


def _change(old: _Controller | None, new: _Controller | None) -> PodRestart | None:
    controller = new or old
    if controller is None:
        return None
    change = partial(PodRestart, controller.kind, controller.namespace, controller.name, file=controller.file)
    if new is None:
        return change(controller.pods, "stop", ["it is no longer rendered"])
    if old is None:
        return change(controller.pods, "start", ["it was not rendered before"])
    templates = [(name, old.templates.get(name), new.templates.get(name)) for name in dict.fromkeys((*new.templates, *old.templates))]
    reasons = [reason for name, was, now in templates for reason in _differences(was, now, name)]
    if reasons:
        return change(old.pods, "restart", reasons)
    if old.generation != new.generation:
        why = "the graph's workers get a new generation, because another of them or something that all of them carry changes"
        return change(old.pods, "restart", [why])
    return change(old.pods, "scale", [f"to {new.pods}, without a restart"]) if old.pods != new.pods else None


def _controllers(children: Iterable[RenderedChild]) -> Iterator[_Controller]:
    for file, child in children:
        templates = read_pod_templates(child)
        if not templates:
            continue
        metadata = child["metadata"]
        generation = (metadata.get("labels") or {}).get(WORKER_HASH, "")
        name = metadata["name"]
        if generation:
            templates = json.loads(json.dumps(templates).replace(generation, _GENERATION))
            name = name.replace(f"-{generation}", "")
        yield _Controller(
            file, child["kind"], metadata["namespace"], name, sum(pod["replicas"] for pod in list_pods(child)), templates, generation
        )


def _differences(old: Any, new: Any, path: str) -> Iterator[str]:
    """Describe how two templates differ. Values of variables are not shown: people put secrets there."""
    if isinstance(old, dict) and isinstance(new, dict):
        for name in sorted(old.keys() | new.keys()):
            yield from _differences(old.get(name), new.get(name), f"{path}.{name}" if path else name)
    elif _is_named(old) and _is_named(new):
        olds, news = map(_by_name, (old, new))
        for name in sorted(olds.keys() | news.keys()):
            yield from _differences(olds.get(name), news.get(name), f"{path}[{name}]")
        if list(olds) != list(news) and olds.keys() == news.keys():
            yield f"{path}: another order"
    elif old != new:
        hidden = ".env[" in path or path.endswith(".env")
        change = "changes" if hidden else f"{_format_value(old)} becomes {_format_value(new)}"
        yield f"{path}: {'is new' if old is None else 'is gone' if new is None else change}"


def _is_named(value: Any) -> bool:
    return isinstance(value, list) and bool(value) and all(isinstance(item, dict) and isinstance(item.get("name"), str) for item in value)


def _by_name(items: list[Fields]) -> Fields:
    """The items by name; the second and later ones of a name, as of mounts of one volume, with a number."""
    seen: Counter[str] = Counter()
    by_name = {}
    for item in items:
        name = item["name"]
        seen[name] += 1
        by_name[name if seen[name] == 1 else f"{name} {seen[name]}"] = item
    return by_name


def _format_value(value: Any) -> str:
    return shorten(json.dumps(value, ensure_ascii=False), _MAX_VALUE_CHARACTERS)


def read_pods() -> Callable[[Fields, Facts, list[Fields]], list[Fields]]:
    """A function that lists the pods of an object beside others; it raises UnknownError where they can't be rendered.

    Unknown facts are assumed as `render` does.
    """
    operators: list[tuple[Facts, OperatorSettings]] = []

    def pods(obj: Fields, facts: Facts, others: list[Fields]) -> list[Fields]:
        operator = next((chosen for known, chosen in operators if known is facts), None)
        if operator is None:
            operators.append((facts, operator := choose_operator(facts, None)[0]))
        try:
            created = create(obj, facts, "")
        except FormError as error:
            raise UnknownError(f"its pods can't be rendered: {error}") from None
        made = render_children(created, ObjectIndex([created, *others], DEFAULT_NAMESPACE), operator)
        if made.problems:
            raise UnknownError(f"its pods can't be rendered: {made.problems[0]}")
        return [pod for child in made.children for pod in list_pods(child)]

    return pods


def list_pods(child: Fields) -> Iterator[Fields]:
    """The pods that a child has made, one for each template, with their number and what controls them."""
    controller = {"kind": child["kind"], "name": child["metadata"]["name"]}
    spec = child.get("spec") or {}
    if child["kind"] == "Job":
        yield {"controller": controller, "replicas": 1, **spec["template"]}
    for number, (name, template) in enumerate(read_pod_templates(child).items()):
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
    count = next((int(group.get("replicas") or 0) for group in groups if clique["name"] in group["cliqueNames"]), 1)
    return int(spec.get("replicas") or 1) * int(clique["spec"].get("replicas") or 0) * count
