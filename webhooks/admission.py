"""Answers an AdmissionReview: a pure function from bytes to bytes for the server and for `review`, without HTTP."""

import logging
from typing import Any, Final

import orjson

from ..admission.judging import judge
from ..admission.losses import judge_long_remainder
from ..admission.new_pods import patch_new_pod
from ..admission.open_parts import judge_open_parts
from ..admission.ownership import judge_owner
from ..admission.pipeline import Admission, Settings
from ..admission.registration import CONVERT, MUTATE, RESTORE
from ..api.bounds import bounds
from ..api.decode import decoder
from ..api.deep import MAX_OBJECT_LEVELS, too_deep
from ..api.kinds import GROUP
from ..api.paths import format_path
from ..api.walk.errors import FieldError, Reason, field_error
from ..api.wording import escape_unprintable, shorten
from ..conversion.lens.protocol import ConversionError
from ..policies.answer import MAX_FINDINGS, MAX_NAMED_FINDINGS, REFUSING, is_refused, list_warnings, make_status
from ..policies.checks import UNCONVERTIBLE
from ..policies.evaluate import is_deletion
from ..policies.finding import Cause, Finding
from ..policies.review import CREATE, DELETE, UPDATE
from ..policies.rule import Level
from . import convert
from .envelope import MAX_MESSAGE_CHARACTERS, OPERATIONS, REASONS, Answer, Call, Outcome, RejectedError, encode, read, reject_http
from .limits import MEMORY, Bound, BudgetError
from .routes import Route

_LOG: Final = logging.getLogger("webhooks.admission")
MAX_LISTED_ERRORS: Final = 5  # in the message about an undecodable object; its causes list all
MAX_LISTED_RULES: Final = 20  # in one log line
_ALLOWED: Final = Outcome()


def answer(route: Route, body: bytes | memoryview, settings: Settings) -> Answer:
    """Answer one request body; never raises. An internal error is a review with code 500 and the request's uid."""
    if route.purpose is CONVERT:
        return convert.answer(bytes(body), settings.line)
    try:
        call = read(body)
    except RejectedError as rejected:
        return reject_http(rejected.status, rejected.sentence, rejected.bound)
    if route.purpose is RESTORE:
        return encode(call, _restored(call, settings))
    try:
        return encode(call, _judge(route, call, settings, len(body)))
    except BudgetError as spent:
        failed = _refusal(413, str(spent), bound=Bound.REQUEST_CPU)
    except MemoryError:
        failed = _refusal(413, MEMORY, bound=Bound.REQUEST_MEMORY)
    except Exception as error:  # noqa: BLE001 - the API server needs a response with the request's uid
        _LOG.exception("a request could not be checked")
        message = f"the request couldn't be evaluated: {type(error).__name__}; this is an internal error"
        failed = _refusal(500, message)._replace(kind="fault")
    return encode(call, failed)


def _restored(call: Call, settings: Settings) -> Outcome:
    """Never refuses: a pod that can't be restored, for whatever reason, starts cold."""
    if call.operation != CREATE:
        return _ALLOWED
    try:
        return Outcome(patch=patch_new_pod(call.object, call.request.get("namespace", ""), settings.new_pods))
    except Exception as error:  # noqa: BLE001 - any client may send a damaged pod, and no pod may fail here
        _LOG.warning("a pod could not be read, and is left as it is: %s", type(error).__name__)
        return _ALLOWED


def _refusal(code: int, message: str, details: dict[str, Any] | None = None, *, bound: str = "") -> Outcome:
    """Refuse for a reason that no rule found."""
    why: dict[str, Any] = {"status": "Failure", "code": code, "reason": REASONS[code], "message": message}
    if details:
        why["details"] = details
    return Outcome("refused", why, bound=bound)


def _judge(route: Route, call: Call, settings: Settings, length: int) -> Outcome:
    operation = call.operation
    if operation not in OPERATIONS:
        return _refusal(400, "request.operation must be CREATE, UPDATE, DELETE or CONNECT")
    mutating = route.purpose is MUTATE
    if operation == (DELETE if mutating else "CONNECT"):
        return _ALLOWED
    new, before = (None, None) if operation == DELETE else (call.object, call.old if operation == UPDATE else None)
    owned = judge_owner(route.kind, route.version, new, before)
    if owned is not None:
        if not owned.reason or mutating or settings.facts.excludes(call.request.get("namespace")):
            return _ALLOWED
        return _invalid(call, route, owned.field, Cause.FORBIDDEN.value, owned.reason, owned.reason)
    if (early := _exceeded(route, call, mutating=mutating)) is not None:
        return early
    for field in _needed(call, mutating=mutating):
        if (early := _undecodable(route, call, field)) is not None:
            return early
    if operation == DELETE:
        return _ALLOWED
    old = call.old if operation == UPDATE else None  # else it may be anything
    write = Admission(route.kind, route.version, operation, call.object, old, user=call.user, settings=settings)
    excluded = write.excluded
    if excluded and (mutating or not settings.policies):
        return Outcome(skipped="excluded")
    try:
        return _defaulted(write) if mutating else _validated(call, write, length, excluded=excluded)
    except ConversionError as error:
        why = f"{error.reason}, or the object can't be converted to {GROUP}/{route.read} [{UNCONVERTIBLE.name}]"
        return _invalid(call, route, format_path(error.path), Cause.INVALID.value, f"{error.reason} [{UNCONVERTIBLE.name}]", why)


def _exceeded(route: Route, call: Call, *, mutating: bool) -> Outcome | None:
    """Decide on an object over a size bound of its schema, or too deep, without judging it.

    The API server validates the schema after the mutating webhooks, so those allow the object. A validating webhook gets it only if the
    stored object was too large too, and then judges it.
    """
    if call.operation == DELETE or (excess := _excess(route, call.object, nested=call.deep)) is None:
        return None
    if mutating:
        return Outcome(skipped="schema")
    if call.operation == UPDATE and _excess(route, call.old, nested=call.deep) is not None:
        return None
    bound = Bound.DEPTH if excess.reason is Reason.INVALID else ""
    return _invalid(call, route, excess.field, excess.reason.value, excess.message, excess.message)._replace(bound=bound)


def _excess(route: Route, obj: object, *, nested: bool) -> FieldError | None:
    excess = bounds(route.kind, route.version)(obj)
    if excess is not None or not nested or (path := too_deep(obj)) is None:
        return excess
    return field_error(
        path, Reason.INVALID, f"must be nested at most {MAX_OBJECT_LEVELS} levels deep, counted from the object; make it flatter"
    )


def _needed(call: Call, *, mutating: bool) -> tuple[str, ...]:
    """The fields of the request that must hold an object; defaults read the stored one if there is one."""
    if call.operation == DELETE:
        return ("oldObject",)
    if call.operation == UPDATE and (not mutating or call.old is not None):
        return ("object", "oldObject")
    return ("object",)


def _undecodable(route: Route, call: Call, field: str) -> Outcome | None:
    obj = call.object if field == "object" else call.old
    if obj is None:
        return _refusal(400, f"request.{field} must hold the object for operation {call.operation}, got nothing")
    errors = decoder(route.kind, route.version)(obj)
    if not errors:
        return None
    causes = [{"reason": str(e.reason.value), "message": shorten(e.message, 300), "field": shorten(e.field, 300)} for e in errors]
    message = f"request.{field} can't be read as {route.kind} {GROUP}/{route.version}: {_listed(errors)}"
    return _refusal(400, shorten(message, MAX_MESSAGE_CHARACTERS), {"causes": causes})


def _listed(errors: tuple[FieldError, ...]) -> str:
    lines = [shorten(f"{error.field}: {error.message}" if error.field else error.message, 300) for error in errors[:MAX_LISTED_ERRORS]]
    if len(errors) > MAX_LISTED_ERRORS:
        lines.append(f"and {len(errors) - MAX_LISTED_ERRORS} more")
    return "; ".join(lines)


def _invalid(call: Call, route: Route, field: str, reason: str, text: str, message: str) -> Outcome:
    """Refuse for one cause that no rule found; the cause has the `text`, the status the `message`."""
    cause = {"reason": reason, "message": escape_unprintable(shorten(text, 300)), "field": escape_unprintable(shorten(field, 300))}
    name = shorten(_name(call), 253)
    message = escape_unprintable(shorten(f'{route.kind}.{GROUP} "{name}" is invalid: {field}: {message}', MAX_MESSAGE_CHARACTERS))
    return _refusal(422, message, {"name": name, "group": GROUP, "kind": route.kind, "causes": [cause]})


def _name(call: Call) -> str:
    """Returns the object's name, or the name in the request if the object has none yet."""
    metadata = call.object.get("metadata") if type(call.object) is dict else None
    name = (metadata.get("name") if isinstance(metadata, dict) else None) or call.request.get("name")
    return name if isinstance(name, str) else ""


def _validated(call: Call, write: Admission, length: int, *, excluded: bool) -> Outcome:
    review = write.review()
    findings = (
        []
        if excluded
        else judge(review, MAX_FINDINGS, MAX_NAMED_FINDINGS) + judge_open_parts(review, MAX_FINDINGS) + judge_long_remainder(review, length)
    )
    if write.settings.policies and not is_deletion(review):  # users' own are no operator's, whose namespace it may be
        findings += _by_policies(call, write)
    if not findings:
        return Outcome(skipped="deleting") if is_deletion(review) else Outcome(skipped="excluded") if excluded else _ALLOWED
    # refusing rules first
    ordered = sorted(findings, key=lambda finding: finding.level not in REFUSING)
    rules = tuple(dict.fromkeys(finding.rule.name for finding in ordered))[:MAX_LISTED_RULES]
    if not is_refused(findings):
        return Outcome(warnings=list_warnings(findings), rules=rules)
    why = make_status(write.kind, GROUP, _name(call), findings, site=write.settings.site)
    kind = "fault" if any(finding.level is Level.FAULT for finding in findings) else "denied"
    return Outcome(kind, why, list_warnings(findings), rules)


def _by_policies(call: Call, write: Admission) -> list[Finding]:
    """The findings of users' own policies."""
    from ..admission.userrules.evaluate import Write, judge_by_policies

    user = call.request.get("userInfo")
    facts = write.settings.facts
    who = user if isinstance(user, dict) else {}
    seen = Write(write.kind, write.version, write.operation, write.object, write.old, who, facts.line, call.request)
    return judge_by_policies(write.settings.policies, seen, facts)


def _defaulted(write: Admission) -> Outcome:
    done = write.defaults()
    if not (operations := done.patch()):
        return _ALLOWED
    return Outcome(rules=tuple(dict.fromkeys(edit.rule.name for edit in done.edits)), patch=operations)


def example(route: Route, uid: str = "ready") -> bytes:
    """A small valid request for the readiness check."""
    obj = {"apiVersion": f"{GROUP}/{route.version}", "kind": route.kind, "metadata": {"name": "ready"}}
    request = {"uid": uid, "operation": CREATE, "object": obj}
    return orjson.dumps({"apiVersion": "admission.k8s.io/v1", "kind": "AdmissionReview", "request": request})
