"""The fate of one object in an API server's words: the first stage that refuses it, its status and message, and the warnings.

A server is played through in its order: reading, mutating webhook, schema, validating webhook, conversion to the stored version. What the
webhooks say is what the very code of the server answers to the request that an API server would send.
"""

import copy
import json
import re
from typing import Any, Final, NamedTuple, TypeAlias

import orjson

from ...admission.pipeline import Admission
from ...admission.pipeline import Settings as Serving
from ...admission.registration import Purpose, find_rule_version, webhook_name
from ...api.crd import served_schema
from ...api.kinds import BETA, BY_NAME, GROUP, api_version
from ...api.paths import MISSING, lookup
from ...api.schema import Node, find_node
from ...api.walk.errors import NOWHERE, FieldError, Reason, format_dotted_path
from ...api.walk.validate import HINT
from ...api.wording import shorten
from ...policies.review import CREATE, DELETE, Fields
from ...policies.rule import Level
from ...webhooks import convert
from ...webhooks.admission import answer as admission_answer
from ...webhooks.routes import ROUTES, route_path
from ..objects.manifest import NO_KIND, NO_VERSION, Identity, Manifest
from ..yaml.load import Source
from .conflicts import UID, VERSION, find_conflicts
from .levels import CEL, CONVERSION, DECODE, IGNORE, POLICIES, SCHEMA, STRICT
from .pipeline import ValidationSettings

Causes: TypeAlias = tuple[tuple[str, str], ...]  # (field, message), as in `details.causes`

MAX_MESSAGE_CHARACTERS: Final = 20_000  # a server's own has no limit
BAD_REQUEST: Final = "BadRequest"
INVALID: Final = "Invalid"
MAX_VALUE_CHARACTERS: Final = 200  # those that facets look at are names, modes and sizes
_LEAD: Final = re.compile(r"(Invalid value|Unsupported value|Duplicate value|Too many)(: )?")
_CODES: Final = {"Unauthorized": 401, "Forbidden": 403, INVALID: 422, "RequestEntityTooLarge": 413}
_NAMES: Final = ("metadata.name", "metadata.generateName")
_SUBDOMAIN: Final = (
    "a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or '.', and must start and end with an "
    "alphanumeric character (e.g. 'example.com', regex used for validation is "
    r"'[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*')"
)
_QUOTED_VALUE: Final = re.compile(r'must be of type \w+: "(\w+)"$')
_TYPES: Final = {dict: "object", list: "array", str: "string", bool: "boolean", int: "integer", float: "number"}


def _message(error: FieldError, obj: Fields, schema: Node) -> str:
    """The message with the value behind its first words; our own sentences leave it out, because it may be a secret."""
    lead = _LEAD.match(error.message)
    if lead is None or (quoted := _quoted(error, obj, schema)) is None:
        return error.message
    rest = _SUBDOMAIN if error.field in _NAMES and "RFC 1123 subdomain" in error.message else error.message[lead.end() :]
    return f"{lead[1]}: {quoted}{f': {rest}' if rest else ''}"


def _quoted(error: FieldError, obj: Fields, schema: Node) -> str | None:
    """The value as the server quotes it: its type where that is wrong or a CEL rule is broken, else the scalar itself."""
    if error.field == NOWHERE:
        return "null" if HINT in error.message else '""'
    if seen := _QUOTED_VALUE.search(error.message):
        return f'"{seen[1]}"'
    value: Any = lookup(obj, error.path)
    if value is MISSING:
        return None
    if error.rule:
        return f'"{_TYPES.get(type(value), "null")}"'
    if error.reason is Reason.TOO_MANY or (isinstance(value, list) and "should have at least" in error.message):
        return str(len(value))
    if error.reason is Reason.DUPLICATE and isinstance(value, dict):
        # only the keys of an item that is identified by its keys
        names = (find_node(schema, error.path[:-1]) or {}).get("x-kubernetes-list-map-keys") or value
        value = {name: value[name] for name in names if name in value}
    elif isinstance(value, (dict, list)):
        return None
    return shorten(json.dumps(value, ensure_ascii=False, separators=(",", ":"), sort_keys=True), MAX_VALUE_CHARACTERS)


def _once_each(causes: Causes) -> list[str]:
    """The sentences of causes, each once."""
    return [*dict.fromkeys(f"{field}: {message}" for field, message in causes)]


class ServerResponse(NamedTuple):
    """Answer of an API server to a write; `stage` is the one that refuses (record.DECODE ...), empty where it is accepted."""

    source: Source
    line: int
    identity: Identity
    operation: str
    status: int  # of HTTP: 201 created, 200 updated or deleted, else the refusal's
    reason: str  # of the Status, empty where it is accepted
    message: str  # of the Status, empty where it is accepted
    stage: str
    warnings: tuple[str, ...] = ()
    causes: Causes = ()
    details_kind: str = ""  # the kind in the details of the Status, where it is not the object's

    @property
    def accepted(self) -> bool:
        """Whether the object is written."""
        return self.status < 400

    @property
    def kubectl_text(self) -> str:
        """Text that kubectl prints for a refusal; empty where the write is accepted."""
        if self.accepted:
            return ""
        if self.reason != INVALID or not self.causes:
            return f"Error from server{f' ({self.reason})' if self.reason else ''}: {self.message}"
        head = f'The {self.details_kind or self.identity.kind} "{self.identity.name}" is invalid: '
        lines = _once_each(self.causes)
        return head + lines[0] if len(lines) == 1 else head + "".join(f"\n* {line}" for line in lines)


def simulate_server(manifest: Manifest, operation: str, old: Fields | None, settings: ValidationSettings) -> ServerResponse:
    """The simulated response of an API server; changes no argument. `old` is the stored object of an update, ready to be compared."""
    server = _Server(manifest, operation, old, settings)
    answer = server.refusal() or ServerResponse(*server.where, 201 if operation == CREATE else 200, "", "", "")
    return answer._replace(warnings=tuple(server.warnings))


class _Server:
    """One write on its way through a server."""

    def __init__(self, manifest: Manifest, operation: str, old: Fields | None, settings: ValidationSettings) -> None:
        self.where = (manifest.document.source, manifest.document.position(()).line, manifest.identity, operation)
        self.kind, self.version = manifest.identity.kind, manifest.version
        self.known, self.namespace = manifest.known, manifest.identity.namespace
        self.settings = settings
        self.serving = Serving(settings.facts)
        obj, old = copy.deepcopy(manifest.data), copy.deepcopy(old)
        schema = served_schema(self.kind, self.version, settings.line) if self.known else None
        self.write = Admission(self.kind, self.version, operation, obj, old, user=settings.user, settings=self.serving, schema=schema)
        self.warnings: list[str] = []
        self._status = {"status": obj["status"]} if "status" in obj else {}  # only the mutating webhook reads it
        self._conflicts = dict(find_conflicts(obj, old)) if settings.in_cluster else {}

    def refusal(self) -> ServerResponse | None:
        """The first stage's refusal, None where every stage lets the object pass."""
        if self.kind == NO_KIND:
            return self._refuse(DECODE, 400, BAD_REQUEST, "Object 'Kind' is missing")
        if self.version == NO_VERSION:
            return self._refuse(DECODE, 400, BAD_REQUEST, "Object 'apiVersion' is missing")
        if not self.known:
            message = f'no matches for kind "{self.kind}" in version "{self.write.object["apiVersion"]}"'
            return self._refuse(DECODE, 404, "NotFound", message)
        if any(version.deprecated for version in BY_NAME[self.kind].versions if version.name == self.version):
            # the warning of the CustomResourceDefinition
            self.warnings.append(f"{api_version(self.version)} {self.kind} is deprecated; use {api_version(BETA)} {self.kind}")
        if self.write.operation == DELETE:
            return None
        return (
            self._read()
            or self._mutated()
            or self._conflict()
            or self._invalid()
            or self._forbidden()
            or self._denied()
            or self._unstored()
        )

    def _read(self) -> ServerResponse | None:
        """Decoding: metadata of a wrong type ends it; what the schema doesn't know is refused, or dropped, as `validate` says."""
        if not self.settings.schema:
            return None
        lead = f'{self.kind} in version "{self.version}" cannot be handled as a {self.kind}: '
        if wrong := self.write.decode_metadata():
            return self._refuse(DECODE, 400, BAD_REQUEST, f"{lead}{wrong[0].field}: {wrong[0].message}")
        typed = [error for error in self.write.decode() if error.path[:1] == ("status",)] if self.settings.server_side else []
        if typed:
            where = f"{self.namespace}/{self._name()}; {api_version(self.version)}, Kind={self.kind}"
            text = f"failed to create typed patch object ({where}): .{typed[0].field}: {typed[0].message}"
            return self._refuse(DECODE, 500, "", text)
        unknown = sorted(f'unknown field "{format_dotted_path(path)}"' for path in self.write.shape(nulls=self.settings.server_side).pruned)
        if unknown and self.settings.validate == STRICT:
            return self._refuse(DECODE, 400, BAD_REQUEST, f"{lead}strict decoding error: {', '.join(unknown)}")
        self.warnings += () if self.settings.validate == IGNORE else unknown
        return None

    def _mutated(self) -> ServerResponse | None:
        """Our defaults, as a patch of the mutating webhook; the schema's come once more behind it."""
        if not self.settings.defaults or not self.write.mutated or route_path(self.kind, self.version, Purpose.MUTATE) not in ROUTES:
            return None
        response = self._call_webhook(Purpose.MUTATE, {**self.write.object, **self._status})
        if not response["allowed"]:
            return self._refuse_as_webhook(Purpose.MUTATE, response)
        if "patch" in response:
            self.write.mutate(schema=self.settings.schema)
        return None

    def _conflict(self) -> ServerResponse | None:
        """Another version of the stored object than the file has."""
        version = (self.write.object.get("metadata") or {}).get(VERSION)
        if VERSION not in self._conflicts or version in ("", "0"):
            return None
        changed = "the object has been modified; please apply your changes to the latest version and try again"
        text = f'Operation cannot be fulfilled on {BY_NAME[self.kind].plural}.{GROUP} "{self._name()}": {changed}'
        return self._refuse(DECODE, 409, "Conflict", text)

    def _invalid(self) -> ServerResponse | None:
        if not self.settings.schema:
            return None
        errors = self.write.conform()
        causes: Causes = ()
        if VERSION in self._conflicts:
            causes = (("metadata.resourceVersion", "Invalid value: 0: must be specified for an update"),)
        elif UID in self._conflicts:
            causes = (("metadata.uid", f"Invalid value: {json.dumps(self.write.object['metadata'][UID])}: field is immutable"),)
        if not errors and not causes:
            return None
        causes += tuple((error.field, _message(error, self.write.object, self.write.schema)) for error in errors)
        texts = _once_each(causes)
        whole = texts[0] if len(texts) == 1 else f"[{', '.join(texts)}]"
        stage = CEL if errors and all(error.rule for error in errors) else SCHEMA
        return self._refuse(stage, 422, INVALID, f'{self.kind}.{GROUP} "{self._name()}" is invalid: {whole}', causes)

    def _forbidden(self) -> ServerResponse | None:
        """The first refusal by policies of users, which come before the webhook; those without a Binding do nothing."""
        if self.settings.user_rules is None:
            return None
        from ...admission.userrules.policy import POLICY
        from .user_rules import ask_all

        denied = None
        for verdict in ask_all(self.settings.user_rules, self.write, self.settings.facts, self.settings.groups):
            by = f"ValidatingAdmissionPolicy '{verdict.policy.name}' with binding '{verdict.binding}'"
            if verdict.policy.kind != POLICY or not verdict.binding:
                continue
            if verdict.level is Level.WARNING:
                self.warnings.append(f"Validation failed for {by}: {verdict.text}")
            elif verdict.level is Level.ERROR and denied is None:
                text, what = f"{by} denied request: {verdict.answer or verdict.text}", BY_NAME[self.kind].plural
                whole = f'{what}.{GROUP} "{self._name()}" is forbidden: {text}'
                denied = self._refuse(POLICIES, _CODES[verdict.reason], verdict.reason, whole, (("", text),), what)
        return denied

    def _denied(self) -> ServerResponse | None:
        if not find_rule_version(self.kind, Purpose.VALIDATE):
            return None
        response = self._call_webhook(Purpose.VALIDATE, self.write.object)
        self.warnings += response.get("warnings", ())
        return None if response["allowed"] else self._refuse_as_webhook(Purpose.VALIDATE, response)

    def _unstored(self) -> ServerResponse | None:
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
        return self._refuse(CONVERSION, 500, "", message)

    def _call_webhook(self, purpose: Purpose, obj: Fields) -> dict[str, Any]:
        """Our server's answer to the API server's request; a webhook must be registered for the kind."""
        route = ROUTES[route_path(self.kind, self.version, purpose)]
        plural = BY_NAME[self.kind].plural
        request = {
            "uid": "check",
            "kind": {"group": GROUP, "version": self.version, "kind": self.kind},
            "resource": {"group": GROUP, "version": self.version, "resource": plural},
            "name": self._name(),
            "operation": self.write.operation,
            "userInfo": {"username": self.settings.user},
            "object": obj,
            "oldObject": self.write.old,
        }
        review = {"apiVersion": "admission.k8s.io/v1", "kind": "AdmissionReview", "request": request}
        body = orjson.dumps(review, option=orjson.OPT_SORT_KEYS)  # an API server sorts keys, which decides the order of errors
        response: dict[str, Any] = orjson.loads(admission_answer(route, body, self.serving).body)["response"]
        return response

    def _refuse_as_webhook(self, purpose: Purpose, response: dict[str, Any]) -> ServerResponse:
        """A denial as the API server passes it on: the status of the webhook, its name before the message."""
        status = response["status"]
        stage = DECODE if status["code"] == 400 else POLICIES
        message = f'admission webhook "{webhook_name(self.kind, self.version, purpose)}" denied the request: {status["message"]}'
        causes = tuple((cause["field"], cause["message"]) for cause in (status.get("details") or {}).get("causes", ()))
        return self._refuse(stage, status["code"], status["reason"], message, causes)

    def _refuse(self, stage: str, status: int, reason: str, message: str, causes: Causes = (), what: str = "") -> ServerResponse:
        return ServerResponse(
            *self.where, status, reason, shorten(message, MAX_MESSAGE_CHARACTERS), stage, causes=causes, details_kind=what
        )

    def _name(self) -> str:
        name = (self.write.object.get("metadata") or {}).get("name")
        return name if isinstance(name, str) else ""
