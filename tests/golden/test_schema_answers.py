"""The structural walk answers 2,500 creates as a real API server did that had the Go operator's CRDs.

The typed decoder refuses exactly the recorded requests that the Go operator could not decode.
"""

import copy
from collections.abc import Iterator
from functools import cache
from typing import Any

import pytest

from dynamo_webhooks.api.decode import decoder
from dynamo_webhooks.api.kinds import BY_NAME, KINDS
from dynamo_webhooks.api.walk.admit import admit
from tests.golden.corpus import cases, compare, without_conversion

pytestmark = pytest.mark.golden

# Every kind and version that the recorded cases are of; DynamoWorkerMetadata has none.
PAIRS = [(kind.name, version.name) for kind in BY_NAME.values() if kind.alias != "DWM" for version in kind.versions]


@cache
def _recorded() -> list[dict[str, Any]]:
    return list(cases("schema.ndjson.gz", "schema"))


def _of(kind: str, version: str) -> Iterator[dict[str, Any]]:
    wanted = (kind, f"nvidia.com/{version}")
    return (case for case in _recorded() if (case["object"]["kind"], case["object"]["apiVersion"]) == wanted)


def _difference(case: dict[str, Any], kind: str, version: str) -> list[str]:
    """Says how our answer differs from the recorded one; nothing when it doesn't."""
    expect = case["expect"]
    answer = admit(copy.deepcopy(case["object"]), kind, version)
    if (not answer.errors) != expect["accepted"]:
        return [f"accepted: {not answer.errors}, {[error.field for error in answer.errors]}"]
    if not expect["accepted"]:
        got, want = {(error.field, error.reason.value) for error in answer.errors}, {tuple(cause) for cause in expect["causes"]}
        return [f"causes: extra {sorted(got - want)}, missing {sorted(want - got)}"] if got != want else []
    ours, theirs = answer.object, expect["object"]
    if BY_NAME[kind].storage_version != version:
        ours, theirs = without_conversion(ours), without_conversion(theirs)
    return list(compare().diff(ours, theirs))


@pytest.mark.parametrize(("kind", "version"), PAIRS)
def test_the_walk_answers_as_the_recorded_server(kind: str, version: str) -> None:
    """Accept or refuse, the pruned and defaulted object, and the set of causes agree in every case."""
    differences = {case["id"]: wrong for case in _of(kind, version) if (wrong := _difference(case, kind, version))}
    assert differences == {}


def test_every_recorded_case_is_compared() -> None:
    """No case falls between the parameters of the test above, and both answers occur."""
    compared = [case for pair in PAIRS for case in _of(*pair)]
    assert len(compared) == len(_recorded()) == 2500
    assert {case["expect"]["accepted"] for case in compared} == {True, False}


_KINDS = {kind.name.lower(): kind.name for kind in KINDS}


def _decoded(case: dict[str, Any]) -> list[object]:
    """The objects that the endpoint decodes; a mutating one never looks at the old object."""
    request, mutates = case["request"], "/mutate-" in case["path"]
    old = [] if mutates else [request.get("oldObject")]
    return {"CREATE": [request.get("object")], "UPDATE": [request.get("object"), *old], "DELETE": old}[request["operation"]]


def test_the_decoder_refuses_what_the_recorded_operator_could_not_decode() -> None:
    """An error for each case of code 400, none for any other."""
    wrong, undecodable, total = [], 0, 0
    for case in cases("golden.ndjson.gz", "admit"):
        _, _, _, version, kind = case["path"].split("-")
        errors = [error for obj in _decoded(case) for error in decoder(_KINDS[kind], version)(obj)]
        expected = case["expect"]["code"] == 400
        total += 1
        undecodable += expected
        if bool(errors) is not expected:
            wrong.append((case["id"], case["context"], [error.field for error in errors]))
    assert wrong == []
    assert undecodable > 100
    assert total == 9000
