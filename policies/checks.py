"""Checks of reading, schema, conversion and comments: in the one catalogue, with pages as rules have, but found without an evaluation."""

from typing import Any, Final

from .finding import Level
from .rule import Rule, Stage


def _evaluate(_: Any) -> Any:
    raise NotImplementedError("a check is no rule that is evaluated")


def _check(code: str, name: str, title: str, why: str, fix: str = "", level: Level = Level.ERROR) -> Rule:
    """A check; `level` is that of its findings as long as no flag asks for another. Without a fix, each message states its own."""
    return Rule(
        code=code,
        name=name,
        where={},
        level=level,
        stage=Stage.SHAPE,
        ratchets=False,
        documentation=f"{title}\n\nWhy\n{why}\n" + (f"\nFix\n{fix}\n" if fix else ""),
        check=_evaluate,
        module=__name__,
    )


UNKNOWN_KIND: Final = _check(
    "DYN001",
    "unknown-kind",
    "A kind or version that does not exist.",
    "The API server refuses an object of a kind or version that no CustomResourceDefinition declares.",
    "Use one of the kinds and versions that `dynamo-webhooks version` lists.",
)
WRONG_TYPE: Final = _check(
    "DYN002",
    "wrong-type",
    "A value of another type than its field has.",
    "An object that can't be read into its type is refused before any rule looks at it.",
    "Write a value of the field's type; quote what must be text.",
)
UNKNOWN_FIELD: Final = _check(
    "DYN003",
    "unknown-field",
    "A field that the kind does not have.",
    "`kubectl apply` refuses a file with an unknown field. With `--validate=warn` or `ignore`, and for most other clients, the API "
    "server drops it, so what it was meant to say is lost.",
    "Remove the field, or correct its name.",
)
SCHEMA_RULE: Final = _check(
    "DYN004",
    "schema-mismatch",
    "A value that the schema of the kind does not allow.",
    "The API server checks every write against the CustomResourceDefinition before validating webhooks are asked.",
)
CEL_RULE: Final = _check(
    "DYN005",
    "schema-rule",
    "A rule of the CustomResourceDefinition is broken.",
    "The API server evaluates these rules of the schema itself, before validating webhooks are asked.",
)
IGNORE_WITHOUT_REASON: Final = _check(
    "DYN006",
    "ignore-without-reason",
    "A comment ignores a rule and gives no reason.",
    "Readers of the file must be able to check that the exception is still needed, so a comment without a reason ignores nothing.",
    "Write the reason behind the brackets.",
)
UNUSED_IGNORE: Final = _check(
    "DYN007",
    "unused-ignore",
    "A comment ignores a rule that finds nothing there.",
    "A comment that has outlived its cause would hide the next mistake at that place.",
    "Remove the comment.",
    Level.WARNING,
)
UNCONVERTIBLE: Final = _check(
    "DYN008",
    "unconvertible",
    "An object that the kind's other version cannot say.",
    "The API server keeps objects in one version and converts the others, so such an object could be neither stored nor judged.",
)
LEGACY_KIND: Final = _check(
    "DYN009",
    "legacy-kind",
    "A document of an earlier form of the API.",
    "No API server with current definitions accepts it; its fields, and often its kind, have since changed.",
    "Run `dynamo-webhooks convert` on the file: it writes the current form and lists what you must decide.",
)
DAMAGED_REMAINDER: Final = _check(
    "DYN010",
    "damaged-remainder",
    "An annotation that keeps the other version's fields can't be used.",
    "Conversion writes such annotations; one that was edited by hand is set aside, and its values are lost.",
    "Remove the annotation, or restore the text that conversion wrote.",
    Level.WARNING,
)
CONVERSION_LOSS: Final = _check(
    "DYN011",
    "conversion-loss",
    "An object that does not come back from the kind's other version as it was.",
    "Clients that read and write the object in the other version would change this field unknowingly.",
    "Remove the annotations that conversion wrote, or write the field as the other version gives it back.",
    Level.WARNING,
)
NULL_ENTRY: Final = _check(
    "DYN012",
    "null-entry",
    "An entry of a map that is null.",
    "The API server drops such an entry with its name and says nothing, so what the name was meant to say is lost.",
    "Write a value behind the name, or remove the entry.",
    Level.WARNING,
)
LONG_REMAINDER: Final = _check(
    "DYN013",
    "long-remainder",
    "An object that needs nearly all annotations, or more, that Kubernetes admits in the kind's other version.",
    "What the other version has no field for is kept in annotations there, compressed where it is long, and Kubernetes admits 256 KiB "
    "of them. An object that is stored in spite of that is shown in part in the other version, with the label "
    "`nvidia.com/dynamo-webhooks-remainder: too-long`, and can be neither written nor deleted there.",
    "Keep long texts in a ConfigMap that the pods read, or divide the object.",
)
STAYS_AFTER_MOVE: Final = _check(
    "DYN014",
    "stays-after-move",
    "Something that a manifest no longer says, and that stays when its version changes.",
    "On an apply the API server removes what the manager said before, by the fields of the version in which he said it. It can't "
    "remove what the new version has no field for, or one entry of a list that v1alpha1 merges as a whole. Only `--against` and "
    "`--old` show it.",
    "Change the version alone and the rest in a later commit, or remove it by hand after the sync (docs/gitops.md).",
    Level.WARNING,
)
UNFILLED: Final = _check(
    "DYN015",
    "unfilled-placeholder",
    "A placeholder of a template that nothing has filled.",
    "An API server takes `${NAME}`, `<name>` and `{{ name }}` for the value itself, and refuses it or runs the graph with it.",
    "Fill `${NAME}` with --set NAME=VALUE or --env-file FILE, write a value for `<name>`, and check what templates render.",
    Level.WARNING,
)
DUPLICATE: Final = _check(
    "DYN016",
    "duplicate-object",
    "An object that occurs in two places.",
    "If both are applied, the last one wins. It is reported for objects with the same namespace, and for those in the same folder.",
    "Remove one of them, or give it another name.",
    Level.WARNING,
)
OTHER_VERSION: Final = _check(
    "DYN017",
    "name-of-other-version",
    "A key that means nothing where it is, and is a field of the kind's other version.",
    "The schema takes any key in such a map. Kubernetes knows no resource `gpu`, and refuses the pods of a v1beta1 component with it.",
    "Write the key as the message says.",
    Level.WARNING,
)
CHECKS: Final = tuple(value for value in list(globals().values()) if isinstance(value, Rule))
CHECKS_BY_NAME: Final = {rule.name: rule for rule in CHECKS}
_OF_CONVERSION: Final = (UNCONVERTIBLE, DAMAGED_REMAINDER, CONVERSION_LOSS, LONG_REMAINDER)
_OF_COMMENTS: Final = (IGNORE_WITHOUT_REASON, UNUSED_IGNORE)
# findings of an object before, or beside, those of its rules and its conversion
EARLY: Final = frozenset(CHECKS_BY_NAME) - {rule.name for rule in (*_OF_CONVERSION, *_OF_COMMENTS)}
