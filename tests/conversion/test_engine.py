"""The engine on a small kind of its own: what is remembered never changes what is live, and whatever would not come back is kept."""

import json
from typing import Any

import pytest

from dynamo_webhooks.conversion.engine import MAX_TRIED_FACTOR, convert
from dynamo_webhooks.conversion.kind import LEFT, RIGHT, Kind, remainder_keys
from dynamo_webhooks.conversion.lens.protocol import Fields
from dynamo_webhooks.conversion.lens.simple import OneSided, Rename, View, same
from dynamo_webhooks.conversion.lens.struct import Struct
from tests.conversion.worked_examples import edited as edit
from tests.laws.laws import different, said

Object = dict[str, Any]
# The kind's name lends it a schema to decode by; the lenses are this test's.
NAME = "DynamoGraphDeploymentScalingAdapter"


def _to(group: Fields) -> Fields:
    return {"selector": group["selector"].lower()} if type(group.get("selector")) is str else {}


def _back(group: Fields) -> Fields:
    return {"selector": group["selector"].upper()} if type(group.get("selector")) is str else {}


REFERENCE = Struct(*same("name"), Rename("serviceName", "componentName"))
KIND = Kind(
    NAME,
    *remainder_keys("test"),
    Struct(*same("replicas"), *same("dgdRef", via=REFERENCE), OneSided(left=("leftish",)), OneSided(right=("rightish",), save_if=bool)),
    Struct(
        *same("replicas", "lastScaleTime"), View(("selector",), ("selector",), _to, _back, "upper case on the left, lower on the right")
    ),
)


def _left(**members: Any) -> Object:
    return {"apiVersion": f"nvidia.com/{LEFT}", "kind": NAME, "metadata": {"name": "x"}, **members}


def _right(**members: Any) -> Object:
    return {**_left(**members), "apiVersion": f"nvidia.com/{RIGHT}"}


def _away(obj: Object) -> Object:
    return convert(KIND, obj, RIGHT if obj["apiVersion"].endswith(LEFT) else LEFT).object


def _remembering(obj: Object, spec: Object) -> Object:
    """The object with a remainder in the form of the Go operator."""
    return {**obj, "metadata": {"name": "x", "annotations": {"nvidia.com/test-spec": json.dumps({"version": 1, "spec": spec})}}}


@pytest.mark.parametrize("remainder", [{}, {"leftish": None}, {"replicas": 3}, {"unknown": 1}])
def test_no_part_is_made_of_a_remainder_that_says_nothing(remainder: Object) -> None:
    assert said(_away(_remembering(_right(), remainder))) == {}


def test_an_edit_of_what_a_remainder_alone_said_wins() -> None:
    there = _away(_remembering(_right(), {"leftish": 1}))
    assert said(_away({**there, "spec": {"replicas": 2}})) == {"spec": {"replicas": 2}}
    assert said(_away({**there, "spec": {}})) == {"spec": {}}


def test_objects_that_no_schema_admits_come_home() -> None:
    rows: list[Object] = [
        _left(metadata={}),
        _left(metadata={"annotations": {}}, spec={"leftish": 1}),
        _left(metadata={"annotations": None}, spec={"leftish": 1}),
        _left(spec=None, status=None),
        _left(spec={"replicas": "three", "unknown": 1}),  # which typed readers refuse
        _left(spec={"dgdRef": "no object"}, status=[1]),
        _left(spec="text"),
        _left(status={"replicas": 1}, extra={"at": "the root"}),
    ]
    assert [(obj, difference) for obj in rows if (difference := different(_away(_away(obj)), obj)) != ""] == []


def test_metadata_is_always_there() -> None:
    obj = _left()
    del obj["metadata"]
    assert _away(obj)["metadata"] == {}


def test_kept_entries_that_would_change_what_is_live_stay_silent() -> None:
    """Whoever writes an annotation by hand can't change what the object says, nor its name, nor its kind."""
    evil = [
        [["spec", "replicas"], 7],
        [["spec", "unknown"], 1],
        [["status", "selector"]],
        [["metadata", "name"], "evil"],
        [["kind"], "Evil"],
        [["metadata", "labels"], {"a": "b"}],
        [["spec", "replicas", "deeper"], 1],
    ]
    stash = json.dumps({"version": 1, "spec": {}, "kept": evil})
    obj = _right(metadata={"name": "x", "annotations": {"nvidia.com/test-spec": stash}}, spec={"replicas": 1}, status={"selector": "s"})
    assert _away(obj) == _left(spec={"replicas": 1, "unknown": 1}, status={"selector": "S"})


def test_one_silent_entry_does_not_silence_the_others() -> None:
    converted = _away(_left(spec={"replicas": None, "a": 1, "b": 2}, status={"selector": "Mixed", "c": 3}))
    changed = edit(converted, [["set", ["spec", "replicas"], 5]])
    assert _away(changed)["spec"] == {"replicas": 5, "a": 1, "b": 2}
    assert _away(changed)["status"] == {"selector": "Mixed", "c": 3}


def test_trials_are_bounded() -> None:
    """However many entries somebody writes, only so many of their bytes are tried, each time by at most two conversions."""
    calls = 0

    def count(source: Fields, parts: Fields, rightward: bool) -> None:
        nonlocal calls
        calls += 1

    evil = [[["spec", "replicas"], number] for number in range(5000)]
    stash = json.dumps({"version": 1, "spec": {}, "kept": evil})
    obj = _right(metadata={"annotations": {"nvidia.com/test-spec": stash}}, spec={"replicas": -1})
    converted = convert(KIND._replace(complete=count), obj, LEFT).object
    assert converted["spec"] == {"replicas": -1}
    assert calls <= 2 * MAX_TRIED_FACTOR + 4


def test_what_is_saved_elsewhere_survives_edits_of_many_fields() -> None:
    """Few trials suffice: what an edit makes outdated is told by where it would change something."""
    spec: Object = {"replicas": 1, "dgdRef": {"name": "n", "serviceName": "s", **{f"r{index}": index for index in range(50)}}}
    converted = _away(_left(spec={**spec, "replicas": None, **{f"s{index}": index for index in range(50)}}, status={"selector": "Mixed"}))
    back = _away(edit(converted, [["set", ["spec", "replicas"], 5], ["set", ["status", "selector"], "other"]]))
    assert back["spec"] == {**spec, "replicas": 5, **{f"s{index}": index for index in range(50)}}
    assert back["status"] == {"selector": "OTHER"}


def test_numbers_that_the_fast_encoder_refuses_are_kept() -> None:
    obj = _left(spec={"leftish": 10**30})
    assert "1000000000000000000000000000000" in _away(obj)["metadata"]["annotations"]["nvidia.com/test-spec"]


def test_kept_entries_of_the_wrong_type_stay_silent() -> None:
    """Typed clients must be able to read what was restored."""
    kept = [[["spec", "dgdRef"], {"name": 3}], [["spec", "unknown"], 1]]
    stash = json.dumps({"version": 1, "spec": {}, "kept": kept})
    obj = _right(metadata={"annotations": {"nvidia.com/test-spec": stash}}, spec={"replicas": 1})
    assert convert(KIND._replace(spec=Struct(*same("replicas"))), obj, LEFT).object["spec"] == {"replicas": 1, "unknown": 1}
