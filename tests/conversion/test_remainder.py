"""The remainder's annotations: what is read, what counts as damage, what is written, byte for byte.

What this project saved of objects before it knew the fields of operator 1.5 comes home, too.
"""

import ast
import copy
import json
import subprocess
import sys
from typing import Any

import pytest

from dynamo_webhooks.api.line import Line
from dynamo_webhooks.conversion.difference import same_text
from dynamo_webhooks.conversion.kind import Kind, remainder_keys
from dynamo_webhooks.conversion.lens.struct import Struct
from dynamo_webhooks.conversion.objects import convert_object, target
from dynamo_webhooks.conversion.remainder import Remainder, encode, read_remainder, write
from tests.conversion.go_reader import read_spec

NOTHING = Struct()
KIND = Kind("DynamoComponentDeployment", *remainder_keys("dcd"), NOTHING, NOTHING)
SPEC, STATUS = "nvidia.com/dcd-spec", "nvidia.com/dcd-status"


def _spec(text: str, *, rightward: bool = False) -> tuple[Remainder, dict[str, str]]:
    return read_remainder(KIND, {SPEC: text}, rightward)


@pytest.mark.parametrize("annotations", [{}, {SPEC: "", STATUS: ""}, {"team": "kept"}])
def test_nothing_there_is_nothing_remembered_or_written(annotations: dict[str, str]) -> None:
    assert read_remainder(KIND, annotations, rightward=False) == (Remainder(), {})
    assert write(KIND, Remainder()) == {}


def test_usable_text(subtests: pytest.Subtests) -> None:
    """An envelope, or a bare payload as older operators wrote it; members of the other direction do no harm. The Go operator agrees."""
    rows: list[tuple[str, Any]] = [
        ('{"version":1,"spec":{"dynamoNamespace":"d"}}', {"dynamoNamespace": "d"}),
        ('{"spec":{"dynamoNamespace":"d"}}', {"dynamoNamespace": "d"}),
        ('{"version":7,"spec":{"dynamoNamespace":"d"}}', {"dynamoNamespace": "d"}),
        (' {"version":1,"spec":{"dynamoNamespace":"d"},"later":[1]}\n', {"dynamoNamespace": "d"}),
        ('{"dynamoNamespace":"d"}', {"dynamoNamespace": "d"}),
        ("null", {}),
        ("{}", {}),
        ('{"version":1,"spec":null}', {}),
        ('{"version":null,"spec":{"dynamoNamespace":"d"},"rawJSON":[null,{"path":"other","raw":"e30="}]}', {"dynamoNamespace": "d"}),
        ('{"version":"1","rawJSON":0,"dynamoNamespace":"d"}', {"version": "1", "rawJSON": 0, "dynamoNamespace": "d"}),
        ('{"version":1,"spec":{}}', {}),
        ('{"version":1,"spec":{"podTemplate":{"spec":{}}}}', {"podTemplate": {"spec": {}}}),
        ('{"version":1,"spec":{},"kept":[[["spec","x"],1]],"later":"x"}', {}),
        ('{"version":1,"spec":{},"rawJSON":[{"path":"serviceName","nil":true}]}', {"serviceName": None}),
        ('{"version":1,"spec":{"serviceName":"s"},"rawJSON":[{"path":"serviceName","nil":true}]}', {"serviceName": "s"}),
        ('{"Spec":{"replicas":"of a bare payload"}}', {"Spec": {"replicas": "of a bare payload"}}),
    ]
    for text, payload in rows:
        with subtests.test(text=text):
            remainder, damaged = _spec(text)
            assert read_spec(text, KIND.name, "v1alpha1").usable
            assert (remainder.spec, remainder.present, damaged) == (payload, True, {})


def test_damaged_text(subtests: pytest.Subtests) -> None:
    rows: list[str] = [
        "{oops",
        "3",
        "[]",
        '"text"',
        "true",
        '{"spec":{}} trailing',
        '{"spec":[1]}',
        '{"spec":"x"}',
        '{"spec":{"replicas":"two"}}',
        '{"spec":{"replicas":2147483648}}',
        '{"replicas":1.5}',
        '{"version":"1","spec":{"dynamoNamespace":"d"}}',
        '{"version":1.0,"spec":{"dynamoNamespace":"d"}}',
        '{"version":true,"spec":{"dynamoNamespace":"d"}}',
        '{"version":1,"spec":{"dynamoNamespace":"d"},"rawJSON":{}}',
        '{"version":1,"spec":{"dynamoNamespace":"d"},"rawJSON":["serviceName"]}',
        '{"version":1,"spec":{"dynamoNamespace":"d"},"rawJSON":[{"path":"serviceName","nil":"true"}]}',
    ]
    for text in rows:
        with subtests.test(text=text):
            assert _spec(text) == (Remainder(), {SPEC: text})
            assert not read_spec(text, KIND.name, "v1alpha1").usable


def test_a_payload_is_read_as_the_version_that_is_built() -> None:
    assert _spec('{"spec":{"podTemplate":3}}')[1] == {}
    assert _spec('{"spec":{"podTemplate":3}}', rightward=True)[1] == {SPEC: '{"spec":{"podTemplate":3}}'}


def test_the_status_is_bare() -> None:
    remainder, damaged = read_remainder(KIND, {STATUS: '{"conditions":null,"podSelector":{"a":"b"}}'}, rightward=False)
    assert (remainder.status, remainder.present, damaged) == ({"conditions": None, "podSelector": {"a": "b"}}, False, {})
    assert read_remainder(KIND, {STATUS: "{oops"}, rightward=False)[1] == {STATUS: "{oops"}


def test_the_record_of_an_absent_name() -> None:
    assert write(KIND, Remainder(spec={"serviceName": None})) == {
        SPEC: '{"rawJSON":[{"nil":true,"path":"serviceName"}],"spec":{},"version":1}'
    }


def test_kept_entries_of_another_shape_are_ignored(subtests: pytest.Subtests) -> None:
    """The rest of the text is as usable as before: the Go operator doesn't look at that member."""
    rows: list[Any] = ["x", 3, [1], [[]], [[["a"], 1, 2]], {"a": 1}]
    for kept in rows:
        with subtests.test(str(kept)):
            remainder, damaged = _spec(json.dumps({"version": 1, "spec": {"dynamoNamespace": "d"}, "kept": kept}))
            assert (remainder.spec, remainder.differences, damaged) == ({"dynamoNamespace": "d"}, [], {})


def test_a_mark_says_that_there_is_nothing_to_say() -> None:
    assert write(KIND, Remainder(present=True)) == {SPEC: '{"spec":{},"version":1}'}
    assert write(KIND, Remainder(present=True, both=True)) == {SPEC: '{"both":true,"spec":{},"version":1}'}
    assert _spec('{"both":true,"spec":{},"version":1}')[0] == Remainder(present=True, both=True)


def test_text_is_compact_sorted_and_exact() -> None:
    assert encode({"b": 9007199254740993, "a": {"d": 1.0, "c": "ü<&>"}}) == '{"a":{"c":"ü<&>","d":1.0},"b":9007199254740993}'
    assert encode({"a": 10**20}) == '{"a":100000000000000000000}'


_TEXTS = ["", "\u00fc<&>", '\x00\x1f\x7f\b\f\n\r\t"\\/', "\u2028\U0001f600", "\uffff"]
_VALUES: list[Any] = [
    None,
    True,
    0,
    -1,
    2**63 - 1,
    -(2**63),
    [],
    {},
    [[]],
    [0],
    [False],
    {"b": [{}], "a": None},
    {text: text for text in _TEXTS},
]
_WITHOUT = """
import sys
from dynamo_webhooks.conversion.difference import same_text
from dynamo_webhooks.conversion.remainder import encode

values = eval(sys.argv[1])
found = [encode(value) for value in values], [same_text(one, other) for one in values for other in values]
assert "orjson" not in sys.modules
assert encode([1e-7]) == "[1e-7]"
assert "orjson" in sys.modules
print(ascii(found))
"""


def test_text_is_the_same_with_and_without_the_fast_encoder() -> None:
    """Commands that start often do without it; what has fractions, which the two write otherwise, is left to it."""
    words = [sys.executable, "-c", _WITHOUT, ascii(_VALUES)]
    done = subprocess.run(words, capture_output=True, text=True, timeout=60, check=False)
    assert (done.returncode, done.stderr) == (0, "")
    answers = [encode(value) for value in _VALUES], [same_text(value, other) for value in _VALUES for other in _VALUES]
    assert ast.literal_eval(done.stdout) == answers
    assert sum(answers[1]) == len(_VALUES)


ALPHA, BETA = "nvidia.com/v1alpha1", "nvidia.com/v1beta1"
OVERRIDE = {"apiVersion": "x/v1", "value": {"k": "v"}}


def former(kept: list[Any], spec: dict[str, Any], names: list[str]) -> dict[str, Any]:
    """A graph as v1alpha1, in the form in which an earlier release wrote it."""
    text = json.dumps({"kept": kept, "spec": {"components": [{"name": name} for name in names]} if names else {}, "version": 1})
    metadata = {"name": "g", "namespace": "llm", "annotations": {"nvidia.com/dgd-spec": text}}
    return {"apiVersion": ALPHA, "kind": "DynamoGraphDeployment", "metadata": metadata, "spec": spec}


SAVED = [
    [["spec", "components", 1, "minAvailable"], 5],
    [["spec", "components", 0, "providerOverride"], OVERRIDE],
    [["spec", "components", 0, "experimental", "checkpoint", "enabled"], False],
    [["spec", "providerOverride"], OVERRIDE],
]
NOW = {"services": {"b": {"checkpoint": {"enabled": True, "checkpointRef": "c"}}, "a": {"replicas": 2}}}


def test_saved_values_come_home(subtests: pytest.Subtests) -> None:
    for line in Line:
        with subtests.test(line=line):
            made = convert_object(former(SAVED, NOW, ["b", "a"]), target(BETA, line)).object["spec"]
            b, a = made["components"]
            assert (b["name"], b["providerOverride"], b["experimental"]["checkpoint"]["checkpointRef"]) == ("b", OVERRIDE, "c")
            assert b["experimental"]["checkpoint"]["enabled"] is False
            assert (a["name"], a["minAvailable"], made["providerOverride"]) == ("a", 5, OVERRIDE)


def test_what_came_home_is_carried_by_lenses_from_then_on() -> None:
    beta = convert_object(former(SAVED, NOW, ["b", "a"]), target(BETA, Line.V1_5)).object
    alpha = convert_object(beta, target(ALPHA, Line.V1_5)).object
    assert alpha["spec"]["services"]["a"]["minAvailable"] == 5
    assert "minAvailable" not in str(alpha["metadata"])
    assert convert_object(alpha, target(BETA, Line.V1_5)).object["spec"] == beta["spec"]


def test_an_edit_of_the_live_object_wins() -> None:
    edited = copy.deepcopy(former(SAVED, NOW, ["b", "a"]))
    edited["spec"]["services"]["a"]["minAvailable"] = 1
    del edited["spec"]["services"]["b"]["checkpoint"]
    b, a = convert_object(edited, target(BETA, Line.V1_5)).object["spec"]["components"]
    assert a["minAvailable"] == 1
    assert "checkpoint" not in (b.get("experimental") or {})


def test_no_component_gets_the_value_of_one_that_is_gone() -> None:
    edited = copy.deepcopy(former(SAVED[:1], NOW, ["b", "a"]))
    edited["spec"]["services"] = {"b": {}, "z": {}}
    made = convert_object(edited, target(BETA, Line.V1_5)).object["spec"]["components"]
    assert [(component["name"], component.get("minAvailable")) for component in made] == [("b", None), ("z", None)]


def test_a_status_comes_home_too() -> None:
    kept = [[["status", "components", "a", "scheduledReplicas"], 2], [["status", "placement"], {"state": "Partial"}]]
    alpha = former(kept, NOW, ["b", "a"])
    alpha["status"] = {"services": {"a": {"replicas": 2}}, "state": "successful"}
    status = convert_object(alpha, target(BETA, Line.V1_5)).object["status"]
    assert (status["components"]["a"]["scheduledReplicas"], status["placement"]) == (2, {"state": "Partial"})


def test_a_saved_value_of_a_wrong_type_is_left_out(subtests: pytest.Subtests) -> None:
    rows: list[Any] = ["x", None, [], {"a": 1}, 2**40]
    for value in rows:
        with subtests.test(str(value)):
            made = convert_object(
                former([[["spec", "components", 1, "minAvailable"], value]], NOW, ["b", "a"]), target(BETA, Line.V1_5)
            ).object
            assert made["spec"]["components"][1].get("minAvailable") is None
