"""Reading an AdmissionReview and writing its response: bytes in, bytes out. What the answer is, admission.py decides."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any, Final, NamedTuple

import orjson

from dynamo_webhooks.api.wording import article, shortened
from dynamo_webhooks.webhooks.budget import MEMORY
from dynamo_webhooks.webhooks.limits import Bound, Limits

if TYPE_CHECKING:
    from dynamo_webhooks.webhooks.conversion_statistics import ConversionStatistics

# The JSON decoder refuses what is nested deeper than 1,024 levels; rules that walk free-form parts must be able to follow it to there.
DEEPEST: Final = 1_024
sys.setrecursionlimit(max(sys.getrecursionlimit(), 8 * DEEPEST))

REVIEW_VERSIONS: Final = ("admission.k8s.io/v1", "admission.k8s.io/v1beta1")
OPERATIONS: Final = frozenset({"CREATE", "UPDATE", "DELETE", "CONNECT"})
_SMALL: Final = Limits().small_body  # bytes of a body that no bound of memory is set for
NAME_LENGTH: Final = 253  # the longest name that Kubernetes knows; names are cut there in logs
MESSAGE_LENGTH: Final = 2_000
_REASONS: Final = {
    400: "BadRequest",
    403: "Forbidden",
    404: "NotFound",
    405: "MethodNotAllowed",
    408: "Timeout",
    413: "RequestEntityTooLarge",
}
_REASONS_MORE: Final = {
    415: "UnsupportedMediaType",
    429: "TooManyRequests",
    500: "InternalError",
    501: "NotImplemented",
    503: "ServiceUnavailable",
}
REASONS: Final = _REASONS | _REASONS_MORE

_START: Final = {
    version: b'{"apiVersion":"' + version.encode() + b'","kind":"AdmissionReview","response":{"uid":' for version in REVIEW_VERSIONS
}
_ALLOWED: Final = b',"allowed":true,"status":{"code":200}'
_REFUSED: Final = b',"allowed":false,"status":'
_WARNINGS: Final = b',"warnings":'
_PATCH: Final = b',"patchType":"JSONPatch","patch":"'
_END: Final = b"}}"


class Verdict(NamedTuple):
    """What logs and metrics may know of an answer: names, codes and rule names, never a value of the object."""

    outcome: str  # allowed, denied, converted, refused (undecodable and the like), fault, rejected (no review could be answered)
    code: int  # of the review's status, or of HTTP where no review could be answered
    uid: str = ""
    operation: str = ""
    namespace: str = ""
    name: str = ""
    rules: tuple[str, ...] = ()
    skipped: str = ""  # why no rule ran: deleting, excluded, schema (a bound of it)
    patched: int = 0  # operations in the patch
    tally: ConversionStatistics | None = None  # of a conversion's objects
    bound: str = ""  # the bound of limits.py that was met


class Answer(NamedTuple):
    """An HTTP answer: its status, its JSON body, and the verdict for log and metrics."""

    status: int
    body: bytes
    verdict: Verdict


class Call(NamedTuple):
    """The fields of a review's request that matter."""

    version: str  # apiVersion of the review, echoed
    uid: str
    operation: str
    object: Any
    old: Any
    user: str
    request: dict[str, Any]


class RejectedError(ValueError):
    """A body that no review can answer; `status` is the HTTP status, the text one sentence for people."""

    def __init__(self, status: int, sentence: str, bound: str = "") -> None:
        """Keeps them; the sentence never quotes the body. `bound`: the one of limits.py that was met."""
        super().__init__(sentence)
        self.status = status
        self.sentence = sentence
        self.bound = bound


def rejection(status: int, sentence: str, bound: str = "") -> Answer:
    """Answers by HTTP status and a `metav1.Status`, where no review can be answered."""
    body = {"apiVersion": "v1", "kind": "Status", "status": "Failure", "message": sentence, "reason": REASONS[status], "code": status}
    return Answer(status, orjson.dumps(body), Verdict("rejected", status, bound=bound))


def load(body: bytes | memoryview, kind: str, versions: tuple[str, ...]) -> tuple[dict[str, Any], dict[str, Any], str, str]:
    """Decodes a review of one kind into (review, its request, apiVersion, uid); duplicate keys: the last one wins, as in Go.

    Raises: RejectedError when there is no review to answer.
    """
    if not body:
        raise RejectedError(400, f"the body must be of kind {kind}, got nothing")
    try:
        review = orjson.loads(body)
    except orjson.JSONDecodeError as error:
        # the decoder reports this also for a short text that is invalid below many levels
        short_of_memory = "memory" in error.msg
        if short_of_memory and len(body) > _SMALL:
            raise RejectedError(413, MEMORY, Bound.REQUEST_MEMORY) from None
        # the decoder's own words name a place and what was expected there, never a part of the document
        what = "broken below many levels" if short_of_memory else error.msg
        bound = Bound.DEPTH if "depth" in error.msg else ""
        raise RejectedError(400, f"the body must be JSON: {what} at line {error.lineno}, column {error.colno}", bound) from None
    if type(review) is not dict:
        raise RejectedError(400, f"the body must be of kind {kind}, got {article(review)}")
    if review.get("kind") not in (None, "", kind):
        raise RejectedError(400, f"kind must be {kind}")
    version = review.get("apiVersion") or versions[0]
    if version not in versions:
        raise RejectedError(400, f"apiVersion must be {' or '.join(versions)}")
    request = review.get("request")
    if type(request) is not dict:
        raise RejectedError(400, f"request must be an object, got {article(request)}")
    uid = request.get("uid")
    if uid is not None and type(uid) is not str:
        raise RejectedError(400, f"request.uid must be text, got {article(uid)}")
    return review, request, version, uid or ""


def read(body: bytes | memoryview) -> Call:
    """Decodes an AdmissionReview.

    Raises: RejectedError when there is no review to answer.
    """
    _, request, version, uid = load(body, "AdmissionReview", REVIEW_VERSIONS)
    user = request.get("userInfo")
    name = user.get("username") if type(user) is dict else None
    operation = request.get("operation")
    return Call(
        version,
        uid,
        operation if type(operation) is str else "",
        request.get("object"),
        request.get("oldObject"),
        name if type(name) is str else "",
        request,
    )


def allowed(call: Call, warnings: list[str], verdict: Verdict, patch: bytes = b"") -> Answer:
    """Writes a review that allows; `patch` is the base64 text of the JSON patch, empty for none."""
    parts = [_START[call.version], orjson.dumps(call.uid), _ALLOWED]
    if patch:
        parts += (_PATCH, patch, b'"')
    if warnings:
        parts += (_WARNINGS, orjson.dumps(warnings))
    parts.append(_END)
    return Answer(200, b"".join(parts), verdict)


def refused(call: Call, status: dict[str, Any], warnings: list[str], verdict: Verdict) -> Answer:
    """Writes a review that refuses with a `metav1.Status`."""
    parts = [_START[call.version], orjson.dumps(call.uid), _REFUSED, orjson.dumps(status)]
    if warnings:
        parts += (_WARNINGS, orjson.dumps(warnings))
    parts.append(_END)
    return Answer(200, b"".join(parts), verdict)


def failure(code: int, message: str, **more: Any) -> dict[str, Any]:
    """The `metav1.Status` of a refusal that no rule made."""
    return {"status": "Failure", "code": code, "reason": REASONS[code], "message": shortened(message, MESSAGE_LENGTH), **more}


def verdict_of(call: Call, outcome: str, code: int, rules: tuple[str, ...] = (), skipped: str = "", patched: int = 0) -> Verdict:
    """The verdict on a call, with the names by which people find the request again."""
    request = call.request
    name, namespace = request.get("name"), request.get("namespace")
    return Verdict(
        outcome,
        code,
        call.uid[:NAME_LENGTH],
        call.operation if call.operation in OPERATIONS else "other",
        namespace[:NAME_LENGTH] if type(namespace) is str else "",
        name[:NAME_LENGTH] if type(name) is str else "",
        rules,
        skipped,
        patched,
    )
