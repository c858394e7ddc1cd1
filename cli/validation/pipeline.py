"""Findings of `check` about one object, stage by stage; the stages themselves are admission/pipeline.py's."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import suppress
from copy import deepcopy
from typing import TYPE_CHECKING, Final, NamedTuple

from ...admission.judging import StoredObjectError
from ...admission.pipeline import Admission
from ...admission.pipeline import Settings as Serving
from ...admission.registration import Purpose, find_rule_version
from ...api.crd import is_open, served_schema
from ...api.kinds import BY_NAME, GAMMA, GROUP, api_version, list_kind_versions
from ...api.line import Line
from ...api.paths import MISSING, Key, Path, format_path, lookup
from ...api.schema import find_node, load_schema, whole_schema
from ...api.walk.admit import shape
from ...api.walk.errors import NOWHERE, FieldError, Reason
from ...api.walk.validate import HINT, validate
from ...api.wording import shorten
from ...conversion.lens.protocol import ConversionError
from ...policies import checks
from ...policies.catalogue import find_rule
from ...policies.facts import Facts
from ...policies.finding import Finding
from ...policies.review import CREATE, DELETE, UPDATE, Fields
from ...policies.rule import Level
from ..console.nearest import MIN_SURE_RATIO, did_you_mean, find_nearest
from ..facts.load import find_flag
from ..legacy.recognise import recognise
from ..objects.manifest import Manifest, explain_unknown_kind
from .conflicts import find_conflicts
from .fields import find_first_line, list_known_fields
from .finding import Findings, ValidationOutcome
from .fixes import ADD, MOVE, RENAME, SET, FieldEdit, convert_scalar_type, correct_spelling
from .levels import CEL, CONVERSION, DECODE, ERROR, IGNORE, POLICIES, SCHEMA, STRICT, WARN, WARNING
from .references import list_checkpoint_references

if TYPE_CHECKING:
    from ..userrules.load import UserRuleContext


_UNIQUE: Final = "cel-unique-names"  # says of a list again what its keys say


class ValidationSettings(NamedTuple):
    """Options of a run."""

    facts: Facts = Facts()
    user: str = ""
    schema: bool = True
    defaults: bool = True
    validate: str = STRICT  # what becomes of unknown fields
    judged: bool = True  # whether rules and conversion are asked, after the schema
    namespace: str = ""  # of objects that name none; the same for every object of a file, as are the facts
    phases: Mapping[str, str] | None = None  # of the namespaces of the cluster that is asked; None: not known
    user_rules: UserRuleContext | None = None  # users' own rules, and what they read; None without any
    groups: tuple[str, ...] = ()  # of the user; none where they are not known
    server_side: bool = False  # whether the object is the result of a server-side apply
    in_cluster: bool = False  # whether the old object is one that a cluster holds
    before: Line | None = None  # the line that an upgrade begins with; None without one

    @property
    def line(self) -> Line:
        """The line of the operator to judge by."""
        return self.facts.line


def check_object(manifest: Manifest, operation: str, old: Fields | None, settings: ValidationSettings) -> ValidationOutcome:
    """Takes one object through all stages. The object's data are changed on the way; positions are those of the text."""
    return _Run(manifest, operation, old, settings, manifest.data).run()


def describe_unknown_fields(manifest: Manifest, facts: Facts) -> list[str]:
    """A sentence for each field of an object that the server drops, behind its place in the text. The object stays as it is."""
    if not manifest.known or recognise(manifest.data):
        return []
    run = _Run(manifest, CREATE, None, ValidationSettings(facts, validate=WARN), deepcopy(manifest.data))
    run.find_dropped(readable=not run.write.decode())
    dropped = [finding for finding in run.findings.located if finding.rule == checks.UNKNOWN_FIELD.name]
    return [
        f"{finding.source.name}:{finding.position.line}:{finding.position.column}: {finding.identity}: {finding.about}"
        for finding in dropped
    ]


class _Run:
    """One object on its way; each stage adds to the findings."""

    def __init__(self, manifest: Manifest, operation: str, old: Fields | None, settings: ValidationSettings, data: Fields) -> None:
        self.manifest = manifest
        self.kind, self.version = manifest.identity.kind, manifest.version
        self.settings = settings
        serving = Serving(settings.facts)
        self.write = Admission(self.kind, self.version, operation, data, old, user=settings.user, settings=serving)
        self.findings = Findings(manifest, self.write)
        self._read_as: dict[str, bool] = {}  # by version
        self._refused: set[Path] = set()  # where the webhook refuses what a definition leaves open
        self.slips: dict[str, str] = {}  # absent fields that are there by another name -> how to mend that

    def run(self) -> ValidationOutcome:
        """Takes the object through the stages; a field that is missing because its name is misspelt is mended by the name."""
        outcome = self._through()
        for index, finding in enumerate(outcome.findings) if self.slips else ():
            for path, fix in self.slips.items():
                if finding.rule != checks.UNKNOWN_FIELD.name and (
                    finding.path == path or finding.path.startswith((f"{path}.", f"{path}["))
                ):
                    outcome.findings[index] = finding._replace(fix=fix, edit=None)
        return outcome

    def _through(self) -> ValidationOutcome:
        if self.settings.phases is not None:
            self._namespace(self.manifest.identity.namespace, self.settings.phases)
        if legacy := recognise(self.manifest.data):
            text = f"is an earlier form of the API ({legacy}), which today's definitions do not have"
            self.findings.add(checks.LEGACY_KIND, ERROR, DECODE, ("kind",), text)
            return self.findings.outcome
        if not self.manifest.known:
            self._unknown_kind()
            return self.findings.outcome
        if (self.kind, self.version) not in list_kind_versions(self.settings.line):
            field = "apiVersion" if BY_NAME[self.kind].enveloped else "kind"
            text = f"exists since operator {Line.V1_7}, and not in {self.settings.line}"
            fix = f"use --line {Line.V1_7} if your operator is newer"
            self.findings.add(checks.UNKNOWN_KIND, ERROR, DECODE, (field,), text, fix)
            return self.findings.outcome
        wrong = self._decode()
        if self.settings.in_cluster:
            for name, text in find_conflicts(self.write.object, self.write.old):
                self.findings.add(checks.CONFLICT, ERROR, DECODE, ("metadata", name), text)
        if self.write.operation == DELETE:
            self._wrong_types(wrong)
            self._user_rules(wrong)
            return self.findings.outcome
        if self.settings.schema:
            reported = {error.path for error in wrong}
            self._wrong_types(tuple(error for error in self.write.decode_metadata() if error.path not in reported))
            self.find_dropped(readable=not wrong)
        if not wrong and self.settings.defaults:
            with suppress(ConversionError):  # the policies report it
                self.write.mutate(schema=self.settings.schema)
        # the mutating webhook reads the object before the schema does
        early = wrong if self.settings.defaults and self.write.mutated else ()
        self._wrong_types(early)
        reported = {error.path for error in early}
        seen = self._schema(reported) if self.settings.schema else set()
        self._wrong_types(tuple(error for error in wrong if error.path not in seen and error not in early))
        if not self.settings.judged:
            return self.findings.outcome
        self._policies([error.path for error in wrong])
        self._user_rules(wrong)
        if not wrong:
            self._conversion()
            self._references()
        return self.findings.outcome

    def _decode(self) -> tuple[FieldError, ...]:
        """Wrong types; a status is only read by a mutating webhook, and by the server of a server-side apply."""
        wrong, settings = self.write.decode(), self.settings
        if (settings.defaults and self.write.mutated) or settings.server_side or not settings.schema:
            return wrong
        return tuple(error for error in wrong if error.path[:1] != ("status",) or "status" not in BY_NAME[self.kind].subresources)

    def _namespace(self, name: str, phases: Mapping[str, str]) -> None:
        """Report what an API server says about the namespace alone."""
        text = ""
        if name and name not in phases:
            text = f'must be a namespace of the cluster, got "{name}"'
        elif name and phases[name] == "Terminating" and self.write.operation != UPDATE:
            text = f'must be a namespace that stays, and "{name}" is being deleted'
        if text:
            self.findings.add(checks.NAMESPACE, ERROR, SCHEMA, ("metadata", "namespace"), text)

    def _references(self) -> None:
        """Report references whose meaning changes on the way to this line."""
        if self.settings.before is None or not self.settings.before < Line.V1_5 <= self.settings.line:
            return
        for path, name in list_checkpoint_references(self.kind, self.version, self.manifest.data):
            text = f'names a PodSnapshot, no longer the DynamoCheckpoint "{name}"'
            self.findings.add(checks.REFERENCE, WARNING, POLICIES, path, text)

    def _unknown_kind(self) -> None:
        field, edit = "apiVersion" if self.kind in BY_NAME else "kind", None
        group, _, version = self.version.rpartition("/")
        if group and BY_NAME[self.kind].has(version) and find_nearest(group, [GROUP], MIN_SURE_RATIO):
            edit = FieldEdit(SET, (field,), api_version(version))
        self.findings.add(checks.UNKNOWN_KIND, ERROR, DECODE, (field,), explain_unknown_kind(self.manifest), edit=edit)

    def find_dropped(self, *, readable: bool = True) -> None:
        """Report fields that the server drops, or of an object with the right types its webhook refuses.

        A known status is dropped without a report, since only the subresource writes it.
        """
        schema = self.write.schema
        if readable and not self.write.excluded:
            self._refused = {finding.path for finding in self._judge_open_parts()}
        done = self.write.shape(nulls=self.settings.server_side)
        level, lost = (ERROR, "") if self.settings.validate == STRICT else (WARNING, ", and is dropped")
        left_open = dict.fromkeys(path for path in done.pruned if is_open(path, schema))
        for path in _refused(tuple(path for path in done.pruned if path not in left_open), self.kind, self.settings.validate):
            self._unknown_field(path, level, DECODE, lost)
        for path in left_open:
            if not readable or path in self._refused:
                self._unknown_field(path, ERROR, POLICIES, "")
        for path in _without_status(done.dropped, self.kind):
            if isinstance(path[-1], Key):  # a null field is an absent one; a null entry of a map is lost with its name
                # the rule of this name meets no null service behind a schema, which drops it
                service = find_rule("service-null") if path[:-1] == ("spec", "services") else None
                self.findings.add(service or checks.NULL_ENTRY, WARNING, DECODE, path, "is null, so the API server drops it")

        from .other_version import find_foreign_keys

        for path, name in find_foreign_keys(self.kind, self.version, self.manifest.data):
            text = f"is {BY_NAME[self.kind].other(self.version)}'s name of {name}; here it is another resource"
            self.findings.add(checks.OTHER_VERSION, WARNING, DECODE, path, text, f"Rename it to {name}", FieldEdit(RENAME, path, name))

    def _unknown_field(self, path: Path, level: str, stage: str, lost: str) -> None:
        """Reports a field that the kind lacks, unless it is below a value of a wrong type, which is reported."""
        schema = self.write.schema
        if (find_node(schema, path[:-1]) or {}).get("type") == "array":  # a map in place of a list is a wrong type
            return
        if find_node(whole_schema(self.kind, self.version), path) is not None:
            later = find_first_line(self.kind, self.version, path)
            text = f"is a field of operator {later}, not of {self.settings.line}{lost}"
            fix = f"remove the field, or use --line {later} if your operator is newer"
            self.findings.add(checks.UNKNOWN_FIELD, level, stage, path, text, fix)
            return
        if self._foreign(path, level, stage, lost):
            return
        known = list_known_fields(schema, path)
        text = f"is not a field of this kind{lost}{did_you_mean(str(path[-1]), known)}"
        edit = correct_spelling(self.manifest.data, path, known)
        fix = ""
        if edit is not None:
            fix = f"Rename it to {edit.value}"
            self.slips[format_path((*path[:-1], edit.value))] = f"Rename {path[-1]} to {edit.value}"
        self.findings.add(checks.UNKNOWN_FIELD, level, stage, path, text, fix, edit)

    def _foreign(self, path: Path, level: str, stage: str, lost: str) -> bool:
        """Reports a field of the kind's other version, with its name in this one; returns whether it is one."""
        from .other_version import find_foreign

        foreign = find_foreign(self.kind, self.version, path, self.manifest.data)
        if foreign is None:
            return False
        version = f"apiVersion: {api_version(foreign.version)}" if self._reads_as(foreign.version) else ""
        if foreign.here is None:
            text = f"is a field of {foreign.version}, and none of {self.version}{lost}"
            fix = f"Remove the field{f', or write {version}' * bool(version)}"
        else:
            text, fix = f"is {foreign.version}'s name of {foreign.name}{lost}", f"Write {foreign.name}{f', or {version}' * bool(version)}"
            if lookup(self.manifest.data, foreign.here) is MISSING:
                self.slips[format_path(foreign.here)] = f"Write {foreign.name} in place of {path[-1]}"
        edit = FieldEdit(MOVE, path, (self.settings.line, foreign.there)) if foreign.is_sure else None
        self.findings.add(checks.UNKNOWN_FIELD, level, stage, path, text, fix, edit)
        return True

    def _reads_as(self, version: str) -> bool:
        """Whether the object has only fields of another version, beside those that its own lacks."""
        if version not in self._read_as:
            self._read_as[version] = not shape(deepcopy(self.manifest.data), load_schema(self.kind, version, self.settings.line)).pruned
        return self._read_as[version]

    def _schema(self, reported: set[Path]) -> set[Path]:
        """Report errors of the server's own validation, except where a finding exists; returns the paths of all errors."""
        seen: set[Path] = set()
        whole, left_open = self.write.schema, dict[FieldError, None]()
        errors = dict.fromkeys(self.write.conform())  # a server repeats what two parts of an allOf refuse
        if self._refused or any(is_open(error.path, whole) for error in errors):
            # the definition's own rules don't wait for the parts that are left open
            errors = dict.fromkeys(validate(self.write.object, served_schema(self.kind, self.version, self.settings.line), self.write.old))
            more = (error for error in validate(self.write.object, whole) if error not in errors)
            left_open = dict.fromkeys(error for error in more if error.path in self._refused)
            errors |= left_open
        placed = {error.path for error in errors if error.field != NOWHERE}
        for error in sorted(errors, key=lambda error: bool(error.rule)):
            if error.path in reported or (error.field == NOWHERE and error.path in placed):  # the latter summarises findings of the path
                continue
            if HINT in error.message:
                self.findings.note("schema-rule", checks.CEL_RULE.code, "the schema's rules wait until its other errors are mended", "")
                continue
            seen.add(error.path)
            rule, stage = (checks.CEL_RULE, CEL) if error.rule else (checks.SCHEMA_RULE, SCHEMA)
            if error in left_open:
                stage = POLICIES
            level = WARNING if self.version == GAMMA else ERROR  # whose definition is not known whole
            from .schema_messages import explain_schema_error as allowed

            there, at = lookup(self.write.object, error.path), error.path
            keys = (find_node(self.write.schema, error.path[:-1]) or {}).get("x-kubernetes-list-map-keys", ())
            if error.reason is Reason.DUPLICATE and len(keys) == 1:
                at = (*error.path, keys[0])
                there = lookup(self.write.object, at)
                self.findings.expect_repeats(error.path[:-1])
            text, fix, value = allowed(error, there)
            edit = FieldEdit(ADD if there is MISSING else SET, error.path, value) if value is not None else None
            if error.rule != _UNIQUE or not self.findings.is_repeated(rule, stage, error.path, error.path, text):
                self.findings.add(rule, level, stage, at, text, fix, edit, error.path, error.rule)
        return seen

    def _wrong_types(self, errors: tuple[FieldError, ...]) -> None:
        for error in errors:
            from .schema_messages import suggest_number, suggest_quotes

            node = find_node(self.write.schema, error.path) or {}
            wanted = node.get("type", "")
            if not wanted and error.message.startswith("must be a string"):  # labels and annotations, which no schema has
                wanted = "string"
            value = lookup(self.write.object, error.path)
            edit = convert_scalar_type(wanted, value, self._written(error.path))
            edit = edit._replace(path=error.path) if edit is not None else None
            name = str(error.path[-1]) if error.path else ""
            fix = suggest_quotes(wanted, value) or suggest_number(wanted, value, name, node.get("description", ""))
            self.findings.add(checks.WRONG_TYPE, ERROR, DECODE, error.path, error.message, fix, edit)

    def _written(self, path: Path) -> str:
        """A scalar's text in the file; empty if it is not on one line."""
        line, start, end = self.manifest.document.value_position(path)
        lines = self.manifest.document.source.lines
        return lines[line - 1][start - 1 : end - 1] if 0 < line <= len(lines) else ""

    def _policies(self, wrong: list[Path]) -> None:
        """Reports what the rules find of an object that can be read into its type."""
        if not find_rule_version(self.kind, Purpose.VALIDATE):
            return
        if not any(path[:1] in ((), ("metadata",)) for path in wrong) and self.write.excluded:
            self.findings.note("policies", "", "the namespace is excluded: another operator validates its objects", "")
            return
        if wrong:
            fields = shorten(" and ".join(map(format_path, wrong)), 200)
            self.findings.note("policies", "", f"rules are skipped until {fields} has the right type", "")
            return
        if (owned := self.write.owned) is not None:
            if owned.reason:
                self.findings.add(checks.REQUEST_OWNER, ERROR, POLICIES, tuple(owned.field.split(".")), owned.reason)
            return
        try:
            judged = [*self.write.judge(), *self._pods_of_roles()]
        except StoredObjectError as error:
            read = find_rule_version(self.kind, Purpose.VALIDATE)
            reason = f"the old object can't be converted to {read}: {format_path(error.path)}: {error.reason}"
            self.findings.note("policies", "", reason, "")
            return
        except ConversionError as error:
            self.findings.add(checks.UNCONVERTIBLE, ERROR, POLICIES, error.path, error.reason)
            return
        for finding in judged:
            if finding.level is Level.NOT_EVALUATED:
                flag = find_flag(finding.fact, self.settings.line)
                self.findings.note(finding.rule.name, finding.rule.code, f"the fact {finding.fact} is not known", flag)
            else:
                self.findings.add_policy(finding)

    def _pods_of_roles(self) -> list[Finding]:
        """Finds what an API server would refuse of pods of roles; the schema finds all else that the webhook finds in their templates."""
        return [finding for finding in self._judge_open_parts() if finding.rule.name == "pod-refused"]

    def _judge_open_parts(self) -> list[Finding]:
        from ...admission.open_parts import judge_open_parts
        from ...policies.answer import MAX_FINDINGS

        return judge_open_parts(self.write.review(), MAX_FINDINGS)

    def _user_rules(self, wrong: tuple[FieldError, ...]) -> None:
        """Asks the users' own rules about an object that can be read into its type."""
        if self.settings.user_rules is not None and not wrong:
            from .user_rules import ask_user_rules

            ask_user_rules(self.settings.user_rules, self.write, self.findings, self.settings.facts, self.settings.groups)

    def _conversion(self) -> None:
        """Report values that do not round-trip through the other version; the policies have reported objects that can't be converted."""
        if len(BY_NAME[self.kind].versions) == 1 or self.write.owned is not None:
            return
        if any(finding.rule == checks.UNCONVERTIBLE.name for finding in self.findings.located):
            return
        from ...admission.losses import find_losses

        by_schema = [finding for finding in self.findings.located if finding.stage != POLICIES or finding.rule == checks.SCHEMA_RULE.name]
        # the rest of the object is judged without unknown fields
        refused = any(finding.level == ERROR and finding.rule != checks.UNKNOWN_FIELD.name for finding in by_schema)
        write, admitted = self.write, self.settings.schema and not refused  # by the schema, as far as it was asked
        for loss in find_losses(write.object, self.kind, self.version, write.old, admitted=admitted, line=self.settings.line):
            rule = loss.rule
            if rule is not checks.UNCONVERTIBLE or not self.findings.is_repeated(rule, CONVERSION, loss.path[:-2], loss.path, loss.text):
                self.findings.add(rule, loss.level.value, CONVERSION, loss.path, loss.text)


def _refused(paths: tuple[Path, ...], kind: str, validate: str) -> Sequence[Path]:
    """The paths of unknown fields to report; strict decoding looks at a status, too."""
    return () if validate == IGNORE else paths if validate == STRICT else _without_status(paths, kind)


def _without_status(paths: tuple[Path, ...], kind: str) -> list[Path]:
    """The paths that are not the status's, where the kind has a subresource for it."""
    return [path for path in paths if path[0] != "status" or "status" not in BY_NAME[kind].subresources]
