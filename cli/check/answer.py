"""The fate of one object in an API server's words: the first stage that refuses it, its status and message, and the warnings.

A server is played through in its order: reading, mutating webhook, schema, validating webhook, conversion to the stored version. What the
webhooks say is what the very code of the server answers to the request that an API server would send.
"""

from __future__ import annotations

import copy
from typing import TYPE_CHECKING, Any, Final, NamedTuple

import orjson

from dynamo_webhooks.admission.pipeline import Admission
from dynamo_webhooks.admission.pipeline import Settings as Serving
from dynamo_webhooks.admission.registration import Purpose, read_as, webhook_name
from dynamo_webhooks.api.kinds import BETA, BY_NAME, GROUP, api_version
from dynamo_webhooks.api.walk.errors import dotted
from dynamo_webhooks.api.wording import shortened
from dynamo_webhooks.cli.check import record
from dynamo_webhooks.cli.check.objects import NO_KIND, NO_VERSION
from dynamo_webhooks.cli.check.said import causes, summed_up
from dynamo_webhooks.policies.review import CREATE, DELETE, Fields
from dynamo_webhooks.webhooks import convert
from dynamo_webhooks.webhooks.admission import answer as admission_answer
from dynamo_webhooks.webhooks.routes import ROUTES, path_of

if TYPE_CHECKING:
    from dynamo_webhooks.cli.check.objects import Found, Identity
    from dynamo_webhooks.cli.check.pipeline import Settings
    from dynamo_webhooks.cli.yaml.load import Source

LONGEST: Final = 20_000  # characters of a message; a server's own has no limit
BAD_REQUEST: Final = "BadRequest"
INVALID: Final = "Invalid"


class Answer(NamedTuple):
    """What an API server answers to a write; `stage` is the one that refuses (record.DECODE ...), empty where it is accepted."""

    source: Source
    line: int
    identity: Identity
    operation: str
    status: int  # of HTTP: 201 created, 200 updated or deleted, else the refusal's
    reason: str  # of the Status, empty where it is accepted
    message: str  # of the Status, empty where it is accepted
    stage: str
    warnings: tuple[str, ...] = ()
    causes: tuple[tuple[str, str], ...] = ()  # (field, message), as in `details.causes`

    @property
    def accepted(self) -> bool:
        """Whether the object is written."""
        return self.status < 400

    @property
    def told(self) -> str:
        """What kubectl prints of a refusal; empty where it is accepted."""
        if self.accepted:
            return ""
        if self.reason != INVALID or not self.causes:
            return f"Error from server{f' ({self.reason})' if self.reason else ''}: {self.message}"
        head = f'The {self.identity.kind} "{self.identity.name}" is invalid: '
        lines = [*dict.fromkeys(f"{field}: {message}" for field, message in self.causes)]
        return head + lines[0] if len(lines) == 1 else head + "".join(f"\n* {line}" for line in lines)


class _Refusal(NamedTuple):
    """Why one stage ends it."""

    stage: str
    status: int
    reason: str
    message: str
    causes: tuple[tuple[str, str], ...] = ()


def answered(found: Found, operation: str, old: Fields | None, settings: Settings) -> Answer:
    """What a server answers; nothing of what is given is changed. `old` is the stored object of an update, ready to be compared."""
    server = _Server(found, operation, old, settings)
    refusal = server.refusal()
    where = (found.document.source, found.document.position(()).line, found.identity, operation)
    if refusal is None:
        return Answer(*where, 201 if operation == CREATE else 200, "", "", "", tuple(server.warnings))
    message = shortened(refusal.message, LONGEST)
    return Answer(*where, refusal.status, refusal.reason, message, refusal.stage, tuple(server.warnings), refusal.causes)


class _Server:
    """One write on its way through a server."""

    def __init__(self, found: Found, operation: str, old: Fields | None, settings: Settings) -> None:
        self.kind, self.version = found.identity.kind, found.version
        self.known = found.known
        self.settings = settings
        self.serving = Serving(settings.facts, settings.profile)
        obj, old = copy.deepcopy(found.data), copy.deepcopy(old)
        self.write = Admission(self.kind, self.version, operation, obj, old, user=settings.user, settings=self.serving)
        self.warnings: list[str] = []

    def refusal(self) -> _Refusal | None:
        """The first stage's refusal, None where every stage lets the object pass."""
        if self.kind == NO_KIND:
            return _Refusal(record.DECODE, 400, BAD_REQUEST, "Object 'Kind' is missing")
        if self.version == NO_VERSION:
            return _Refusal(record.DECODE, 400, BAD_REQUEST, "Object 'apiVersion' is missing")
        if not self.known:
            message = f'no matches for kind "{self.kind}" in version "{api_version(self.version)}"'
            return _Refusal(record.DECODE, 404, "NotFound", message)
        if any(version.deprecated for version in BY_NAME[self.kind].versions if version.name == self.version):
            # the warning of the CustomResourceDefinition
            self.warnings.append(f"{api_version(self.version)} {self.kind} is deprecated; use {api_version(BETA)} {self.kind}")
        if self.write.operation == DELETE:
            return None
        return self._read() or self._mutated() or self._invalid() or self._denied() or self._unstored()

    def _read(self) -> _Refusal | None:
        """Decoding: metadata of a wrong type ends it; what the schema doesn't know is dropped with a warning, or refused when strict."""
        if not self.settings.schema:
            return None
        lead = f'{self.kind} in version "{self.version}" cannot be handled as a {self.kind}: '
        if wrong := self.write.decode_metadata():
            return _Refusal(record.DECODE, 400, BAD_REQUEST, f"{lead}{wrong[0].field}: {wrong[0].message}")
        unknown = sorted(f'unknown field "{dotted(path)}"' for path in self.write.shape().pruned)
        if unknown and self.settings.strict:
            return _Refusal(record.DECODE, 400, BAD_REQUEST, f"{lead}strict decoding error: {', '.join(unknown)}")
        self.warnings += unknown
        return None

    def _mutated(self) -> _Refusal | None:
        """Our defaults, as a patch of the mutating webhook; the schema's come once more behind it."""
        if not self.settings.defaults or not self.write.mutated:
            return None
        response = self._ask(Purpose.MUTATE)
        if not response["allowed"]:
            return self._refused(Purpose.MUTATE, response)
        if "patch" in response:
            self.write.mutate(schema=self.settings.schema)
        return None

    def _invalid(self) -> _Refusal | None:
        if not self.settings.schema:
            return None
        errors = self.write.conform()
        if not errors:
            return None
        told = causes(errors, self.write.object, self.write.schema)
        stage = record.SCHEMA if any(not error.rule for error in errors) else record.CEL
        return _Refusal(stage, 422, INVALID, summed_up(self.kind, self._name(), told), told)

    def _denied(self) -> _Refusal | None:
        if not read_as(self.kind, Purpose.VALIDATE):
            return None
        response = self._ask(Purpose.VALIDATE)
        self.warnings += response.get("warnings", ())
        return None if response["allowed"] else self._refused(Purpose.VALIDATE, response)

    def _unstored(self) -> _Refusal | None:
        """The conversion to the version in which objects are kept, the last thing before they are."""
        stored = BY_NAME[self.kind].stored(self.write.settings.line)
        if stored == self.version:
            return None
        request = {"uid": "check", "desiredAPIVersion": api_version(stored), "objects": [self.write.object]}
        review = {"apiVersion": "apiextensions.k8s.io/v1", "kind": "ConversionReview", "request": request}
        result = orjson.loads(convert.answer(orjson.dumps(review), self.write.settings.line).body)["response"]["result"]
        if result["status"] == "Success":
            return None
        message = f"conversion webhook for {api_version(self.version)}, Kind={self.kind} failed: {result['message']}"
        return _Refusal(record.CONVERSION, 500, "", message)

    def _ask(self, purpose: Purpose) -> dict[str, Any]:
        """What our server answers to the API server's request; a webhook must be registered for the kind."""
        route = ROUTES[path_of(self.kind, self.version, purpose)]
        plural = BY_NAME[self.kind].plural
        request = {
            "uid": "check",
            "kind": {"group": GROUP, "version": self.version, "kind": self.kind},
            "resource": {"group": GROUP, "version": self.version, "resource": plural},
            "name": self._name(),
            "operation": self.write.operation,
            "userInfo": {"username": self.settings.user},
            "object": self.write.object,
            "oldObject": self.write.old,
        }
        review = {"apiVersion": "admission.k8s.io/v1", "kind": "AdmissionReview", "request": request}
        body = orjson.dumps(review, option=orjson.OPT_SORT_KEYS)  # as an API server writes it, so that several errors stand in its order
        response: dict[str, Any] = orjson.loads(admission_answer(route, body, self.serving).body)["response"]
        return response

    def _refused(self, purpose: Purpose, response: dict[str, Any]) -> _Refusal:
        """A denial as the API server passes it on: the status of the webhook, its name before the message."""
        status = response["status"]
        stage = record.DECODE if status["code"] == 400 else record.POLICIES
        message = f'admission webhook "{webhook_name(self.kind, self.version, purpose)}" denied the request: {status["message"]}'
        told = tuple((cause["field"], cause["message"]) for cause in (status.get("details") or {}).get("causes", ()))
        return _Refusal(stage, status["code"], status["reason"], message, told)

    def _name(self) -> str:
        name = (self.write.object.get("metadata") or {}).get("name")
        return name if isinstance(name, str) else ""
