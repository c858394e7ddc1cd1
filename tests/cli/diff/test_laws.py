"""Laws of `diff` and `default` for objects made from the schemas, each the same in every run."""

import copy
from typing import Any

import pytest

from dynamo_webhooks.api.line import Line
from dynamo_webhooks.api.paths import lookup
from dynamo_webhooks.cli.commands.default.run import DefaultsRequest as Filling
from dynamo_webhooks.cli.commands.default.run import default_object
from dynamo_webhooks.cli.commands.diff.compare import CHANGED
from dynamo_webhooks.cli.commands.diff.run import EQUAL, FAILED, DiffRequest, ObjectComparison, ObjectPair, compare_pair
from dynamo_webhooks.cli.objects.forms import SimulatedServer
from dynamo_webhooks.cli.objects.manifest import Identity, Manifest
from dynamo_webhooks.cli.yaml.load import Document, Source
from dynamo_webhooks.cli.yaml.positions import Point, Span, SpanTree
from dynamo_webhooks.conversion.kind import LEFT, RIGHT
from dynamo_webhooks.conversion.lens.protocol import ConversionError
from dynamo_webhooks.conversion.objects import convert_object, target
from dynamo_webhooks.policies.facts import Facts
from tests.cli.sizes import by_day_and_night
from tests.laws.dice import Dice
from tests.laws.strategies import PAIRS, edit, make_object, wild
from tests.rows import run_each

REQUEST = "DynamoGraphDeploymentRequest"
OBJECTS = by_day_and_night("objects", 12, 40)  # of each kind and version
FACTS = Facts(operatorVersion="1.2.0", operatorScope="cluster")


def _found(obj: dict[str, Any]) -> Manifest:
    document = Document(copy.deepcopy(obj), Source("x", ""), SpanTree(Span(Point(0, 0), Point(0, 0))), 0)
    return Manifest(document, Identity(obj["kind"], "", "x"), obj["apiVersion"].rpartition("/")[2], known=True)


def _compared(old: dict[str, Any], new: dict[str, Any], to: str = "") -> ObjectComparison:
    old_found, new_found = _found(old), _found(new)
    return compare_pair(ObjectPair(new_found.identity, old_found, new_found), DiffRequest(SimulatedServer(FACTS), to))


def _objects(kind: str, version: str, objects: int) -> list[tuple[dict[str, Any], Dice]]:
    return [(make_object(dice, kind, version), dice) for dice in (Dice("diff", kind, version, number) for number in range(objects))]


def _away(obj: dict[str, Any]) -> dict[str, Any]:
    version = RIGHT if obj["apiVersion"].endswith(LEFT) else LEFT
    converted: dict[str, Any] = convert_object(obj, target(f"nvidia.com/{version}", line=Line.V1_2)).object
    return converted


@OBJECTS
@run_each(("kind", "version"), PAIRS)
def test_an_object_equals_itself_and_its_conversion(kind: str, version: str, objects: int) -> None:
    seen = 0
    for obj, _ in _objects(kind, version, objects):
        assert _compared(obj, obj).what in (EQUAL, FAILED)
        if kind == REQUEST and ("uid" in obj["metadata"] or not (obj.get("spec") or {}).get("model")):
            continue  # a part of a stored object is converted without the defaults, which differ between the versions
        try:
            away = _away(obj)
        except ConversionError:
            continue
        for old, new in ((obj, away), (away, obj)):
            for to in (LEFT, RIGHT):
                result = _compared(old, new, to)
                assert result.what in (EQUAL, FAILED), (result.differences, obj)
                seen += result.what == EQUAL
    assert seen > objects


@OBJECTS
@run_each(("kind", "version"), PAIRS)
def test_no_change_is_lost_in_the_other_version(kind: str, version: str, objects: int) -> None:
    seen = 0
    for obj, dice in _objects(kind, version, objects):
        new = edit(dice, obj)
        results = [_compared(obj, new, to) for to in (LEFT, RIGHT)]
        if FAILED not in (result.what for result in results):
            assert len({result.what for result in results}) == 1, ([result.differences for result in results], obj, new)
            seen += results[0].what == CHANGED
    assert seen > objects // 8


@OBJECTS
@run_each(("kind", "version"), PAIRS)
def test_what_is_filled_in_is_filled_in_once(kind: str, version: str, objects: int) -> None:
    for obj, _ in _objects(kind, version, objects):
        first = default_object(_found(obj), Filling(SimulatedServer(FACTS)))
        if not first.failure:
            assert [
                edit.path for edit in first.edits if lookup(first.object, edit.path) != edit.after or edit.before not in (None, "")
            ] == []
            again = default_object(_found(first.object), Filling(SimulatedServer(FACTS)))
            assert (again.edits, again.patch, again.object) == ([], [], first.object)
            assert _compared(obj, first.object).what == EQUAL


@pytest.mark.slow("compares hundreds of generated objects in both versions")
@OBJECTS
@run_each(("kind", "version"), PAIRS)
def test_any_object_ends_in_a_result(kind: str, version: str, objects: int) -> None:
    """Values of wrong types, nulls, members nobody knows and hostile annotations fail one object with a sentence, and raise nothing."""
    for number in range(objects // 2):
        dice = Dice("wild", kind, version, number)
        old, new = (make_object(dice, kind, version, odd=True, hostile=True) for _ in range(2))
        wilder = wild(dice, copy.deepcopy(new))
        wilder |= {"apiVersion": new["apiVersion"], "kind": kind}
        for obj, other in ((old, new), (new, wilder), (wilder, old)):
            for to in ("", LEFT, RIGHT):
                assert _compared(obj, other, to).what in (CHANGED, EQUAL, FAILED)
        for obj in (old, new, wilder):
            done = default_object(_found(obj), Filling(SimulatedServer(FACTS)))
            assert done.failure or done.object["kind"] == kind
