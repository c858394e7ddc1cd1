"""Which pods restart between two renders, and why: pod templates compared, whatever controls the pods."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from dynamo_webhooks.api.wording import shortened
from dynamo_webhooks.reconciler.render.names import WORKER_HASH
from dynamo_webhooks.reconciler.render.pod.templates import templates as pod_templates

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from dynamo_webhooks.conversion.lens.protocol import Fields

_GENERATION: Final = "GENERATION"  # stands for a generation of workers in names and values
_LONGEST: Final = 80  # characters of one value
_MOST: Final = 20  # reasons for one controller


class Restart(NamedTuple):
    """One controller of pods whose pods change."""

    kind: str
    namespace: str
    name: str
    pods: int  # that are there before
    what: str  # "restart", "start" (new), "stop" (gone) or "scale"
    reasons: list[str]


class _Controller(NamedTuple):
    kind: str
    namespace: str
    name: str  # without a generation
    pods: int
    templates: Fields
    generation: str


def restarts(before: list[Fields], after: list[Fields]) -> list[Restart]:
    """What happens to pods on the way from one list of children to another, in the order of the second."""
    old = {(one.kind, one.namespace, one.name): one for one in _controllers(before)}
    new = {(one.kind, one.namespace, one.name): one for one in _controllers(after)}
    found = [_change(old.get(key), one) for key, one in new.items()]
    gone = [
        Restart(one.kind, one.namespace, one.name, one.pods, "stop", ["it is no longer rendered"])
        for key, one in old.items()
        if key not in new
    ]
    return [one for one in found if one is not None] + gone


def report(found: list[Restart], *, whole: bool = True) -> str:
    """The changes as lines for people; `whole` where both sides could be rendered as a whole."""
    if not found:
        return "no pod restarts\n" if whole else "no pod restarts, of those that can be rendered\n"
    lines = []
    for one in found:
        pods = f"{one.pods} pod{'s' * (one.pods != 1)}"
        lines.append(f"{one.kind} {one.namespace}/{one.name}: {pods} {one.what}{'s' * (one.pods == 1)}")
        lines += [f"  {reason}" for reason in one.reasons[:_MOST]]
        lines += [f"  and {len(one.reasons) - _MOST} more"] * (len(one.reasons) > _MOST)
    return "\n".join(lines) + "\n"


def _change(old: _Controller | None, new: _Controller) -> Restart | None:
    if old is None:
        return Restart(new.kind, new.namespace, new.name, new.pods, "start", ["it was not rendered before"])
    reasons = list(_differences(old.templates, new.templates, ""))
    if reasons:
        return Restart(new.kind, new.namespace, new.name, old.pods, "restart", reasons)
    if old.generation != new.generation:
        why = "the graph's workers get a new generation, because another of them or something that all of them carry changes"
        return Restart(new.kind, new.namespace, new.name, old.pods, "restart", [why])
    if old.pods != new.pods:
        return Restart(new.kind, new.namespace, new.name, old.pods, "scale", [f"to {new.pods}, without a restart"])
    return None


def _controllers(children: Iterable[Fields]) -> Iterator[_Controller]:
    for one in children:
        templates = pod_templates(one)
        if not templates:
            continue
        metadata = one["metadata"]
        generation = (metadata.get("labels") or {}).get(WORKER_HASH, "")
        name = metadata["name"]
        if generation:
            templates = json.loads(json.dumps(templates).replace(generation, _GENERATION))
            name = name.replace(f"-{generation}", "")
        yield _Controller(one["kind"], metadata["namespace"], name, _pods(one), templates, generation)


def _pods(one: Fields) -> int:
    spec = one.get("spec") or {}
    if one["kind"] == "PodCliqueSet":
        return sum(int(clique["spec"].get("replicas") or 0) for clique in spec["template"]["cliques"])
    replicas = spec.get("replicas")
    return int(1 if replicas is None else replicas) * int((spec.get("leaderWorkerTemplate") or {}).get("size") or 1)


def _differences(old: Any, new: Any, path: str) -> Iterator[str]:
    """Where two templates differ. Values of variables are not shown: people put secrets there."""
    if isinstance(old, dict) and isinstance(new, dict):
        for name in sorted(old.keys() | new.keys()):
            yield from _differences(old.get(name), new.get(name), f"{path}.{name}" if path else name)
    elif _is_named(old) and _is_named(new):
        olds, news = ({one["name"]: one for one in list_} for list_ in (old, new))
        for name in sorted(olds.keys() | news.keys()):
            yield from _differences(olds.get(name), news.get(name), f"{path}[{name}]")
        if list(olds) != list(news) and olds.keys() == news.keys():
            yield f"{path}: another order"
    elif old != new:
        hidden = ".env[" in path or path.endswith(".env")
        said = "changes" if hidden else f"{_shown(old)} becomes {_shown(new)}"
        yield f"{path}: {'is new' if old is None else 'is gone' if new is None else said}"


def _is_named(value: Any) -> bool:
    return isinstance(value, list) and bool(value) and all(isinstance(one, dict) and isinstance(one.get("name"), str) for one in value)


def _shown(value: Any) -> str:
    return shortened(json.dumps(value, ensure_ascii=False), _LONGEST)
