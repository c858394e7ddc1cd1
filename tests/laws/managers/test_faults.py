"""The law sees each of three faults of conversion, planted beside the real one: where it fails with the fault, it holds without."""

import copy
from collections.abc import Callable
from functools import partial
from typing import Any, Final

import pytest

from dynamo_webhooks.api.kinds import ALPHA
from dynamo_webhooks.api.schema import Node, load_schema, resolve
from tests.laws.dice import Dice
from tests.laws.managers.apply import Object
from tests.laws.managers.law import breaches
from tests.laws.managers.sequences import draw_sequence
from tests.laws.managers.server import Server
from tests.laws.managers.subjects import GRAPH
from tests.laws.managers.test_managers import converted, modelled

SEQUENCES: Final = 300  # among so many, one has to see the fault; each does within twenty


def an_empty_block(obj: Object, version: str) -> Object:
    """Blocks that say nothing but that they are there, which switches something on, are left out."""
    found = copy.deepcopy(converted(obj, version))
    for component in _components(found):
        for holder in (component, component.get("experimental") or {}):
            for name in ("scalingAdapter", "gpuMemoryService", "failover", "checkpoint"):
                if holder.get(name) in ({}, {"enabled": True}):
                    del holder[name]
    return found


def a_path_that_depends_on_the_remainder(obj: Object, version: str) -> Object:
    """In v1alpha1 the number of replicas stands elsewhere when the object came with a remainder."""
    found = copy.deepcopy(converted(obj, version))
    remembers = any(key.startswith("nvidia.com/dgd-") for key in obj["metadata"].get("annotations") or {})
    for component in _components(found):
        if version == ALPHA and remembers and "replicas" in component:
            component["autoscaling"] = {"minReplicas": component.pop("replicas")}
    return found


def a_default_that_is_dropped(obj: Object, version: str) -> Object:
    """What is as the schema has it by default isn't written, though the other version was told to say it."""
    found = copy.deepcopy(converted(obj, version))
    _drop(found, load_schema(found["kind"], version))
    return found


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
    return [one for one in (*services.values(), *(spec.get("components") or ())) if one]


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
