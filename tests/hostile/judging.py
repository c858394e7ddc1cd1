"""What must hold for the answer to any body at all: the review's own uid and a judgement, or an HTTP status below 500 that says why not."""

import base64
from typing import Any, Final

import jsonpatch
import orjson

from dynamo_webhooks.admission.pipeline import Settings
from dynamo_webhooks.admission.registration import Purpose
from dynamo_webhooks.api.deep import load
from dynamo_webhooks.conversion.bounds import TOO_LONG
from dynamo_webhooks.webhooks.admission import answer
from dynamo_webhooks.webhooks.routes import Route
from tests.hostile.mutants import Mutant
from tests.hostile.reviews import UID

MAX_SHOWN_BYTES: Final = 2_000  # of a body that a complaint shows; its seed makes the whole of it again
# a client's own error, each with a reason that the server means: not JSON or no review, too long
REFUSED: Final = frozenset({400, 413})


def judged(route: Route, mutant: Mutant, settings: Settings) -> str:
    """Answers a body in this process; what is wrong with the answer, or nothing."""
    reply = answer(route, mutant.body, settings)
    if reply.verdict.outcome == "fault":
        return f"the verdict is a fault: {reply.body[-400:]!r}"
    return complaint(route, mutant, reply.status, reply.body)


def complaint(route: Route, mutant: Mutant, status: int, body: bytes) -> str:
    """What is wrong with an answer to a body, or nothing."""
    try:
        reply = load(body)
    except orjson.JSONDecodeError:
        return f"the answer is no JSON: {body[:200]!r}"
    if status != 200:
        if mutant.whole:
            return f"the review has an envelope, and is answered by HTTP {status}: {body[:200]!r}"
        right = status in REFUSED and reply.get("kind") == "Status" and reply.get("code") == status and reply.get("message")
        return "" if right else f"HTTP {status}: {body[:200]!r}"
    request = _request(mutant)
    uid = UID if mutant.whole else (request or {}).get("uid") or ""
    response = reply.get("response")
    if request is None or type(response) is not dict or response.get("uid") != uid:
        return f"the response must have the uid {uid!r}: {body[:200]!r}"
    if b"internal error" in body or b"Traceback" in body:
        return f"an internal error: {body[-400:]!r}"
    return _converted(request, response) if route.purpose is Purpose.CONVERT else _admitted(route, request, response)


def _request(mutant: Mutant) -> dict[str, Any] | None:
    """The request in a body, read as the server reads it; None where there is none."""
    try:
        review = load(mutant.body)
    except orjson.JSONDecodeError:
        return None
    request = review.get("request") if type(review) is dict else None
    return request if type(request) is dict else None


def _converted(request: dict[str, Any], response: dict[str, Any]) -> str:
    result, objects = response["result"], response["convertedObjects"]
    if result["status"] == "Failure":
        fine = objects == [] and result["code"] in (400, 422) and result["message"]
        return "" if fine else f"a failure must be the client's: {result}"
    given = request.get("objects") or []
    if result["status"] != "Success" or len(given) != len(objects):
        return f"{len(given)} objects became {len(objects)}: {result}"
    for before, after in zip(given, objects, strict=True):
        if after.get("kind") != before["kind"] or after.get("apiVersion") != request["desiredAPIVersion"]:
            return f"an object became {after.get('kind')} {after.get('apiVersion')}"
        if _identity(before) != _identity(after):
            return f"the metadata {_identity(before)} became {_identity(after)}"
    return ""


def _identity(obj: dict[str, Any]) -> dict[str, Any]:
    """Metadata without annotations, of which conversion keeps its own: what an API server insists on."""
    metadata = obj.get("metadata")
    identity = {name: value for name, value in metadata.items() if name != "annotations"} if type(metadata) is dict else {}
    labels = identity.get("labels")
    if type(labels) is dict and TOO_LONG in labels:  # an object whose remainder doesn't fit says so
        rest = {key: value for key, value in labels.items() if key != TOO_LONG}
        identity = {name: value for name, value in identity.items() if name != "labels"} | ({"labels": rest} if rest else {})
    return identity


def _admitted(route: Route, request: dict[str, Any], response: dict[str, Any]) -> str:
    if response["allowed"] is not True:
        status = response["status"]
        fine = response["allowed"] is False and 400 <= status["code"] < 500 and status["message"] and "patch" not in response
        return "" if fine else f"a refusal must be the client's: {status}"
    if "patch" not in response:
        return ""
    if route.purpose is not Purpose.MUTATE or response.get("patchType") != "JSONPatch":
        return "a patch that nobody may send"
    operations = orjson.loads(base64.b64decode(response["patch"], validate=True))
    changed = jsonpatch.JsonPatch(operations).apply(request["object"])
    return "" if operations and changed != request["object"] else f"a patch that changes nothing: {operations}"
