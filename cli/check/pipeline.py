"""What happens to one object, in a server's order: decode, schema defaults, our defaults, schema and CEL, policies, conversion."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, NamedTuple

from dynamo_webhooks.api.decode import decoder
from dynamo_webhooks.api.kinds import BY_NAME
from dynamo_webhooks.api.paths import Key, Path, render
from dynamo_webhooks.api.schema import load_schema
from dynamo_webhooks.api.walk.default import default, drop_nulls
from dynamo_webhooks.api.walk.errors import NOWHERE
from dynamo_webhooks.api.walk.object_meta import metadata_type_errors
from dynamo_webhooks.api.walk.prune import prune
from dynamo_webhooks.api.walk.validate import HINT, validate
from dynamo_webhooks.api.wording import shortened
from dynamo_webhooks.cli.check import record
from dynamo_webhooks.cli.check.fields import field_hint, field_of, plain
from dynamo_webhooks.cli.check.objects import Found
from dynamo_webhooks.cli.check.record import NotEvaluated, Reported, own
from dynamo_webhooks.cli.check.versions import read_as, unknown
from dynamo_webhooks.cli.defaulted import defaulted
from dynamo_webhooks.cli.facts import flag_for
from dynamo_webhooks.cli.legacy.recognise import recognised
from dynamo_webhooks.conversion.lens.protocol import ConversionError
from dynamo_webhooks.policies.evaluate import evaluate
from dynamo_webhooks.policies.facts import Facts
from dynamo_webhooks.policies.finding import Finding, Level
from dynamo_webhooks.policies.review import CURRENT, DELETE, UPDATE, Fields, Review

if TYPE_CHECKING:
    from dynamo_webhooks.api.walk.errors import FieldError


# kinds whose mutating webhook is asked about new objects alone
MUTATED_ONCE: Final = frozenset({"DynamoComponentDeployment", "DynamoGraphDeploymentRequest"})
LONGEST: Final = 2_000  # characters of one path or message: both may quote names, and those may be absurd


class Settings(NamedTuple):
    """What a run was asked for; the same for every object."""

    facts: Facts = Facts()
    profile: str = CURRENT
    user: str = ""
    schema: bool = True
    defaults: bool = True
    strict: bool = False


class Outcome(NamedTuple):
    """Everything that is to be said about one object."""

    findings: list[Reported]
    not_evaluated: list[NotEvaluated]


def check_object(found: Found, operation: str, old: Fields | None, settings: Settings) -> Outcome:
    """Takes one object through all stages. The object's data are changed on the way; positions are those of the text."""
    return _Run(found, operation, old, settings).run()


def prepared(data: Fields, kind: str, version: str) -> tuple[Fields, tuple[FieldError, ...]]:
    """An old object as the server would hold it, with what keeps it from being one."""
    errors = decoder(kind, version)(data)
    if not errors:
        schema = load_schema(kind, version)
        default(data, schema)
        prune(data, schema)
        drop_nulls(data, schema)
    return data, errors


class _Run:
    """One object on its way; each stage adds to the findings."""

    def __init__(self, found: Found, operation: str, old: Fields | None, settings: Settings) -> None:
        self.found = found
        self.operation = operation
        self.old = old if operation == UPDATE else None
        self.settings = settings
        self.findings: list[Reported] = []
        self.not_evaluated: list[NotEvaluated] = []

    def run(self) -> Outcome:
        if legacy := recognised(self.found.data):
            text = f"is an earlier form of the API ({legacy}), which today's definitions do not have"
            self._own(record.LEGACY_KIND, record.ERROR, record.DECODE, ("kind",), "kind", text)
            return self._outcome()
        if not self.found.known:
            self._unknown_kind()
            return self._outcome()
        kind, version = self.found.identity.kind, self.found.version
        obj = self.found.data
        wrong = decoder(kind, version)(obj)
        if self.operation == DELETE:
            self._wrong_types(wrong)
            return self._outcome()
        if self.settings.schema:
            told = {error.path for error in wrong}
            self._wrong_types(tuple(error for error in metadata_type_errors(obj, load_schema(kind, version)) if error.path not in told))
            self._fields(obj, kind, version)
        if not wrong and self.settings.defaults:
            obj = self._defaulted(obj, kind, version)
        early = wrong if self._is_mutated(kind, version) else ()
        self._wrong_types(early)
        told = {error.path for error in early}
        seen = self._schema(obj, kind, version, told) if self.settings.schema else set()
        self._wrong_types(tuple(error for error in wrong if error.path not in seen and error not in early))
        if wrong:
            self._note("policies", "", "the object can't be read into its type", "")
        else:
            self._policies(obj, kind, version)
            self._conversion(obj, kind, version)
        return self._outcome()

    def _outcome(self) -> Outcome:
        return Outcome(self.findings, self.not_evaluated)

    def _unknown_kind(self) -> None:
        kind, version = self.found.identity.kind, self.found.version
        field = "apiVersion" if kind in BY_NAME else "kind"
        self._own(record.UNKNOWN_KIND, record.ERROR, record.DECODE, (field,), field, unknown(kind, version))

    def _fields(self, obj: Fields, kind: str, version: str) -> None:
        """Drops what the server drops and sets the schema's defaults, in the server's order."""
        schema = load_schema(kind, version)
        if "status" in BY_NAME[kind].subresources:
            obj.pop("status", None)  # written through the subresource alone, so its content is nobody's request
        default(obj, schema)
        for path in prune(obj, schema):
            level = record.ERROR if self.settings.strict else record.WARNING
            text = "is no field of this kind, and is dropped" + field_hint(schema, path)
            self._own(record.UNKNOWN_FIELD, level, record.DECODE, path, render(path), text)
        for path in drop_nulls(obj, schema):
            if isinstance(path[-1], Key):  # a null field is an absent one; a null entry of a map is lost with its name
                rule = record.SERVICE_NULL if path[:-1] == ("spec", "services") else record.NULL_ENTRY
                self._own(rule, record.WARNING, record.DECODE, path, render(path), "is null, so the API server drops it")

    def _defaulted(self, obj: Fields, kind: str, version: str) -> Fields:
        """Applies our defaults as the mutating webhook would, and the schema's once more to what they made."""
        try:
            changed = defaulted(self._review(obj, self.old, version)).object
        except ConversionError:
            return obj  # the policies say so
        if changed is not obj and self.settings.schema:
            default(changed, load_schema(kind, version))
        return changed

    def _is_mutated(self, kind: str, version: str) -> bool:
        """Whether a mutating webhook is asked about this write: it reads the object before the schema is looked at."""
        asked = self.settings.defaults and read_as(kind, version, self.settings.profile, defaults=True) != ""
        return asked and (self.operation != UPDATE or kind not in MUTATED_ONCE)

    def _schema(self, obj: Fields, kind: str, version: str, told: set[Path]) -> set[Path]:
        """Reports what the server's own validation refuses, except where something was told; returns the places of all that it says."""
        seen: set[Path] = set()
        errors = dict.fromkeys(validate(obj, load_schema(kind, version), self.old))  # a server repeats what two parts of an allOf refuse
        placed = {error.path for error in errors if error.field != NOWHERE}
        for error in errors:
            if error.path in told or (error.field == NOWHERE and error.path in placed):  # the latter sums up what was said of the place
                continue
            if HINT in error.message:
                self._note("schema-rule", record.CEL_RULE.code, "the schema's rules wait until its other errors are mended", "")
                continue
            seen.add(error.path)
            rule, stage = (record.CEL_RULE, record.CEL) if error.rule else (record.SCHEMA_RULE, record.SCHEMA)
            self._own(rule, record.ERROR, stage, error.path, render(error.path), plain(error))
        return seen

    def _wrong_types(self, errors: tuple[FieldError, ...]) -> None:
        for error in errors:
            self._own(record.WRONG_TYPE, record.ERROR, record.DECODE, error.path, render(error.path), error.message)

    def _policies(self, obj: Fields, kind: str, version: str) -> None:
        read = read_as(kind, version, self.settings.profile)
        if not read:
            return
        if _is_leased(obj, self.settings.facts):
            self._note("policies", "", "the namespace is excluded: another operator judges its objects", "")
            return
        for finding in self._judged(obj, kind, version, read):
            if finding.level is Level.NOT_EVALUATED:
                self._note(finding.rule.name, finding.rule.code, f"the fact {finding.fact} is not known", flag_for(finding.fact))
            else:
                self._policy(finding)

    def _judged(self, obj: Fields, kind: str, version: str, read: str) -> list[Finding]:
        """What the policies find, in the author's fields and words; an object of another version than they read is converted first."""
        if read == version:
            return evaluate(self._review(obj, self.old, version))
        from dynamo_webhooks.webhooks.across import Across

        across = Across(kind, version, read)
        try:
            judged = across.judged(obj)
        except ConversionError as error:
            self._own(record.UNCONVERTIBLE, record.ERROR, record.POLICIES, error.path, render(error.path), error.reason)
            return []
        try:
            old = across.judged(self.old) if self.old is not None else None
        except ConversionError as error:
            self._note("policies", "", f"the old object can't be converted to {read}: {render(error.path)}: {error.reason}", "")
            return []
        return across.findings(evaluate(self._review(judged, old, read)), judged, obj)

    def _conversion(self, obj: Fields, kind: str, version: str) -> None:
        """Reports what does not come back from the other version; what the policies could not have converted, they have told."""
        if len(BY_NAME[kind].versions) == 1 or any(finding.rule == record.UNCONVERTIBLE.name for finding in self.findings):
            return
        from dynamo_webhooks.cli.check.journey import losses

        for loss in losses(obj, kind, version, self.old, admitted=self._is_admitted()):
            self._own(loss.rule, loss.level, record.CONVERSION, loss.path, render(loss.path), loss.text)

    def _is_admitted(self) -> bool:
        """Whether the schema lets the object pass, as far as it was asked."""
        refused = any(finding.level == record.ERROR and finding.stage != record.POLICIES for finding in self.findings)
        return self.settings.schema and not refused

    def _policy(self, finding: Finding) -> None:
        rule, document = finding.rule, self.found.document
        self.findings.append(
            Reported(
                rule.name,
                rule.code,
                finding.level.value,
                record.POLICIES,
                document.source,
                document.value_position(finding.path),
                self.found.identity,
                shortened(render(finding.path), LONGEST),
                shortened(finding.text, LONGEST),
                (finding.fix or rule.fix).removesuffix("."),
            )
        )

    def _review(self, obj: Fields, old: Fields | None, version: str) -> Review:
        kind = f"{self.found.identity.kind}/{version}"
        return Review(kind, self.operation, obj, old, user=self.settings.user, facts=self.settings.facts, profile=self.settings.profile)

    def _own(self, rule: record.OwnRule, level: str, stage: str, path: Path, field: str, text: str) -> None:
        document = self.found.document
        position = document.position(path) if rule is record.UNKNOWN_FIELD else document.value_position(path)
        made = own(rule, level, stage, document.source, position, self.found.identity, shortened(field, LONGEST), shortened(text, LONGEST))
        if rule in (record.SCHEMA_RULE, record.CEL_RULE):  # their pages say less than the field's own
            made = made._replace(field=field_of(load_schema(self.found.identity.kind, self.found.version), path))
        self.findings.append(made)

    def _note(self, rule: str, code: str, reason: str, flag: str) -> None:
        document = self.found.document
        note = NotEvaluated(rule, code, document.source, document.position(()).line, self.found.identity, reason, flag)
        if note not in self.not_evaluated:
            self.not_evaluated.append(note)


def _is_leased(obj: Fields, facts: Facts) -> bool:
    """Whether another operator has leased the object's namespace; only an operator that runs cluster-wide gives way."""
    names = facts.excludedNamespaces
    namespace = (obj.get("metadata") or {}).get("namespace")
    return facts.operatorScope == "cluster" and isinstance(names, frozenset) and namespace in names
