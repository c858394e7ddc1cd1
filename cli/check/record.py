"""What `check` says: findings with their place in a file, notes on what could not be judged, and the checks that are its own."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, NamedTuple

from dynamo_webhooks.cli.check.objects import Identity
from dynamo_webhooks.cli.yaml.load import Position, Source

if TYPE_CHECKING:
    from dynamo_webhooks.cli.check.edits import Edit

ERROR: Final = "error"
WARNING: Final = "warning"
FAULT: Final = "fault"

# stages in the order in which an API server would come to them
COMMENT: Final = "comment"
DECODE: Final = "decode"
SCHEMA: Final = "schema"
CEL: Final = "cel"
POLICIES: Final = "policies"
CONVERSION: Final = "conversion"


class OwnRule(NamedTuple):
    """A check that `check` makes beside the policies; the same data that a rule has, as far as reports show it."""

    name: str
    code: str
    title: str
    why: str
    fix: str  # empty where each message says it
    level: str = ERROR  # of its findings as long as no flag asks for another


UNKNOWN_KIND: Final = OwnRule(
    "unknown-kind",
    "DYN001",
    "A kind or version that does not exist.",
    "The API server refuses an object of a kind or version that no CustomResourceDefinition declares.",
    "Use one of the kinds and versions that `dynamo-webhooks version` lists",
)
WRONG_TYPE: Final = OwnRule(
    "wrong-type",
    "DYN002",
    "A value of another type than its field has.",
    "An object that can't be read into its type is refused before any rule looks at it.",
    "Write a value of the field's type; quote what must be text",
)
UNKNOWN_FIELD: Final = OwnRule(
    "unknown-field",
    "DYN003",
    "A field that the kind does not have.",
    "The API server drops unknown fields, so what they were meant to say is lost; a strict request is refused.",
    "Remove the field, or correct its name",
    WARNING,
)
SCHEMA_RULE: Final = OwnRule(
    "schema-mismatch",
    "DYN004",
    "A value that the schema of the kind does not allow.",
    "The API server checks every write against the CustomResourceDefinition before validating webhooks are asked.",
    "",
)
CEL_RULE: Final = OwnRule(
    "schema-rule",
    "DYN005",
    "A rule of the CustomResourceDefinition is broken.",
    "The API server evaluates these rules of the schema itself, before validating webhooks are asked.",
    "",
)
IGNORE_WITHOUT_REASON: Final = OwnRule(
    "ignore-without-reason",
    "DYN006",
    "A comment ignores a rule and gives no reason.",
    "Whoever reads the file next must be able to tell whether the exception still holds, so without a reason nothing is ignored.",
    "Write the reason behind the brackets",
)
UNUSED_IGNORE: Final = OwnRule(
    "unused-ignore",
    "DYN007",
    "A comment ignores a rule that finds nothing there.",
    "A comment that has outlived its cause would hide the next mistake at that place.",
    "Remove the comment",
    WARNING,
)
UNCONVERTIBLE: Final = OwnRule(
    "unconvertible",
    "DYN008",
    "An object that the kind's other version cannot say.",
    "The API server keeps objects in one version and converts the others, so such an object could be neither stored nor judged.",
    "",
)
LEGACY_KIND: Final = OwnRule(
    "legacy-kind",
    "DYN009",
    "A document of an earlier form of the API.",
    "No API server with today's definitions takes it; what it means has other fields, and often another kind, today.",
    "Run `dynamo-webhooks convert` on the file: it writes the current form and lists what you must decide",
)
DAMAGED_REMAINDER: Final = OwnRule(
    "damaged-remainder",
    "DYN010",
    "An annotation that keeps the other version's fields can't be used.",
    "Such annotations are written by conversion; one that was edited by hand is set aside, and what it kept does not come back.",
    "Remove the annotation, or restore the text that conversion wrote",
    WARNING,
)
CONVERSION_LOSS: Final = OwnRule(
    "conversion-loss",
    "DYN011",
    "An object that does not come back from the kind's other version as it was.",
    "Whoever reads and writes the object in the other version would change this field without knowing.",
    "Remove the annotations that conversion wrote, or write the field as the other version gives it back",
    WARNING,
)
NULL_ENTRY: Final = OwnRule(
    "null-entry",
    "DYN012",
    "An entry of a map that is null.",
    "The API server drops such an entry with its name and says nothing, so what the name was meant to say is lost.",
    "Write a value behind the name, or remove the entry",
    WARNING,
)
# the policy of this name meets no null service behind a schema: it has been dropped by then
SERVICE_NULL: Final = OwnRule(
    "service-null",
    "DYN102",
    "A service has a name but is null.",
    "The API server drops the entry, and the graph comes up without the service.",
    "Write `{}` behind the name for a service that needs no settings, or remove the entry",
    WARNING,
)
LONG_REMAINDER: Final = OwnRule(
    "long-remainder",
    "DYN013",
    "An object that needs nearly all annotations, or more, that Kubernetes admits in the kind's other version.",
    "What the other version has no field for is kept in annotations there, compressed where it is long, and Kubernetes admits 256 KiB of"
    " them. An object that is stored in spite of that is shown in part in the other version, with the label"
    " `nvidia.com/dynamo-webhooks-remainder: too-long`, and can be neither written nor deleted there.",
    "Keep long texts in a ConfigMap that the pods read, or divide the object",
)
STAYS_AFTER_MOVE: Final = OwnRule(
    "stays-after-move",
    "DYN014",
    "Something that a manifest no longer says, and that stays when its version changes.",
    "On an apply the API server removes what the manager said before, by the fields of the version in which he said it. It can't remove"
    " what the new version has no field for, or one entry of a list that v1alpha1 merges as a whole. Only `--against` and `--old` show it.",
    "Change the version alone and the rest in a later commit, or remove it by hand after the sync (docs/gitops.md)",
    WARNING,
)
DUPLICATE: Final = OwnRule(
    "duplicate-object",
    "DYN016",
    "An object that stands in two places.",
    "Whoever applies both gets the one that comes last. It is told of objects with the same namespace, and of those in the same folder.",
    "Remove one of them, or give it another name",
    WARNING,
)
UNFILLED: Final = OwnRule(
    "unfilled-placeholder",
    "DYN015",
    "A placeholder of a template that nothing has filled.",
    "An API server takes `${NAME}`, `<name>` and `{{ name }}` for the value itself, and refuses it or runs the graph with it.",
    "Fill it with --set NAME=VALUE or --env-file FILE, or check what your templates render",
    WARNING,
)
OWN_RULES: Final = (
    UNKNOWN_KIND,
    WRONG_TYPE,
    UNKNOWN_FIELD,
    SCHEMA_RULE,
    CEL_RULE,
    IGNORE_WITHOUT_REASON,
    UNUSED_IGNORE,
    UNCONVERTIBLE,
    LEGACY_KIND,
    DAMAGED_REMAINDER,
    CONVERSION_LOSS,
    NULL_ENTRY,
    LONG_REMAINDER,
    STAYS_AFTER_MOVE,
    UNFILLED,
    DUPLICATE,
)
# what is found of an object before its rules and its conversion are looked at, or beside them
EARLY: Final = frozenset(
    rule.name
    for rule in (
        UNKNOWN_KIND,
        WRONG_TYPE,
        UNKNOWN_FIELD,
        SCHEMA_RULE,
        CEL_RULE,
        LEGACY_KIND,
        NULL_ENTRY,
        STAYS_AFTER_MOVE,
        UNFILLED,
        DUPLICATE,
    )
)
OWN_BY_NAME: Final = {rule.name: rule for rule in OWN_RULES}


class Also(NamedTuple):
    """A rule that finds the same mistake as another one, in which stage and at which field, and its words."""

    rule: str
    code: str
    stage: str
    path: str
    message: str

    def __str__(self) -> str:
        """Writes the rule with its code."""
        return f"{self.rule} ({self.code})"


class Reported(NamedTuple):
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
    field: str = ""  # what `explain` tells of it, where that says more than of the rule: a field of the schema, keys and indices as *
    also: tuple[Also, ...] = ()  # what says the same of the value
    edit: Edit | None = None  # the remedy, where it needs nobody's judgement

    @property
    def order(self) -> tuple[str, int, str, int, str, str]:
        """The key that reports sort by: file, line, rule, then what tells equals apart."""
        return self.source.name, self.position.line, self.rule, self.position.column, self.path, self.message

    @property
    def about(self) -> str:
        """The message behind the field that it speaks of, with the names of other rules that say the same."""
        others = "".join(f" [also {one}]" for one in self.also)
        return f"{self.path}: {self.message}{others}" if self.path else f"{self.message}{others}"


class NotEvaluated(NamedTuple):
    """Something that could not be judged offline: which rule (or `policies` as a whole) for which object, why, and the flag that helps."""

    rule: str
    code: str
    source: Source
    line: int
    identity: Identity
    reason: str
    flag: str


def own(
    rule: OwnRule, level: str, stage: str, source: Source, position: Position, identity: Identity | None, path: str, message: str
) -> Reported:
    """Makes a finding of one of the checks here."""
    return Reported(rule.name, rule.code, level, stage, source, position, identity, path, message, rule.fix)
