"""The typed decoder refuses exactly the recorded requests that the Go operator could not decode."""

from typing import Any

import pytest

from dynamo_webhooks.api.decode import decoder
from dynamo_webhooks.api.kinds import KINDS
from tests.golden.corpus import cases

pytestmark = pytest.mark.golden

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
