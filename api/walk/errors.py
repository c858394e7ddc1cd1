"""The error record of the structural walk, in the API server's terms."""

from enum import StrEnum
from typing import Final, NamedTuple

from ..paths import ROOT, Path, format_path

# What the API server prints for errors that it can't place: the text of Go's empty path.
NOWHERE: Final = "<nil>"


class Reason(StrEnum):
    """Cause types of a Kubernetes Status, the values of `details.causes[].reason`."""

    REQUIRED = "FieldValueRequired"
    INVALID = "FieldValueInvalid"
    NOT_SUPPORTED = "FieldValueNotSupported"
    DUPLICATE = "FieldValueDuplicate"
    TYPE_INVALID = "FieldValueTypeInvalid"
    TOO_LONG = "FieldValueTooLong"
    TOO_MANY = "FieldValueTooMany"
    FORBIDDEN = "FieldValueForbidden"


class FieldError(NamedTuple):
    """One cause of a refusal: where, of which type, and a sentence that never holds the value, which may be a secret.

    `path` is exact; `field` is the text that the API server prints for it, and that differs between its phases: a map key is `.worker`
    in errors of the schema and `[worker]` in those of CEL rules. `rule` is the id of the CEL rule that was broken, or empty.
    """

    path: Path
    field: str
    reason: Reason
    message: str
    rule: str = ""


def format_dotted_path(path: Path) -> str:
    """Prints a path as the schema phase does: map keys with a dot, only indices in brackets; the root as nowhere."""
    out: list[str] = []
    for part in path:
        out.append(f"[{part}]" if isinstance(part, int) else f".{part}" if out else part)
    return "".join(out) or NOWHERE


def field_error(path: Path, reason: Reason, message: str, rule: str = "") -> FieldError:
    """Makes an error whose field prints map keys in brackets, as CEL, list and metadata checks do."""
    return FieldError(path, format_path(path) or NOWHERE, reason, message, rule)


def nowhere(message: str, path: Path = ROOT) -> FieldError:
    """Makes an error that the API server doesn't place; we keep the path when we know it."""
    return FieldError(path, NOWHERE, Reason.INVALID, f"Invalid value: {message}")
