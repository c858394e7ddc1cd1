"""Checks of reading, schema, conversion and comments: in the one catalogue, with pages as rules have, but found without an evaluation."""

from typing import Any, Final

from .rule import Level, Rule, Stage


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
    "The kind or version doesn't exist.",
    "The API server refuses an object of a kind or version that no CustomResourceDefinition declares.",
    "Use one of the kinds and versions that `dynamo-webhooks version` lists.",
)
WRONG_TYPE: Final = _check(
    "DYN002",
    "wrong-type",
    "A value has the wrong type for its field.",
    "An object whose fields have wrong types is refused before any rule is evaluated.",
    "Write a value of the field's type; put strings that look like numbers or booleans in quotes.",
)
UNKNOWN_FIELD: Final = _check(
    "DYN003",
    "unknown-field",
    "The kind doesn't have this field.",
    "`kubectl apply` refuses a file with an unknown field. With `--validate=warn` or `ignore`, and for most other clients, the "
    "API server drops the field silently.",
    "Remove the field, or correct its name.",
)
SCHEMA_RULE: Final = _check(
    "DYN004",
    "schema-mismatch",
    "The schema doesn't allow this value.",
    "The API server checks every write against the CustomResourceDefinition before it calls validating webhooks.",
)
CEL_RULE: Final = _check(
    "DYN005",
    "schema-rule",
    "A validation rule of the CustomResourceDefinition is violated.",
    "The API server evaluates the CEL rules of the schema before it calls validating webhooks.",
)
IGNORE_WITHOUT_REASON: Final = _check(
    "DYN006",
    "ignore-without-reason",
    "A comment ignores a rule without giving a reason.",
    "Readers must be able to check whether the exception is still needed. A comment without a reason has no effect.",
    "Write the reason after the brackets.",
)
UNUSED_IGNORE: Final = _check(
    "DYN007",
    "unused-ignore",
    "A comment ignores a rule that finds nothing here.",
    "A comment that is no longer needed would hide the next mistake in this place.",
    "Remove the comment.",
    Level.WARNING,
)
UNCONVERTIBLE: Final = _check(
    "DYN008",
    "unconvertible",
    "The object can't be represented in the other version.",
    "The API server stores objects in one version and converts them to the other. An object that can't be converted could be "
    "neither stored nor validated.",
)
LEGACY_KIND: Final = _check(
    "DYN009",
    "legacy-kind",
    "The document has the form of an earlier API release.",
    "Current definitions don't accept it: its fields, and often its kind, have changed.",
    "Run `dynamo-webhooks convert` on the file. It writes the current form, and lists what you must decide.",
)
DAMAGED_REMAINDER: Final = _check(
    "DYN010",
    "damaged-remainder",
    "The annotation with saved fields of the other version can't be read.",
    "Conversion writes this annotation for fields that the other version lacks. If it was edited by hand and can't be read, it "
    "is set aside, and the saved values are lost.",
    "Remove the annotation, or restore the text that conversion wrote.",
    Level.WARNING,
)
CONVERSION_LOSS: Final = _check(
    "DYN011",
    "conversion-loss",
    "The object changes when it is converted to the other version and back.",
    "Clients that read and write the object in the other version would change this field without knowing.",
    "Remove the annotations that conversion wrote, or write the field as it is after the conversion.",
    Level.WARNING,
)
NULL_ENTRY: Final = _check(
    "DYN012",
    "null-entry",
    "An entry of a map is null.",
    "The API server silently drops such an entry, including its name.",
    "Write a value after the name, or remove the entry.",
    Level.WARNING,
)
LONG_REMAINDER: Final = _check(
    "DYN013",
    "long-remainder",
    "In the other version, the object's annotations nearly reach or exceed the size limit of Kubernetes.",
    "Values that the other version has no field for are saved in an annotation there, compressed if they are long. Kubernetes "
    "allows 256 KiB of annotations. If an object that is too large was stored all the same, clients of the other version see "
    "only part of it, with the label `nvidia.com/dynamo-webhooks-remainder: too-long`, and can neither write nor delete it.",
    "Move long texts into a ConfigMap that the pods read, or split the object.",
)
STAYS_AFTER_MOVE: Final = _check(
    "DYN014",
    "stays-after-move",
    "A field that you removed stays, because the manifest's version changes in the same step.",
    "On an apply, the API server removes fields that the same manager applied before, and records them in the version that was "
    "used then. It can't remove fields that the new version lacks, or single entries of lists that v1alpha1 replaces as a "
    "whole. This is only found with `--against` and `--old`.",
    "Change only the version now, and remove fields in a later commit; or remove them by hand after the sync (docs/gitops.md).",
    Level.WARNING,
)
UNFILLED: Final = _check(
    "DYN015",
    "unfilled-placeholder",
    "A template placeholder isn't filled in.",
    "The API server would take `${NAME}`, `<name>` or `{{ name }}` literally, and refuse it or run the graph with it.",
    "Write a value for `<name>`; fill `${NAME}`: `envsubst < FILE | dynamo-webhooks check -`; for templates, check the rendered output.",
    Level.WARNING,
)
DUPLICATE: Final = _check(
    "DYN016",
    "duplicate-object",
    "The same object occurs in two places.",
    "If both are applied, the last one wins. Reported for objects in the same namespace, and for objects without a namespace in "
    "the same folder.",
    "Remove one of the two, or give it another name.",
    Level.WARNING,
)
OTHER_VERSION: Final = _check(
    "DYN017",
    "name-of-other-version",
    "A map contains a key that has a meaning only in the kind's other version.",
    "The schema allows any key in such a map. For example, Kubernetes has no resource `gpu`, and refuses the pods of a v1beta1 "
    "component that names it.",
    "Write the key that the message names.",
    Level.WARNING,
)
KEPT_VALUE: Final = _check(
    "DYN018",
    "kept-value-mismatch",
    "The annotation with saved fields of the other version holds a value that the other version's schema doesn't allow.",
    "The API server checks a write only with the schema of its own version. But the saved values are used like any other field, "
    "so they must be valid in the version that has these fields.",
    "Correct the value in the other version, or remove the annotation.",
)
NAMESPACE: Final = _check(
    "DYN019",
    "namespace-missing",
    "The namespace doesn't exist, or is being deleted.",
    "The API server refuses to create the object there. Only `--cluster` finds it: files don't say which namespaces a cluster has.",
    "Create the namespace, or name another with `-n` or `metadata.namespace`.",
)
REFERENCE: Final = _check(
    "DYN020",
    "checkpoint-ref-other-kind",
    "After the upgrade, a `checkpointRef` names an object of another kind.",
    "Until operator 1.4 it names a DynamoCheckpoint, since 1.5 a PodSnapshot of the Snapshot operator. Existing artefacts aren't taken "
    "over, so the pods would start cold. Only `check --upgrade-to` finds it.",
    "Take a PodSnapshot with the Snapshot operator and name it, or remove the reference.",
    Level.WARNING,
)
REQUEST_OWNER: Final = _check(
    "DYN022",
    "request-owner",
    "A request is changed in another version than the one in which it was created.",
    "Operator 1.7 shows a request of v1beta2 in `spec.v1beta2` of v1beta1, and one of v1beta1 in `spec.v1beta1` of v1beta2. Such a "
    "view can be read and written back, but not changed: the operator acts only on the version that owns the request.",
)
CONFLICT: Final = _check(
    "DYN021",
    "object-conflict",
    "The file's `uid` or `resourceVersion` is not that of the stored object.",
    "The API server refuses such an update: the object has changed since, or another object has its name. Only `--cluster` finds it, and "
    "`--old` with what `kubectl get -o yaml` prints.",
    "Remove `metadata.uid` and `metadata.resourceVersion`, or read the object again.",
)
CHECKS: Final = tuple(value for value in list(globals().values()) if isinstance(value, Rule))
_OF_CONVERSION: Final = (UNCONVERTIBLE, DAMAGED_REMAINDER, CONVERSION_LOSS, LONG_REMAINDER, KEPT_VALUE)
_OF_COMMENTS: Final = (IGNORE_WITHOUT_REASON, UNUSED_IGNORE)
# findings of an object before, or beside, those of its rules and its conversion
EARLY: Final = frozenset({rule.name for rule in {*CHECKS} - {*_OF_CONVERSION, *_OF_COMMENTS, REQUEST_OWNER}})
