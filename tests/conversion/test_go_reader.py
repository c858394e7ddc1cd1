"""Whatever we write under the shared keys, the Go operator can use, and it sees the same payload in it that we do."""

import json
from typing import Any

import pytest

from dynamo_webhooks.conversion.kinds import KINDS
from dynamo_webhooks.conversion.remainder import read_remainder
from dynamo_webhooks.conversion.request_profiling import BY_LINE
from tests.conversion.go_reader import UnusableError, read_spec, read_status
from tests.conversion.worked_examples import load_examples
from tests.golden.corpus import cases, compare
from tests.laws.conftest import OBJECTS, SEED
from tests.laws.dice import Dice
from tests.laws.laws import away, reserved, version_of
from tests.laws.strategies import PAIRS, make_object

Object = dict[str, Any]
DCD = "DynamoComponentDeployment"


def faults(obj: Object) -> list[str]:
    """What the Go reader would stumble over on an object that we converted, or would see otherwise than we do."""
    kind, theirs = KINDS[obj["kind"]], compare()
    annotations = reserved(obj)
    built = "v1beta1" if version_of(obj) == "v1alpha1" else "v1alpha1"
    damaged = read_remainder(kind, annotations, built == "v1beta1")[1]
    wrong = [f"we can't use {key}" for key in damaged]
    if text := annotations.get(kind.spec_key):
        seen = read_spec(text, kind.name, built)
        ours = {name: value for name, value in json.loads(text)["spec"].items() if value is not None and name != BY_LINE}
        wrong += [] if seen.usable else [f"{kind.spec_key} is not usable: {text[:300]}"]
        wrong += [] if seen.nameless is ("rawJSON" in json.loads(text)) else ["the record of an absent name is not seen"]
        wrong += [f"payload {text}" for text in theirs.diff(theirs.normalise(seen.payload), theirs.normalise(ours))]
        wrong += [] if json.loads(text)["version"] == 1 else ["another version"]
    if text := annotations.get(kind.status_key):
        try:
            status = read_status(text, kind.name, built)
            wrong += [f"status {text}" for text in theirs.diff(theirs.normalise(status), theirs.normalise(json.loads(text)))]
        except UnusableError as error:
            wrong.append(f"{kind.status_key}: {error}")
    wrong += [f"{key} is no string" for key, text in annotations.items() if type(text) is not str]
    return wrong


def test_what_we_write_is_usable(subtests: pytest.Subtests) -> None:
    for kind, version in PAIRS:
        with subtests.test(f"{kind}-{version}"):
            for number in range(min(OBJECTS, 200)):
                obj = make_object(Dice(SEED, "reader", kind, version, number), kind, version)
                assert faults(away(obj)) == [], obj


def test_what_the_go_operator_wrote_is_usable() -> None:
    """The model against the recorded answers: it can use every annotation that the operator wrote, and so do we."""
    seen = 0
    for case in cases("golden.ndjson.gz", "convert"):
        obj = case["expect"].get("object")
        if obj and reserved(obj):
            seen += 1
            assert faults(obj) == [], case["id"]
    assert seen > 1000


def test_the_written_examples_are_usable() -> None:
    written = [
        (example["kind"], step["convert"], step["gives"]["annotations"])
        for example in load_examples()
        for step in example["steps"]
        if "convert" in step and type(step["gives"]) is dict and "annotations" in step["gives"]
    ]
    assert len(written) > 50
    for kind, version, texts in written:
        obj = {"apiVersion": f"nvidia.com/{version}", "kind": kind, "metadata": {"annotations": texts}}
        assert faults(obj) == []


def test_what_the_reader_sees() -> None:
    seen = read_spec('{"spec":{"DynamoNamespace":"d","annotations":{"a":"b"},"unknown":1}}', DCD, "v1alpha1")
    assert seen.payload == {"dynamoNamespace": "d", "annotations": {"a": "b"}}
    assert read_spec('{"version":1,"spec":{},"rawJSON":[{"path":"serviceName","nil":true}]}', DCD, "v1alpha1").nameless
    assert read_status('{"conditions":null,"podSelector":{"app":"x"}}', DCD, "v1alpha1") == {"podSelector": {"app": "x"}}
    with pytest.raises(UnusableError):
        read_status("{oops", DCD, "v1alpha1")
