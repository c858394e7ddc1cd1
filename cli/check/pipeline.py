"""What `check` reports of one object, stage by stage; the stages themselves are admission/pipeline.py's."""

from __future__ import annotations

from contextlib import suppress
from typing import TYPE_CHECKING, Final, NamedTuple

from dynamo_webhooks.admission.pipeline import Admission, OldError
from dynamo_webhooks.admission.pipeline import Settings as Serving
from dynamo_webhooks.admission.registration import Purpose, read_as
from dynamo_webhooks.api.kinds import BY_NAME
from dynamo_webhooks.api.line import Line
from dynamo_webhooks.api.paths import MISSING, Key, Path, lookup, render
from dynamo_webhooks.api.schema import whole_schema
from dynamo_webhooks.api.walk.errors import NOWHERE
from dynamo_webhooks.api.walk.validate import HINT
from dynamo_webhooks.api.wording import shortened
from dynamo_webhooks.cli.check import record
from dynamo_webhooks.cli.check.edits import ADD, SET, Edit, remedy, retyped, spelling
from dynamo_webhooks.cli.check.fields import field_hint, field_of, known_fields, node_at
from dynamo_webhooks.cli.check.objects import Found, unknown
from dynamo_webhooks.cli.check.record import NotEvaluated, Reported, own
from dynamo_webhooks.cli.facts.load import flag_for
from dynamo_webhooks.cli.legacy.recognise import recognised
from dynamo_webhooks.conversion.lens.protocol import ConversionError
from dynamo_webhooks.policies.facts import Facts
from dynamo_webhooks.policies.finding import Finding, Level
from dynamo_webhooks.policies.review import CURRENT, DELETE, Fields, line_of

if TYPE_CHECKING:
    from dynamo_webhooks.api.walk.errors import FieldError


LONGEST: Final = 2_000  # characters of one path or message: both may quote names, and those may be absurd


class Settings(NamedTuple):
    """What a run was asked for; the same for every object."""

    facts: Facts = Facts()
    profile: str = CURRENT
    user: str = ""
    schema: bool = True
    defaults: bool = True
    strict: bool = False
    judged: bool = True  # whether rules and conversion are asked, after the schema

    @property
    def line(self) -> Line:
        """The line of the operator to judge by."""
        return line_of(self.facts, self.profile)


class Outcome(NamedTuple):
    """Everything that is to be said about one object."""

    findings: list[Reported]
    not_evaluated: list[NotEvaluated]


def check_object(found: Found, operation: str, old: Fields | None, settings: Settings) -> Outcome:
    """Takes one object through all stages. The object's data are changed on the way; positions are those of the text."""
    return _Run(found, operation, old, settings).run()


class _Run:
    """One object on its way; each stage adds to the findings."""

    def __init__(self, found: Found, operation: str, old: Fields | None, settings: Settings) -> None:
        self.found = found
        self.kind, self.version = found.identity.kind, found.version
        self.settings = settings
        serving = Serving(settings.facts, settings.profile)
        self.write = Admission(self.kind, self.version, operation, found.data, old, user=settings.user, settings=serving)
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
        wrong = self.write.decode()
        if self.write.operation == DELETE:
            self._wrong_types(wrong)
            return self._outcome()
        if self.settings.schema:
            told = {error.path for error in wrong}
            self._wrong_types(tuple(error for error in self.write.decode_metadata() if error.path not in told))
            self._shape()
        if not wrong and self.settings.defaults:
            with suppress(ConversionError):  # the policies say so
                self.write.mutate(schema=self.settings.schema)
        early = (
            wrong if self.settings.defaults and self.write.mutated else ()
        )  # the mutating webhook reads the object before the schema does
        self._wrong_types(early)
        told = {error.path for error in early}
        seen = self._schema(told) if self.settings.schema else set()
        self._wrong_types(tuple(error for error in wrong if error.path not in seen and error not in early))
        if not self.settings.judged:
            return self._outcome()
        self._policies([error.path for error in wrong])
        if not wrong:
            self._conversion()
        return self._outcome()

    def _outcome(self) -> Outcome:
        return Outcome(self.findings, self.not_evaluated)

    def _unknown_kind(self) -> None:
        field = "apiVersion" if self.kind in BY_NAME else "kind"
        self._own(record.UNKNOWN_KIND, record.ERROR, record.DECODE, (field,), field, unknown(self.kind, self.version))

    def _shape(self) -> None:
        """Reports what the server drops; of the status, which is written through the subresource alone, all is nobody's request."""
        schema, done = self.write.schema, self.write.shape()
        for path in _asked(done.pruned, self.kind):
            level = record.ERROR if self.settings.strict else record.WARNING
            if node_at(whole_schema(self.kind, self.version), path) is not None:
                text = f"is a field of line {Line.V1_5}, and is dropped on line {self.settings.line}"
                fix = f"remove the field, or check with --line {Line.V1_5} what a later operator gets"
                self._own(record.UNKNOWN_FIELD, level, record.DECODE, path, render(path), text, fix)
                continue
            text = "is no field of this kind, and is dropped" + field_hint(schema, path)
            edit = spelling(self.found.data, path, known_fields(schema, path))
            self._own(record.UNKNOWN_FIELD, level, record.DECODE, path, render(path), text, edit=edit)
        for path in _asked(done.dropped, self.kind):
            if isinstance(path[-1], Key):  # a null field is an absent one; a null entry of a map is lost with its name
                rule = record.SERVICE_NULL if path[:-1] == ("spec", "services") else record.NULL_ENTRY
                self._own(rule, record.WARNING, record.DECODE, path, render(path), "is null, so the API server drops it")

    def _schema(self, told: set[Path]) -> set[Path]:
        """Reports what the server's own validation refuses, except where something was told; returns the places of all that it says."""
        seen: set[Path] = set()
        errors = dict.fromkeys(self.write.conform())  # a server repeats what two parts of an allOf refuse
        placed = {error.path for error in errors if error.field != NOWHERE}
        for error in errors:
            if error.path in told or (error.field == NOWHERE and error.path in placed):  # the latter sums up what was said of the place
                continue
            if HINT in error.message:
                self._note("schema-rule", record.CEL_RULE.code, "the schema's rules wait until its other errors are mended", "")
                continue
            seen.add(error.path)
            rule, stage = (record.CEL_RULE, record.CEL) if error.rule else (record.SCHEMA_RULE, record.SCHEMA)
            from dynamo_webhooks.cli.check.allowed import told as allowed

            there = lookup(self.write.object, error.path)
            text, fix, value = allowed(error, there)
            edit = Edit(ADD if there is MISSING else SET, error.path, value) if value is not None else None
            self._own(rule, record.ERROR, stage, error.path, render(error.path), text, fix, edit)
        return seen

    def _wrong_types(self, errors: tuple[FieldError, ...]) -> None:
        for error in errors:
            from dynamo_webhooks.cli.check.allowed import quoting

            wanted = (node_at(self.write.schema, error.path) or {}).get("type", "")
            if not wanted and error.message.startswith("must be a string"):  # labels and annotations, which no schema has
                wanted = "string"
            value = lookup(self.write.object, error.path)
            edit = retyped(wanted, value, self._written(error.path))
            edit = edit._replace(path=error.path) if edit is not None else None
            self._own(
                record.WRONG_TYPE, record.ERROR, record.DECODE, error.path, render(error.path), error.message, quoting(wanted, value), edit
            )

    def _written(self, path: Path) -> str:
        """A scalar as it stands in the file; empty where it is not on one line."""
        line, start, end = self.found.document.value_position(path)
        lines = self.found.document.source.lines
        return lines[line - 1][start - 1 : end - 1] if 0 < line <= len(lines) else ""

    def _policies(self, wrong: list[Path]) -> None:
        """Reports what the rules find; with values of a wrong type, what doesn't depend on these."""
        if not read_as(self.kind, Purpose.VALIDATE):
            return
        if not any(path[:1] in ((), ("metadata",)) for path in wrong) and self.write.excluded:
            self._note("policies", "", "the namespace is excluded: another operator judges its objects", "")
            return
        for finding in self._apart_from(wrong) if wrong else self._judged():
            if finding.level is Level.NOT_EVALUATED:
                flag = flag_for(finding.fact, self.settings.line)
                self._note(finding.rule.name, finding.rule.code, f"the fact {finding.fact} is not known", flag)
            else:
                self._policy(finding)

    def _apart_from(self, wrong: list[Path]) -> list[Finding]:
        from dynamo_webhooks.cli.check.rest import independent

        found = independent(self.write, wrong, schema=self.settings.schema, defaults=self.settings.defaults)
        fields = shortened(" and ".join(render(path) for path in wrong), 200)
        why = "the object can't be read into its type" if found is None else f"rules that read {fields} wait until its type is right"
        self._note("policies", "", why, "")
        return found or []

    def _judged(self) -> list[Finding]:
        try:
            return self.write.judge()
        except OldError as error:
            read = read_as(self.kind, Purpose.VALIDATE)
            self._note("policies", "", f"the old object can't be converted to {read}: {render(error.path)}: {error.reason}", "")
        except ConversionError as error:
            self._own(record.UNCONVERTIBLE, record.ERROR, record.POLICIES, error.path, render(error.path), error.reason)
        return []

    def _conversion(self) -> None:
        """Reports what does not come back from the other version; what the policies could not have converted, they have told."""
        if len(BY_NAME[self.kind].versions) == 1 or any(finding.rule == record.UNCONVERTIBLE.name for finding in self.findings):
            return
        from dynamo_webhooks.admission.losses import losses

        for loss in losses(
            self.write.object, self.kind, self.version, self.write.old, admitted=self._is_admitted(), line=self.settings.line
        ):
            rule = record.OWN_BY_NAME[loss.name]
            self._own(rule, loss.level.value, record.CONVERSION, loss.path, render(loss.path), loss.text)

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
                edit=remedy(finding, self.found.data),
            )
        )

    def _own(
        self, rule: record.OwnRule, level: str, stage: str, path: Path, field: str, text: str, fix: str = "", edit: Edit | None = None
    ) -> None:
        document = self.found.document
        position = document.position(path) if rule is record.UNKNOWN_FIELD else document.value_position(path)
        made = own(rule, level, stage, document.source, position, self.found.identity, shortened(field, LONGEST), shortened(text, LONGEST))
        if rule in (record.SCHEMA_RULE, record.CEL_RULE):  # their pages say less than the field's own
            made = made._replace(field=field_of(self.write.schema, path))
        made = made._replace(edit=edit) if edit is not None else made
        self.findings.append(made._replace(fix=fix) if fix else made)

    def _note(self, rule: str, code: str, reason: str, flag: str) -> None:
        document = self.found.document
        note = NotEvaluated(rule, code, document.source, document.position(()).line, self.found.identity, reason, flag)
        if note not in self.not_evaluated:
            self.not_evaluated.append(note)


def _asked(paths: tuple[Path, ...], kind: str) -> list[Path]:
    """The paths that are not the status's, where the kind has a subresource for it."""
    return [path for path in paths if path[0] != "status" or "status" not in BY_NAME[kind].subresources]
