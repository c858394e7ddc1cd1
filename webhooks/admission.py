"""Answers an AdmissionReview: a pure function from bytes to bytes for the server and for `review`, without HTTP."""

from __future__ import annotations

import logging
from binascii import b2a_base64
from typing import TYPE_CHECKING, Any, Final

import orjson

from dynamo_webhooks.admission.pipeline import Admission, Settings
from dynamo_webhooks.admission.registration import Purpose
from dynamo_webhooks.admission.remainder_size import long_remainder
from dynamo_webhooks.api.bounds import bounds
from dynamo_webhooks.api.decode import decoder
from dynamo_webhooks.api.kinds import GROUP
from dynamo_webhooks.api.paths import render
from dynamo_webhooks.api.wording import printable, shortened
from dynamo_webhooks.conversion.lens.protocol import ConversionError
from dynamo_webhooks.policies.answer import MOST, NAMED, REFUSING, status, warnings
from dynamo_webhooks.policies.evaluate import deleting
from dynamo_webhooks.policies.finding import Cause, Level
from dynamo_webhooks.policies.review import CREATE, CURRENT, DELETE, UPDATE, Review
from dynamo_webhooks.webhooks import convert
from dynamo_webhooks.webhooks.budget import MEMORY, BudgetError
from dynamo_webhooks.webhooks.envelope import (
    MESSAGE_LENGTH,
    OPERATIONS,
    Answer,
    Call,
    RejectedError,
    allowed,
    failure,
    read,
    refused,
    rejection,
    verdict_of,
)
from dynamo_webhooks.webhooks.limits import Bound
from dynamo_webhooks.webhooks.routes import Route

if TYPE_CHECKING:
    from dynamo_webhooks.api.walk.errors import FieldError
    from dynamo_webhooks.policies.edit import Edit, PatchOperation
    from dynamo_webhooks.policies.finding import Finding

_LOG: Final = logging.getLogger("webhooks.admission")
LISTED_ERRORS: Final = 5  # places named in the message of an undecodable object; its causes list all
LISTED_RULES: Final = 20  # in one log line


def answer(route: Route, body: bytes | memoryview, settings: Settings) -> Answer:
    """Answer one request body; never raises. An internal error is a review with code 500 and the request's uid."""
    if route.purpose is Purpose.CONVERT:
        return convert.answer(bytes(body), settings.line)
    try:
        call = read(body)
    except RejectedError as error:
        return rejection(error.status, error.sentence, error.bound)
    try:
        return _judge(route, call, settings, len(body))
    except BudgetError as error:
        return _too_much(call, str(error), Bound.REQUEST_CPU)
    except MemoryError:
        return _too_much(call, MEMORY, Bound.REQUEST_MEMORY)
    except Exception as error:  # noqa: BLE001 - the API server must get an answer with its uid, whatever went wrong
        _LOG.exception("a request could not be judged")
        message = f"the request could not be judged: {type(error).__name__}; this is an internal error"
        return refused(call, failure(500, message), [], verdict_of(call, "fault", 500))


def _too_much(call: Call, sentence: str, bound: Bound) -> Answer:
    return refused(call, failure(413, sentence), [], verdict_of(call, "refused", 413)._replace(bound=bound))


def _judge(route: Route, call: Call, settings: Settings, length: int) -> Answer:
    operation = call.operation
    if operation not in OPERATIONS:
        return _bad(call, "request.operation must be CREATE, UPDATE, DELETE or CONNECT")
    mutating = route.purpose is Purpose.MUTATE
    if (mutating and operation == DELETE) or (not mutating and operation == "CONNECT"):
        return allowed(call, [], verdict_of(call, "allowed", 200))
    if (beyond := _beyond(route, call, mutating=mutating)) is not None:
        return beyond
    for field in _needed(call, settings.profile, mutating=mutating):
        wrong = _undecodable(route, call, field)
        if wrong is not None:
            return wrong
    if operation == DELETE:
        return allowed(call, [], verdict_of(call, "allowed", 200))
    write = Admission(route.kind, route.version, operation, call.object, call.old, user=call.user, settings=settings)
    if (not mutating or settings.profile == CURRENT) and write.excluded:
        return allowed(call, [], verdict_of(call, "allowed", 200, skipped="excluded"))
    try:
        if mutating:
            done = write.defaults()
            return _patched(call, done.edits, done.patch())
        review = write.review()
        return _told(route, call, review, write.judge(MOST, NAMED) + long_remainder(review, length))
    except ConversionError as error:
        return _inconvertible(route, call, error)


def _beyond(route: Route, call: Call, *, mutating: bool) -> Answer | None:
    """Answer for an object over a size bound of its schema, without judging it.

    The API server checks the schema after the mutating webhooks, which leave the refusal to it, and before the validating ones. They
    get such an object only if the stored one was too large too, and then judge it.
    """
    if call.operation == DELETE or (excess := bounds(route.kind, route.version)(call.object)) is None:
        return None
    if mutating:
        return allowed(call, [], verdict_of(call, "allowed", 200, skipped="schema"))
    if call.operation == UPDATE and bounds(route.kind, route.version)(call.old) is not None:
        return None
    return _invalid(route, call, excess.field, str(excess.reason.value), excess.message, excess.message)


def _needed(call: Call, profile: str, *, mutating: bool) -> tuple[str, ...]:
    """The fields of the request that must hold an object, in the order of decoding.

    Defaults of profile current read the stored object; those of 1.2 don't.
    """
    if call.operation == DELETE:
        return ("oldObject",)
    if call.operation == UPDATE and (not mutating or (profile == CURRENT and call.old is not None)):
        return ("object", "oldObject")
    return ("object",)


def _undecodable(route: Route, call: Call, field: str) -> Answer | None:
    obj = call.object if field == "object" else call.old
    if obj is None:
        return _bad(call, f"request.{field} must hold the object for operation {call.operation}, got nothing")
    errors = decoder(route.kind, route.version)(obj)
    if not errors:
        return None
    return _bad(call, f"request.{field} can't be read as {route.kind} {GROUP}/{route.version}: {_listed(errors)}", _causes(errors))


def _listed(errors: tuple[FieldError, ...]) -> str:
    lines = [shortened(f"{error.field}: {error.message}" if error.field else error.message, 300) for error in errors[:LISTED_ERRORS]]
    if len(errors) > LISTED_ERRORS:
        lines.append(f"and {len(errors) - LISTED_ERRORS} more")
    return "; ".join(lines)


def _causes(errors: tuple[FieldError, ...]) -> list[dict[str, str]]:
    return [{"reason": str(e.reason.value), "message": shortened(e.message, 300), "field": shortened(e.field, 300)} for e in errors]


def _bad(call: Call, message: str, causes: list[dict[str, str]] | None = None) -> Answer:
    more: dict[str, Any] = {"details": {"causes": causes}} if causes else {}
    return refused(call, failure(400, message, **more), [], verdict_of(call, "refused", 400))


def _inconvertible(route: Route, call: Call, error: ConversionError) -> Answer:
    """Refuse an object that can't be converted, so that it could be neither stored nor judged."""
    field = render(error.path)
    why = f"{error.reason}, or the object can't be converted to {GROUP}/{route.read}"
    return _invalid(route, call, field, Cause.INVALID.value, error.reason, why)


def _invalid(route: Route, call: Call, field: str, reason: str, text: str, message: str) -> Answer:
    """Refuse for one cause that no rule found; `message` is for people, `text` for the cause."""
    cause = {"reason": reason, "message": printable(shortened(text, 300)), "field": printable(shortened(field, 300))}
    told = printable(shortened(f"{field}: {message}", MESSAGE_LENGTH))
    why = {"status": "Failure", "code": 422, "reason": "Invalid", "message": told}
    details = {"group": GROUP, "kind": route.kind, "causes": [cause]}
    return refused(call, {**why, "details": details}, [], verdict_of(call, "refused", 422))


def _told(route: Route, call: Call, review: Review, findings: list[Finding]) -> Answer:
    if not findings:
        return allowed(call, [], verdict_of(call, "allowed", 200, skipped="deleting" if deleting(review) else ""))
    told = warnings(findings)
    if not any(finding.level in REFUSING for finding in findings):
        return allowed(call, told, verdict_of(call, "allowed", 200, _rules(findings)))
    name = review.metadata.get("name") or call.request.get("name")
    why = status(route.kind, GROUP, name if isinstance(name, str) else "", findings)
    outcome = "fault" if any(finding.level is Level.FAULT for finding in findings) else "denied"
    return refused(call, why, told, verdict_of(call, outcome, why["code"], _rules(findings)))


def _rules(findings: list[Finding]) -> tuple[str, ...]:
    """Names of the rules with findings, each once, refusing ones first."""
    ordered = sorted(findings, key=lambda finding: finding.level not in REFUSING)
    return tuple(dict.fromkeys(finding.rule.name for finding in ordered))[:LISTED_RULES]


def _patched(call: Call, found: list[Edit], operations: list[PatchOperation]) -> Answer:
    if not operations:
        return allowed(call, [], verdict_of(call, "allowed", 200))
    names = tuple(dict.fromkeys(edit.rule.name for edit in found))
    encoded = b2a_base64(orjson.dumps(operations), newline=False)
    return allowed(call, [], verdict_of(call, "allowed", 200, names, patched=len(operations)), encoded)


def example(route: Route, uid: str = "ready") -> bytes:
    """A small valid request for a path, for the readiness check."""
    obj = {"apiVersion": f"{GROUP}/{route.version}", "kind": route.kind, "metadata": {"name": "ready"}}
    request = {"uid": uid, "operation": CREATE, "object": obj}
    return orjson.dumps({"apiVersion": "admission.k8s.io/v1", "kind": "AdmissionReview", "request": request})
