"""The structural walk answers 2,500 creates as a real API server did that had the Go operator's CRDs.

The typed decoder refuses exactly the recorded requests that the Go operator could not decode.
"""

import copy
from collections.abc import Iterator
from functools import cache
from itertools import chain
from typing import Any, Final

import pytest

from dynamo_webhooks.api.decode import decoder
from dynamo_webhooks.api.kinds import BY_NAME, KINDS
from dynamo_webhooks.api.line import Line
from dynamo_webhooks.api.schema import Node, load_schema
from dynamo_webhooks.conversion.kinds import KINDS as CONVERTED
from tests.api.admit import admit
from tests.api.test_crd import own_fields
from tests.golden.corpus import cases, compare, without_conversion

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


# members of graphs, components, requests and adapters that no recorded object has
UNSEEN: Final = {
    "eppConfig.config.saturationDetector.kvCacheUtilThreshold",
    "eppConfig.config.saturationDetector.queueDepthThreshold",
    "experimental.checkpoint.identity.extraParameters",
    "resources.requests.gpuType",
    "status.conditions.[].observedGeneration",
}


def _said(value: Any, node: Node, path: str = "") -> Iterator[str]:
    """The paths of the members of ours that an object has, as `own_fields` has them."""
    members, inner = node.get("properties", {}), node.get("items", node.get("additionalProperties"))
    for name, below in value.items() if type(value) is dict else enumerate(value) if type(value) is list else ():
        if name in members:
            yield f"{path}{name}"
        down, step = (members[name], f"{name}.") if name in members else (inner, "[].")
        if isinstance(down, dict) and "$ref" not in down:
            yield from _said(below, down, path + step)


def test_the_models_have_the_members_that_recorded_objects_have_and_no_other() -> None:
    """One that isn't modelled would be dropped, and one of another type refused: both are answered otherwise than recorded."""
    schemas = {(kind, f"nvidia.com/{version}"): load_schema(kind, version, Line.V1_2) for kind, version in PAIRS if kind in CONVERTED}
    seen: dict[tuple[str, str], set[str]] = {own: set() for own in schemas}
    converted = (case for name in ("golden", "convert15") for case in cases(f"{name}.ndjson.gz", "convert"))
    for case in chain(_recorded(), converted):
        obj = case["expect"].get("object") or {}
        own = obj.get("kind"), obj.get("apiVersion")
        if own in schemas:
            seen[own].update(_said(obj, schemas[own]))
    unseen = {
        own: [path for path, _ in own_fields(schema) if path not in seen[own] and not path.endswith(tuple(UNSEEN))]
        for own, schema in schemas.items()
    }
    assert not any(unseen.values()), unseen
