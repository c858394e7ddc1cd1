"""Results of rules: findings, typed like Kubernetes field errors, and edits. Rendering is in policies/answer.py."""

from enum import StrEnum
from typing import Any, NamedTuple, TypeAlias

from ..api.paths import Path
from .rule import Level, Rule

Scalar: TypeAlias = str | int | float | bool | None


class Cause(StrEnum):
    """Cause types of `details.causes`, the API machinery's own words."""

    REQUIRED = "FieldValueRequired"
    INVALID = "FieldValueInvalid"
    FORBIDDEN = "FieldValueForbidden"
    NOT_SUPPORTED = "FieldValueNotSupported"
    DUPLICATE = "FieldValueDuplicate"
    NOT_FOUND = "FieldValueNotFound"
    INTERNAL = "InternalError"


class Mend(NamedTuple):
    """A fix that can be applied automatically: the value for the finding's field, or one below it; None removes the field.

    The value and the names are the same in both versions.
    """

    value: str | None
    below: Path = ()


class Edit(NamedTuple):
    """Sets one field that is absent, null or empty to a value; `rule` is the default that wants it."""

    rule: Rule
    path: Path
    value: Any


class Finding(NamedTuple):
    """One sentence about one field. `text` starts after the path ("must ...") and never holds a subtree or a secret.

    `text` and `fix` name fields as the version does that the rule reads.
    """

    rule: Rule
    cause: Cause
    level: Level
    path: Path
    text: str
    value: Scalar = None
    fix: str = ""  # what to do about this very value; empty: the rule's own Fix section speaks
    fact: str = ""  # for not-evaluated: the missing fact
    other_text: str = ""  # for an author of the other version; empty where it is the same
    other_fix: str = ""
    mend: Mend | None = None
