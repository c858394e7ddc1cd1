"""`default` asks the same engine as the server: for every recorded request the patch is the server's, byte for byte."""

import base64
import json
from functools import cache
from typing import Any

import orjson
import pytest
import yaml

from dynamo_webhooks.admission.judging import Defaulted, compute_defaults
from dynamo_webhooks.admission.pipeline import Settings
from dynamo_webhooks.api.decode import decoder
from dynamo_webhooks.cli.commands.default.run import name_edits, with_patch
from dynamo_webhooks.conversion.lens.protocol import ConversionError
from dynamo_webhooks.policies.facts import Facts, facts_from
from dynamo_webhooks.policies.review import Review
from dynamo_webhooks.webhooks.admission import answer
from dynamo_webhooks.webhooks.routes import ROUTES
from tests.golden.corpus import cases, corpus_file

pytestmark = pytest.mark.golden


@cache
def _facts(context: str) -> Facts:
    return facts_from(yaml.safe_load(corpus_file(f"context-{context}.yaml").read_text()))


def _served(case: dict[str, Any]) -> bytes | None:
    """The patch that the server answers; None where the request can't be judged."""
    body = {"apiVersion": "admission.k8s.io/v1", "kind": "AdmissionReview", "request": {"uid": "u", **case["request"]}}
    answered = answer(ROUTES[case["path"]], orjson.dumps(body), Settings(_facts(case["context"])))
    response = orjson.loads(answered.body)["response"]
    return base64.b64decode(response.get("patch", "W10=")) if response["allowed"] else None


def _done(case: dict[str, Any]) -> Defaulted | None:
    request, route = case["request"], ROUTES[case["path"]]
    obj, old = request.get("object"), request.get("oldObject")
    if not isinstance(obj, dict) or decoder(route.kind, route.version)(obj):
        return None
    if old is not None and (request["operation"] != "UPDATE" or decoder(route.kind, route.version)(old)):
        return None
    user = (request.get("userInfo") or {}).get("username", "")
    try:
        return compute_defaults(Review(route.text, request["operation"], obj, old, user=user, facts=_facts(case["context"])))
    except ConversionError:
        return None


def test_the_patch_is_the_servers_and_the_named_edits_are_what_it_does() -> None:
    """Each edit names a field that has its value afterwards, and what is applied to the text's object is the server's patch."""
    wrong, patched, seen = [], 0, 0
    for case in cases("golden.ndjson.gz", "admit"):
        if "/mutate" not in case["path"] or case["request"]["operation"] == "DELETE":
            continue
        done = _done(case)
        if done is None:
            continue
        mine = json.dumps(done.patch(), ensure_ascii=False, separators=(",", ":")).encode()
        patched += mine != b"[]"
        if mine != _served(case):
            wrong.append((case["id"], mine))
        edits = name_edits(done)
        result: Any = with_patch(done.review.object, done, done.patch())
        for edit in edits:
            value = result
            for step in edit.path:
                value = value[step]
            assert value == edit.after, (case["id"], edit)
            assert edit.before in (None, ""), (case["id"], edit)
        assert len(edits) >= len(done.edits)
        seen += len(edits)
    assert not wrong, wrong[:5]
    assert (patched > 100, seen > 100) == (True, True)
