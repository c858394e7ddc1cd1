"""Converts an object to its kind's other version and back, and reports lost and inconvertible fields. A client that reads an object in
the other version, changes one field and writes it back must change only that field."""

from collections.abc import Iterator
from typing import Any, NamedTuple

from ..api.kinds import ALPHA, api_version
from ..api.line import DEFAULT_LINE, Line
from ..api.paths import Key, Path, format_path
from ..conversion.difference import find_differences
from ..conversion.engine import convert
from ..conversion.kind import Kind
from ..conversion.kinds import KINDS, kind_of
from ..conversion.lens.protocol import ConversionError
from ..conversion.remainder import KEPT, annotation_keys, reserved_keys
from ..conversion.weight import LIGHT_BYTES, OTHER_VERSION, weigh, weight
from ..policies.checks import CONVERSION_LOSS, DAMAGED_REMAINDER, LONG_REMAINDER, UNCONVERTIBLE
from ..policies.evaluate import is_deletion
from ..policies.finding import Cause, Finding
from ..policies.raised import log
from ..policies.review import Fields, Review
from ..policies.rule import Level, Rule


class Loss(NamedTuple):
    """One loss: the check that reports it, its level, the field, and a sentence without the field."""

    rule: Rule
    level: Level
    path: Path
    text: str


def find_losses(
    obj: Fields, name: str, version: str, old: Fields | None = None, *, admitted: bool = True, line: Line = DEFAULT_LINE
) -> Iterator[Loss]:
    """Yields round-trip losses. Never raises. An object not `admitted` by the schema is only converted forward; `old` is the stored one."""
    kind, other = kind_of(name, line), OTHER_VERSION[version]
    try:
        there = convert(kind, obj, other, whole=True)
    except ConversionError as error:
        yield Loss(UNCONVERTIBLE, Level.ERROR, error.path, error.reason)
        return
    except Exception as error:  # noqa: BLE001 - an internal error must be one finding, not end the run
        yield _fault(error, f"the conversion to {other}")
        return
    for key in there.damaged:
        text = f"holds no text that conversion to {other} can use, and is set aside"
        yield Loss(DAMAGED_REMAINDER, Level.WARNING, ("metadata", "annotations", Key(key)), text)
    if not admitted:
        return
    if excess := weight(kind, obj, version, there.object, old):
        yield Loss(LONG_REMAINDER, Level.ERROR if excess.refused else Level.WARNING, excess.path, excess.text)
    if _is_proven(kind, obj, there.object):
        return
    try:
        back = convert(kind, there.object, version).object
    except ConversionError as error:
        where = format_path(error.path)
        text = f"can be converted to {other}, but not back: there, {where} {error.reason}"
        yield Loss(CONVERSION_LOSS, _level(kind, obj), (), text)
    except Exception as error:  # noqa: BLE001 - as above
        yield _fault(error, f"the conversion back from {other}")
    else:
        yield from _find_lost_fields(kind, obj, back, other)


def _is_proven(kind: Kind, obj: Fields, there: Fields) -> bool:
    """Whether the forward conversion, which converts back itself to save every difference, saved none and found none saved before."""
    if kind.legacy is not None:
        return False
    kept = f'"{KEPT}":'
    before, after = ((side.get("metadata") or {}).get("annotations") or {} for side in (obj, there))
    own = annotation_keys(kind)
    return not any(key in before for key in own) and not any(kept in after.get(key, "") for key in own)


def _find_lost_fields(kind: Kind, obj: Fields, back: Fields, other: str) -> Iterator[Loss]:
    """The fields that a round trip changes or drops."""
    for path, *_ in find_differences(_strip_annotations(kind, back), _strip_annotations(kind, obj)):
        yield Loss(CONVERSION_LOSS, _level(kind, obj), tuple(path), f"changes when it is converted to {other} and back")


def _strip_annotations(kind: Kind, obj: Fields) -> Fields:
    """The object without annotations of conversion, without empty metadata, which conversion adds, and without defaults of one version."""
    form = kind.form(obj, obj["apiVersion"] == api_version(ALPHA), True) if kind.form is not None else None
    if form is not None:
        obj = form.object
    metadata: dict[str, Any] = dict(obj.get("metadata") or {})
    annotations = metadata.pop("annotations", None) or {}
    own = reserved_keys(kind)
    if left := {key: value for key, value in annotations.items() if key not in own}:
        metadata["annotations"] = left
    return {**obj, "metadata": metadata}


def _level(kind: Kind, obj: Fields) -> Level:
    """The level of a loss: a remainder may have been edited by hand, but an object without one must round-trip."""
    annotations = (obj.get("metadata") or {}).get("annotations") or {}
    return Level.WARNING if any(key in annotations for key in reserved_keys(kind)) else Level.FAULT


def _fault(error: Exception, what: str) -> Loss:
    log(what, error)
    return Loss(CONVERSION_LOSS, Level.FAULT, (), f"{what} raised {type(error).__name__}; this is an internal error")


def judge_long_remainder(review: Review, length: int) -> list[Finding]:
    """The finding about an object in a request of `length` bytes; the Go operator has none."""
    name, _, version = review.kind.partition("/")
    if length < LIGHT_BYTES or name not in KINDS or is_deletion(review):
        return []
    try:
        excess = weigh(kind_of(name, review.line), review.object, version, review.old)
    except ConversionError:
        return []  # stored unchanged, or refused by its conversion
    if excess is None:
        return []
    return [Finding(LONG_REMAINDER, Cause.INVALID, Level.ERROR if excess.refused else Level.WARNING, excess.path, excess.text)]
