"""Words the schema's errors for authors: the requirement, the value seen, and the nearest allowed value."""

import json
import re
from collections.abc import Callable
from typing import Any, Final, NamedTuple

from ...api.paths import MISSING
from ...api.walk.errors import FieldError, Reason
from ...api.walk.structure import text_errors
from ...api.wording import shorten
from ..console.nearest import MIN_SURE_RATIO, find_nearest
from .fixes import convert_scalar_type

_SWITCH: Final = ("experimental", "checkpoint", "enabled")  # of v1beta1; line 1.2 has none
_MAX_VALUE_CHARACTERS: Final = 80


class SchemaMessage(NamedTuple):
    """The sentence behind a field, and what to do; no fix where the sentence says it."""

    text: str
    fix: str = ""
    value: str | bool | None = None  # the remedy, if there is only one


def explain_schema_error(error: FieldError, value: Any) -> SchemaMessage:
    """An error of the schema beside the value that it speaks of, MISSING where there is none."""
    text = error.message.removeprefix("Invalid value: ").removeprefix(f"{error.field} in body ")
    if error.reason is Reason.REQUIRED and error.path[-len(_SWITCH) :] == _SWITCH:
        return SchemaMessage(
            "must be set since operator 1.5", "Write enabled: true, which the block alone means for operator 1.2, or false", value=True
        )
    for shape, must, fix in _SENTENCES:
        if match := re.fullmatch(shape, text):
            return SchemaMessage(must.format(*match.groups(), got=_got(value), count=_count(value)), fix.format(*match.groups()))
    for shape, say in _CHOICES:
        if match := re.fullmatch(shape, text, re.DOTALL):
            return say(match, value)
    return SchemaMessage(text if "got " in text else f"{text}{_got(value)}")


def _one_of(match: re.Match[str], value: Any) -> SchemaMessage:
    allowed = json.loads(f"[{match[1]}]")
    words = [word for word in allowed if isinstance(word, str)]
    near = find_nearest(value, words) if isinstance(value, str) and value else None
    fix = f"Write {json.dumps(near)}" if near is not None else "Write one of these" if len(allowed) > 1 else f"Write {match[1]}"
    text = f"must be {'one of ' if len(allowed) > 1 else ''}{match[1]}{_got(value)}"
    return SchemaMessage(text, fix, find_nearest(value, words, MIN_SURE_RATIO) if near is not None else None)


def _longest(match: re.Match[str], value: Any) -> SchemaMessage:
    if not isinstance(value, str):  # all annotations together
        return SchemaMessage(match[0], "Shorten the longest texts")
    return SchemaMessage(f"must have at most {match[1]} characters{_count(value)}", f"Shorten it to {match[1]} characters")


def _matching(match: re.Match[str], value: Any) -> SchemaMessage:
    near = _near(match[1], value) if isinstance(value, str) else None
    return SchemaMessage(
        f"must match '{match[1]}'{_got(value)}", f"Write {json.dumps(near)}" if near is not None else "Write a text of this form"
    )


def _typed(match: re.Match[str], value: Any) -> SchemaMessage:
    seen = f", got {match[2]}" if match[2] else _got(value)
    return SchemaMessage(f"must be of type {match[1]}{seen}", suggest_quotes(match[1], value))


# what the API server says behind a field -> our sentence and remedy
_SENTENCES: Final = (
    (r"should be greater than or equal to (\S+)", "must be {0} or more{got}", "Write {0} or more"),
    (r"should be greater than (\S+)", "must be greater than {0}{got}", "Write more than {0}"),
    (r"should be less than or equal to (\S+)", "must be {0} or less{got}", "Write {0} or less"),
    (r"should be less than (\S+)", "must be less than {0}{got}", "Write less than {0}"),
    (r"should be a non-negative integer", "must be 0 or more{got}", "Write 0 or more"),
    (r"should be at least 1 chars long", "must not be empty", "Write a value, or leave the field out"),
    (r"should be at least (\d+) chars long", "must have at least {0} characters{count}", "Write {0} characters or more"),
    (r"should have at least (\d+) (?:properties|items)", "must have at least {0} items{count}", "Write {0} or more"),
    (r"Too many: must have at most (\d+) items", "must have at most {0} items{count}", "Keep {0} of them at most"),
    (r"Required value", "must be given", "Add the field"),
    (r"Duplicate value", "must be unique in its list{got}", "Remove it, or give it another name"),
)
_WITH_UNIT: Final = re.compile(r"\s*(\d{1,9}(?:\.\d{1,9})?)\s*([a-zA-Zµ%]{1,12})\s*")
_CHOICES: Final[tuple[tuple[str, Callable[[re.Match[str], Any], SchemaMessage]], ...]] = (
    (r"Unsupported value: supported values: (.+)", _one_of),
    (r"Too long: may not be more than (\d+) bytes", _longest),
    (r"should match '(.+)'", _matching),
    (r'must be of type (\S+?)(?:: "(\w+)")?', _typed),
)


def suggest_number(wanted: str, value: Any, name: str, description: str) -> str:
    """The fix for a number that is written with its unit; empty for anything else."""
    match = _WITH_UNIT.fullmatch(value) if wanted in ("number", "integer") and isinstance(value, str) else None
    if match is None:
        return ""
    unit = "ms" if "milliseconds" in description else "s" if "seconds" in f"{name} {description}".lower() else ""
    if not unit:
        return "Write a number, without a unit"
    return f"Write {match[1] if match[2] == unit else 'a number'}, without a unit: the field is in {'milli' * (unit == 'ms')}seconds"


def suggest_quotes(wanted: str, value: Any) -> str:
    """The fix for a scalar of the wrong type; empty if there is no obvious one. Texts are not repeated."""
    edit = convert_scalar_type(wanted, value, "it")
    if edit is None or wanted == "string":
        return "Put the value in quotes" if edit is not None else ""
    return f"Write {json.dumps(edit.value)}, without quotes"


def _near(pattern: str, value: str) -> str | None:
    """A value like this one that the pattern allows: other characters than those of names made hyphens, or all in lower case."""
    word = re.sub(r"[^A-Za-z0-9.-]+", "-", value[:_MAX_VALUE_CHARACTERS]).strip("-.")
    for near in (value.strip(), word, value.lower(), word.lower(), re.sub(r"[^a-z0-9]+", "-", word.lower()).strip("-")):
        if near and len(value) <= _MAX_VALUE_CHARACTERS and next(text_errors(near, {"pattern": pattern}), None) is None:
            return near
    return None


def _got(value: Any) -> str:
    if value is MISSING or isinstance(value, (dict, list)):
        return ""
    return f", got {shorten(json.dumps(value, ensure_ascii=False), _MAX_VALUE_CHARACTERS)}"


def _count(value: Any) -> str:
    return f", got {len(value)}" if isinstance(value, (str, dict, list)) else ""
