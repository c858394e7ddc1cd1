"""The law for field managers on generated sequences: LAWS_OBJECTS of them (250; `make nightly` tries ten thousand).

The law sees each of three faults of conversion, planted beside the real one: where it fails with the fault, it holds without.
"""

import copy
from collections.abc import Callable
from functools import partial
from typing import Any, Final

import pytest

from dynamo_webhooks.api.kinds import ALPHA, BETA
from dynamo_webhooks.api.line import NEWEST, Line
from dynamo_webhooks.api.schema import Node, load_schema, resolve
from dynamo_webhooks.conversion.engine import convert
from dynamo_webhooks.conversion.kinds import kind_of
from tests.laws.conftest import OBJECTS, SEED
from tests.laws.dice import Dice, Draw, Replay, smallest
from tests.laws.managers.law import breaches
from tests.laws.managers.sequences import Object, Sequence, Step, draw_any, draw_sequence
from tests.laws.managers.server import Server
from tests.laws.managers.subjects import ADAPTER, COMPONENT, GRAPH, REQUEST

TRIED = (GRAPH, COMPONENT, REQUEST, ADAPTER)


def converted(obj: Object, version: str, line: Line = Line.V1_2) -> Object:
    """The object in a version, as a server of a line answers on /convert."""
    return convert(kind_of(obj["kind"], line), obj, version).object


def modelled(kind: str, line: Line = Line.V1_2) -> Server:
    """The model of an API server with the definitions of a line."""
    return Server(kind, partial(converted, line=line), line)


def draw_on(draw: Draw, kind: str, line: Line) -> Sequence:
    """A sequence whose manifests a line admits."""
    drawn = draw_any(draw, kind)
    if line < Line.V1_3:
        return drawn
    return drawn._replace(steps=tuple(step._replace(body=_with_switch(step)) for step in drawn.steps))


def _with_switch(step: Step) -> Object:
    """From 1.3 on a checkpoint in v1beta1 must say whether it is enabled, and a graph may not be created with a restart."""
    body = copy.deepcopy(step.body)
    spec: Object = body.get("spec") or {}
    spec.pop("restart", None)
    for holder in [spec, *spec.get("components", ())] if step.version == BETA else []:
        checkpoint = (holder.get("experimental") or {}).get("checkpoint")
        if checkpoint is not None:
            checkpoint["enabled"] = True
    return body


def search(kind: str, line: Line, seed: int, numbers: range) -> str:
    """The first of some sequences that breaks the law, made small; nothing when none does."""
    made = partial(modelled, line=line)
    for number in numbers:
        dice = Dice(seed, "managers", kind, number)
        if breaches(draw_on(dice, kind, line), made):
            thrown = smallest(dice.thrown, lambda throws: bool(breaches(draw_on(Replay(throws), kind, line), made)))
            sequence = draw_on(Replay(thrown), kind, line)
            return f"LAWS_SEED={seed}, line {line}, {kind} number {number}: {breaches(sequence, made)}\n{sequence}"
    return ""


@pytest.mark.parametrize("kind", TRIED)
@pytest.mark.parametrize("line", [Line.V1_2, NEWEST])
def test_nobody_loses_anything(kind: str, line: Line) -> None:
    """Every sequence of writes of a kind keeps the law."""
    complaint = search(kind, line, SEED, range(OBJECTS // len(TRIED)))
    assert not complaint, complaint


SEQUENCES: Final = 300  # among so many, one has to see the fault; each does within twenty


def an_empty_block(obj: Object, version: str) -> Object:
    """Blocks that say nothing but that they are there, which switches something on, are left out."""
    result = copy.deepcopy(converted(obj, version))
    for component in _components(result):
        for holder in (component, component.get("experimental") or {}):
            for name in ("scalingAdapter", "gpuMemoryService", "failover", "checkpoint"):
                if holder.get(name) in ({}, {"enabled": True}):
                    del holder[name]
    return result


def a_path_that_depends_on_the_remainder(obj: Object, version: str) -> Object:
    """In v1alpha1 the number of replicas stands elsewhere when the object came with a remainder."""
    result = copy.deepcopy(converted(obj, version))
    remembers = any(key.startswith("nvidia.com/dgd-") for key in obj["metadata"].get("annotations") or {})
    for component in _components(result):
        if version == ALPHA and remembers and "replicas" in component:
            component["autoscaling"] = {"minReplicas": component.pop("replicas")}
    return result


def a_default_that_is_dropped(obj: Object, version: str) -> Object:
    """What is as the schema has it by default isn't written, though the other version was told to say it."""
    result = copy.deepcopy(converted(obj, version))
    _drop(result, load_schema(result["kind"], version, Line.V1_2))
    return result


def _drop(value: Any, node: Node) -> None:
    node = resolve(node)
    for name, below in list(value.items()) if type(value) is dict else []:
        member = node.get("properties", {}).get(name, node.get("additionalProperties"))
        if type(member) is dict and below == resolve(member).get("default", _drop):
            del value[name]
        elif type(member) is dict:
            _drop(below, member)
    for item in value if type(value) is list and "items" in node else []:
        _drop(item, node["items"])


def _components(obj: Object) -> list[Object]:
    spec = obj.get("spec") or {}
    services = spec.get("services") or {}
    return [component for component in (*services.values(), *(spec.get("components") or ())) if component]


FAULTS: Final[tuple[Callable[[Object, str], Object], ...]] = (
    an_empty_block,
    a_path_that_depends_on_the_remainder,
    a_default_that_is_dropped,
)


@pytest.mark.parametrize("fault", FAULTS, ids=lambda fault: fault.__name__)
def test_the_law_sees_the_fault(fault: Callable[[Object, str], Object]) -> None:
    """One of some hundred sequences breaks the law with the fault, and keeps it without."""
    for number in range(SEQUENCES):
        sequence = draw_sequence(Dice("faults", number), GRAPH)
        if breaches(sequence, partial(Server, convert=fault)) and not breaches(sequence, modelled):
            return
    pytest.fail(f"none of {SEQUENCES} sequences sees {fault.__name__}")
