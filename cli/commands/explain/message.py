"""The pages of a pasted message: the rules that it names, else those that say its sentences, and the API server's words around them."""

import re
from collections.abc import Iterator
from typing import Any, Final

from . import field, known_messages, rule, schema_rule
from .sentence import PATH, rules_saying

# between the causes of one refusal: our own joint, kubectl's bullets, the API server's list
_JOINTS: Final = re.compile(r"; (?=\S+: )|\n\s*\* |\], \[|, (?=(?:spec|metadata)[.\[])")
_FIELDS: Final = 3  # that are pointed out
_LONGEST: Final = 20_000  # characters that are looked at: a message, not a log

Page = dict[str, Any]


def find(text: str) -> list[Page]:
    """The pages, each once, in the order of the message; empty for a text that says nothing we know."""
    text = text[:_LONGEST]
    around = [
        {**one.page, "fields": _fields(text)} if one in known_messages.OF_FIELDS else one.page for one in known_messages.in_message(text)
    ]
    broken = schema_rule.in_message(text)
    if broken is not None:
        # a broken rule of the schema reads like any other value that it refuses
        around = [broken, *(page for page in around if page["message"] != "schema-mismatch")]
    known = rule.in_message(text)
    if not known and not around:
        known = _said(text)
    return [*known, *around]


def _fields(text: str) -> list[str]:
    """The first fields of our kinds that a text names."""
    named = dict.fromkeys(found.rstrip(".") for found in PATH.findall(text))
    return [path for path in named if field.find(path) is not None][:_FIELDS]


def _said(text: str) -> list[Page]:
    """The rules that say the parts of a text."""
    named = {found.name: found for part in _parts(text) for found in rules_saying(part)}
    return [rule.page(found) for found in named.values()]


def _parts(text: str) -> Iterator[str]:
    """A message cause by cause, each with the lead that names the kind."""
    lead = text.partition("is invalid:")[0] if "is invalid:" in text else ""
    for part in _JOINTS.split(text):
        yield part if part.startswith(lead) else f"{lead}is invalid: {part}"
