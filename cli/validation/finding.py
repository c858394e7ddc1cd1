"""Findings of `check` with their place in a file, those of one mistake as one, and notes on rules that could not be evaluated."""

from collections.abc import Sequence
from typing import Final, NamedTuple

from ...admission.pipeline import Admission
from ...api.line import OLDEST
from ...api.models.constraints import ALL
from ...api.paths import Path, format_path
from ...api.wording import shorten
from ...policies.checks import CEL_RULE, OTHER_VERSION, SCHEMA_RULE, UNKNOWN_FIELD
from ...policies.finding import Finding
from ...policies.rule import Rule
from ..objects.manifest import Identity, Manifest
from ..yaml.load import Position, Source
from .fields import find_first_line, format_field
from .fixes import FieldEdit, find_fix
from .levels import ERROR, POLICIES

MAX_TEXT_CHARACTERS: Final = 2_000  # of a path or message: both may quote long names
_SCHEMA: Final = (SCHEMA_RULE.name, CEL_RULE.name)
_TWINS: Final = {"component names must be unique": "service-name-collision"}  # a rule of the schema for a list -> ours for an item
_NAME: Final = ".name"  # a rule that reads names as keys of a map speaks of the whole item


class DuplicateFinding(NamedTuple):
    """A rule that finds the same mistake as another one, in which stage and at which field, and its words."""

    rule: str
    code: str
    stage: str
    path: str
    message: str

    def __str__(self) -> str:
        """Writes the rule with its code."""
        return f"{self.rule} ({self.code})"


class LocatedFinding(NamedTuple):
    """One finding at its place."""

    rule: str
    code: str
    level: str  # error, warning or fault
    stage: str
    source: Source
    position: Position
    identity: Identity | None  # None for a comment that belongs to no object
    path: str
    message: str
    fix: str
    field: str = ""  # for `explain`, if more useful than the rule: a field of the schema, keys and indices as *
    also: tuple[DuplicateFinding, ...] = ()  # what says the same of the value
    edit: FieldEdit | None = None  # the remedy, if it needs no decision
    since: str = ""  # the first line of the operator with such a finding; empty for all lines

    @property
    def order(self) -> tuple[str, int, str, int, str, str]:
        """The key that reports sort by: file, line, rule, then the remaining distinctions."""
        return self.source.name, self.position.line, self.rule, self.position.column, self.path, self.message

    @property
    def sentence(self) -> str:
        """The message with the line that it begins with."""
        return f"{self.message} [since operator {self.since}]" if self.since else self.message

    @property
    def about(self) -> str:
        """The message behind the field that it speaks of, with the names of other rules that say the same."""
        others = "".join(f" [also {other}]" for other in self.also)
        return f"{self.path}: {self.sentence}{others}" if self.path else f"{self.sentence}{others}"


class NotEvaluated(NamedTuple):
    """A rule (or `policies` as a whole) that couldn't be evaluated offline for an object, the reason, and the flag that helps."""

    rule: str
    code: str
    source: Source
    line: int
    identity: Identity
    reason: str
    flag: str


def report_own(
    rule: Rule, level: str, stage: str, source: Source, position: Position, identity: Identity | None, path: str, message: str
) -> LocatedFinding:
    """Makes a finding of a check, which no evaluation of rules finds."""
    return LocatedFinding(rule.name, rule.code, level, stage, source, position, identity, path, message, rule.fix.removesuffix("."))


class ValidationOutcome(NamedTuple):
    """All findings and notes of one object."""

    findings: list[LocatedFinding]
    not_evaluated: list[NotEvaluated]


class Findings:
    """Collects the findings of one object and locates them in its document."""

    def __init__(self, manifest: Manifest, write: Admission) -> None:
        self.manifest, self.write = manifest, write
        self.outcome = ValidationOutcome([], [])
        self.located = self.outcome.findings
        self._repeated: dict[Path, int] = {}  # list with a repeated key -> the number of its finding

    def add(
        self,
        rule: Rule,
        level: str,
        stage: str,
        at: Path,
        text: str,
        fix: str = "",
        edit: FieldEdit | None = None,
        of: Path = (),
        by: str = "",
    ) -> None:
        """Adds a finding; `fix` replaces the rule's. `of` is the field to name if it is not `at`, `by` the id of a broken CEL rule."""
        document = self.manifest.document
        position = document.position(at) if rule in (UNKNOWN_FIELD, OTHER_VERSION) else document.value_position(at)
        field, text = (shorten(words, MAX_TEXT_CHARACTERS) for words in (format_path(of or at), text))
        made = report_own(rule, level, stage, document.source, position, self.manifest.identity, field, text)
        if rule in (SCHEMA_RULE, CEL_RULE):  # the field's own page has more than theirs
            made = made._replace(field=format_field(self.write.schema, at))
        self.located.append(made._replace(edit=edit, fix=fix or made.fix, since=self._since(rule, at, by)))

    def _since(self, rule: Rule, path: Path, by: str) -> str:
        """The line that a finding begins with, by its rule and its field; empty for all lines, and for a field of later lines alone."""
        if not self.manifest.known:
            return ""
        begins = next((constraint.since for constraint in ALL if constraint.id == by), rule.since or OLDEST)
        line = max(begins, find_first_line(self.manifest.identity.kind, self.manifest.version, path))
        return str(line) if OLDEST < line <= self.write.settings.facts.line else ""

    def add_policy(self, finding: Finding) -> None:
        """Adds a finding of a rule."""
        edit = find_fix(finding, self.manifest.data)
        self.add(finding.rule, finding.level.value, POLICIES, finding.path, finding.text, finding.fix.removesuffix("."), edit)

    def note(self, rule: str, code: str, reason: str, flag: str) -> None:
        """Adds a note on something that was not evaluated, once."""
        document = self.manifest.document
        note = NotEvaluated(rule, code, document.source, document.position(()).line, self.manifest.identity, reason, flag)
        if note not in self.outcome.not_evaluated:
            self.outcome.not_evaluated.append(note)

    def expect_repeats(self, item: Path) -> None:
        """Lets the next finding hold what others find of the same repeated key in a list."""
        self._repeated.setdefault(item, len(self.located))

    def is_repeated(self, rule: Rule, stage: str, item: Path, path: Path, text: str) -> bool:
        """Whether the schema has found a repeated key in the list; its finding then holds this one, too."""
        index = self._repeated.get(item)
        if index is not None:
            main = self.located[index]
            self.located[index] = main._replace(also=(*main.also, DuplicateFinding(rule.name, rule.code, stage, format_path(path), text)))
        return index is not None


def merge_duplicates(findings: Sequence[LocatedFinding]) -> list[LocatedFinding]:
    """The findings with one for each value: what the schema refuses there, too, goes with the rule that refuses it."""
    merged: list[LocatedFinding | None] = list(findings)
    first: dict[tuple[object, ...], int] = {}
    for index, finding in sorted(enumerate(findings), key=lambda pair: pair[1].rule in _SCHEMA):
        if finding.level != ERROR or not (finding.stage == POLICIES or finding.rule in _SCHEMA):
            continue
        place = (finding.source.name, finding.identity)
        at = first.get((*place, finding.path, finding.position)) if finding.rule in _SCHEMA else None
        if at is None and finding.rule in _SCHEMA and finding.path.endswith(_NAME):
            at = first.get((*place, finding.path.removesuffix(_NAME), _got(finding)))
        if at is None and finding.rule == CEL_RULE.name:
            at = next(
                (first.get((*place, finding.path, twin)) for begin, twin in _TWINS.items() if finding.message.startswith(begin)), None
            )
        if at is not None and (main := merged[at]) is not None:
            also = (*main.also, DuplicateFinding(finding.rule, finding.code, finding.stage, finding.path, finding.message))
            merged[at] = main._replace(also=also, since=min(main.since, finding.since))
            merged[index] = None
            continue
        first.setdefault((*place, finding.path, finding.position), index)
        first.setdefault((*place, finding.path, _got(finding)), index)
        first.setdefault((*place, finding.path.rpartition("[")[0], finding.rule), index)
    return [entry for entry in merged if entry is not None]


def _got(finding: LocatedFinding) -> str:
    """The value that a message quotes at its end."""
    return finding.message.rpartition(", got ")[2]
