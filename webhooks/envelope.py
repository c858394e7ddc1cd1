"""Decodes an AdmissionReview and encodes the outcome that admission.py decides."""

import sys
from binascii import b2a_base64
from collections.abc import Sequence
from itertools import permutations
from typing import Any, Final, NamedTuple, TypeAlias

import orjson

from ..api import deep
from ..api.kinds import BY_NAME, GROUP
from ..api.line import NEWEST
from ..api.wording import article
from ..policies.edit import PatchOperation
from .limits import MEMORY, Bound, Limits

CONVERTED: Final = "converted"
SAME: Final = "same"  # the version asked for was the object's own
REFUSED: Final = "refused"
FAULT: Final = "fault"

OTHER: Final = "other"

_KNOWN: Final = {name: [version.name for version in kind.of_line(NEWEST)] for name, kind in BY_NAME.items()}
_VERSIONS: Final = {f"{GROUP}/{version}": version for versions in _KNOWN.values() for version in versions}
_OURS: Final = frozenset((name, version) for name, versions in _KNOWN.items() for version in versions)
# kind, the object's version, the desired version, outcome; "other" if unknown
ConversionKey: TypeAlias = tuple[str, str, str, str]
# failures that can be counted, which metrics show as 0 from the start: a series that begins at 1 is no increase
FAILURES: Final[tuple[ConversionKey, ...]] = tuple(
    (*key, outcome)
    for key in (
        *((name, a, b) for name, versions in _KNOWN.items() for a, b in permutations(versions, 2)),
        (OTHER, OTHER, OTHER),
    )
    for outcome in (REFUSED, FAULT)
)


class ConversionStatistics:
    """Counts of one review; clients can't make labels, so names that aren't ours are `other`."""

    __slots__ = ("counts", "damaged")

    def __init__(self) -> None:
        self.counts: dict[ConversionKey, list[float]] = {}
        self.damaged = 0  # annotations whose text could not be used

    def add(self, obj: object, version: str, outcome: str, seconds: float) -> None:
        """Count one object, its desired version, and the time."""
        key = _key(obj, version, outcome)
        counted = self.counts.get(key)
        if counted is None:
            counted = self.counts[key] = [0.0, 0.0]
        counted[0] += 1
        counted[1] += seconds

    @property
    def objects(self) -> int:
        """The number of objects that the review held."""
        return int(sum(count for count, _ in self.counts.values()))


def _key(obj: object, version: str, outcome: str) -> ConversionKey:
    kind, own = (obj.get("kind"), obj.get("apiVersion")) if type(obj) is dict else (None, None)
    if type(kind) is not str or kind not in BY_NAME:
        return (OTHER, OTHER, OTHER, outcome)
    source = _VERSIONS.get(own, OTHER) if type(own) is str else OTHER
    return (kind, source if (kind, source) in _OURS else OTHER, version if (kind, version) in _OURS else OTHER, outcome)


# levels of nesting that the JSON decoder accepts; rules follow them by recursion
MAX_LEVELS: Final = 1_024
sys.setrecursionlimit(max(sys.getrecursionlimit(), 8 * MAX_LEVELS))

REVIEW_VERSIONS: Final = ("admission.k8s.io/v1", "admission.k8s.io/v1beta1")
OPERATIONS: Final = frozenset({"CREATE", "UPDATE", "DELETE", "CONNECT"})
_SMALL: Final = Limits().small_body  # bytes of a body that no bound of memory is set for
MAX_NAME_CHARACTERS: Final = 253  # the longest name that Kubernetes knows; names are cut there in logs
MAX_MESSAGE_CHARACTERS: Final = 2_000
REASONS: Final = {
    400: "BadRequest",
    403: "Forbidden",
    404: "NotFound",
    405: "MethodNotAllowed",
    408: "Timeout",
    413: "RequestEntityTooLarge",
    415: "UnsupportedMediaType",
    422: "Invalid",
    429: "TooManyRequests",
    500: "InternalError",
    501: "NotImplemented",
    503: "ServiceUnavailable",
}

_START: Final = {
    version: b'{"apiVersion":"' + version.encode() + b'","kind":"AdmissionReview","response":{"uid":' for version in REVIEW_VERSIONS
}
_ALLOWED: Final = b',"allowed":true,"status":{"code":200}'
_REFUSED: Final = b',"allowed":false,"status":'
_WARNINGS: Final = b',"warnings":'
_PATCH: Final = b',"patchType":"JSONPatch","patch":"'
_END: Final = b"}}"


class Verdict:
    """An answer as logs and metrics show it: without values of the object."""

    __slots__ = ("bound", "code", "name", "namespace", "operation", "outcome", "patched", "rules", "skipped", "tally", "uid")

    def __init__(
        self,
        outcome: str,
        code: int,
        uid: str = "",
        operation: str = "",
        namespace: str = "",
        name: str = "",
        rules: tuple[str, ...] = (),
        skipped: str = "",
        patched: int = 0,
        tally: ConversionStatistics | None = None,
        bound: str = "",
    ) -> None:
        # allowed, denied, converted, refused (undecodable and the like), fault, rejected (no review could be answered)
        self.outcome = outcome
        self.code = code  # of the review's status, or of HTTP where no review could be answered
        self.uid, self.operation, self.namespace, self.name, self.rules = uid, operation, namespace, name, rules
        self.skipped = skipped  # why no rule ran: deleting, excluded, schema (a bound of it)
        self.patched = patched  # operations in the patch
        self.tally = tally  # of a conversion's objects
        self.bound = bound  # the one of limits.py that was met


class Answer:
    """An HTTP response."""

    __slots__ = ("body", "status", "verdict")

    def __init__(self, status: int, body: bytes, verdict: Verdict) -> None:
        self.status, self.body, self.verdict = status, body, verdict


class Call:
    """A review's request."""

    __slots__ = ("deep", "object", "old", "operation", "request", "uid", "user", "version")

    def __init__(self, version: str, uid: str, request: dict[str, Any], *, deep: bool = False) -> None:
        """`version`: apiVersion of the review, which is echoed. `deep`: it was too deep for the decoder.

        What has another type than it should counts as empty.
        """
        operation, user = request.get("operation"), request.get("userInfo")
        name = user.get("username") if type(user) is dict else None
        self.version, self.uid, self.request, self.deep = version, uid, request, deep
        self.operation = operation if type(operation) is str else ""
        self.object: Any = request.get("object")
        self.old: Any = request.get("oldObject")
        self.user = name if type(name) is str else ""


class Outcome(NamedTuple):
    """The decision on a review."""

    kind: str = "allowed"  # as in the verdict
    status: dict[str, Any] | None = None  # the `metav1.Status` of a refusal
    warnings: Sequence[str] = ()
    rules: tuple[str, ...] = ()  # with findings or edits
    patch: Sequence[PatchOperation] = ()
    skipped: str = ""
    bound: str = ""


class RejectedError(ValueError):
    """A body without a review that could be answered; `status` is the HTTP status."""

    def __init__(self, status: int, sentence: str, bound: str = "") -> None:
        """The sentence never quotes the body. `bound`: the one of limits.py that was met."""
        super().__init__(sentence)
        self.status = status
        self.sentence = sentence
        self.bound = bound


def reject_http(status: int, sentence: str, bound: str = "") -> Answer:
    """Answer a request without a review, by HTTP status and a `metav1.Status`."""
    body = {"apiVersion": "v1", "kind": "Status", "status": "Failure", "message": sentence, "reason": REASONS[status], "code": status}
    return Answer(status, orjson.dumps(body), Verdict("rejected", status, bound=bound))


def load(body: bytes | memoryview, kind: str, versions: tuple[str, ...]) -> tuple[dict[str, Any], str, str, bool]:
    """Decode a review of one kind into (its request, apiVersion, uid, whether it was too deep for the decoder).

    Of duplicate keys the last wins, as in Go.

    Raises: RejectedError.
    """
    if not body:
        raise RejectedError(400, f"the body must be of kind {kind}, got nothing")
    try:
        review, cut = deep.load_deep(body)
    except orjson.JSONDecodeError as error:
        # the decoder reports this also for a short text that is invalid below many levels
        short_of_memory = "memory" in error.msg
        if short_of_memory and len(body) > _SMALL:
            raise RejectedError(413, MEMORY, Bound.REQUEST_MEMORY) from None
        # the decoder's message never quotes the document
        what = "broken below many levels" if short_of_memory else error.msg
        raise RejectedError(400, f"the body must be JSON: {what} at line {error.lineno}, column {error.colno}") from None
    except SystemError:  # the decoder has returned a result beside a MemoryError
        raise RejectedError(413, MEMORY, Bound.REQUEST_MEMORY) from None
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
        raise RejectedError(400, f"request.uid must be a string, got {article(uid)}")
    return request, version, uid or "", cut


def read(body: bytes | memoryview) -> Call:
    """Decode an AdmissionReview. Raises: RejectedError."""
    request, version, uid, cut = load(body, "AdmissionReview", REVIEW_VERSIONS)
    return Call(version, uid, request, deep=cut)


def encode(call: Call, outcome: Outcome) -> Answer:
    """Encode the review's response and its verdict."""
    status, request = outcome.status, call.request
    parts = [_START[call.version], orjson.dumps(call.uid)]
    parts += (_ALLOWED,) if status is None else (_REFUSED, orjson.dumps(status))
    if outcome.patch:
        parts += (_PATCH, b2a_base64(orjson.dumps(outcome.patch), newline=False), b'"')
    if outcome.warnings:
        parts += (_WARNINGS, orjson.dumps(outcome.warnings))
    parts.append(_END)
    name, namespace = request.get("name"), request.get("namespace")
    verdict = Verdict(
        outcome.kind,
        200 if status is None else status["code"],
        call.uid[:MAX_NAME_CHARACTERS],
        call.operation if call.operation in OPERATIONS else "other",
        namespace[:MAX_NAME_CHARACTERS] if type(namespace) is str else "",
        name[:MAX_NAME_CHARACTERS] if type(name) is str else "",
        outcome.rules,
        outcome.skipped,
        len(outcome.patch),
        bound=outcome.bound,
    )
    return Answer(200, b"".join(parts), verdict)
