"""Named formats, such as `format.dns1123Label()`, which list the errors of a text."""

import re
from base64 import b64decode
from collections.abc import Callable
from dataclasses import dataclass
from datetime import date
from functools import partial
from typing import ClassVar, Final

from ..errors import EvaluationError
from ..overloads import function, method
from ..values import NONE, Optional
from .times import read_timestamp
from .urls import parse_url

_LABEL: Final = r"[a-z0-9](?:[-a-z0-9]*[a-z0-9])?"
_SUBDOMAIN: Final = rf"{_LABEL}(?:\.{_LABEL})*"
_QUALIFIED: Final = r"(?:[A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]"
_DAY: Final = re.compile(r"\d{4}-\d{2}-\d{2}", re.ASCII)
_UUID: Final = re.compile(r"[0-9a-f]{8}-?[0-9a-f]{4}-?[0-9a-f]{4}-?[0-9a-f]{4}-?[0-9a-f]{12}", re.IGNORECASE | re.ASCII)
_SUBDOMAIN_WORDS: Final = (
    "a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or '.', and must start and end with an"
    " alphanumeric character (e.g. 'example.com', regex used for validation is"
    " '[a-z0-9]([-a-z0-9]*[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*')"
)
_LABEL_WORDS: Final = (
    "a lowercase RFC 1123 label must consist of lower case alphanumeric characters or '-', and must start and end with an alphanumeric"
    " character (e.g. 'my-name',  or '123-abc', regex used for validation is '[a-z0-9]([-a-z0-9]*[a-z0-9])?')"
)
_LABEL_1035_WORDS: Final = (
    "a DNS-1035 label must consist of lower case alphanumeric characters or '-', start with an alphabetic character, and end with an"
    " alphanumeric character (e.g. 'my-name',  or 'abc-123', regex used for validation is '[a-z]([-a-z0-9]*[a-z0-9])?')"
)
_VALUE_WORDS: Final = (
    "a valid label must be an empty string or consist of alphanumeric characters, '-', '_' or '.', and must start and end with an"
    " alphanumeric character (e.g. 'MyValue',  or 'my_value',  or '12345', regex used for validation is"
    " '(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])?')"
)
_NAME_WORDS: Final = (
    "name part must consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric character (e.g."
    " 'MyName',  or 'my.name',  or '123-abc', regex used for validation is '([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]')"
)


@dataclass(frozen=True, slots=True)
class Format:
    """A format, and the function that lists the errors of a text."""

    name: str
    check: Callable[[str], list[str]]
    kind: ClassVar = "kubernetes.NamedFormat"


def _matching(pattern: str, words: str, longest: int, *, prefix: bool = False) -> Callable[[str], list[str]]:
    known = re.compile(pattern, re.ASCII)

    def check(text: str) -> list[str]:
        text = text.removesuffix("-") if prefix else text
        wrong = [] if known.fullmatch(text) else [words]
        return [*wrong, f"must be no more than {longest} characters"] if len(text.encode("utf-8", "replace")) > longest else wrong

    return check


_subdomain: Final = _matching(_SUBDOMAIN, _SUBDOMAIN_WORDS, 253)
_name_part: Final = _matching(_QUALIFIED, _NAME_WORDS, 63)


def _qualified(text: str) -> list[str]:
    prefix, slash, name = text.rpartition("/")
    if "/" in prefix:
        return [f"a qualified name {_NAME_WORDS.removeprefix('name part ')} with an optional DNS subdomain prefix and '/'"]
    wrong: list[str] = []
    if slash:
        wrong += ["prefix part must be non-empty"] if not prefix else [f"prefix part {each}" for each in _subdomain(prefix)]
    if not name:
        wrong.append("name part must be non-empty")
    return wrong + [each if each.startswith("name part") else f"name part {each}" for each in _name_part(name)]


def _reading(words: str, read: Callable[[str], object]) -> Callable[[str], list[str]]:
    def check(text: str) -> list[str]:
        try:
            read(text)
        except (ValueError, EvaluationError):
            return [words]
        return []

    return check


def _uri(text: str) -> list[str]:
    try:
        parse_url(text)
    except ValueError as error:
        return [str(error)]
    return []


def _day(text: str) -> None:
    if not _DAY.fullmatch(text):
        raise ValueError
    date.fromisoformat(text)


def _uuid(text: str) -> None:
    if not _UUID.fullmatch(text):
        raise ValueError


def _base64(text: str) -> None:
    if not b64decode(text, validate=True):
        raise ValueError


_FORMATS: Final[dict[str, Callable[[str], list[str]]]] = {
    "dns1123Label": _matching(_LABEL, _LABEL_WORDS, 63),
    "dns1123Subdomain": _subdomain,
    "dns1035Label": _matching(r"[a-z](?:[-a-z0-9]*[a-z0-9])?", _LABEL_1035_WORDS, 63),
    "qualifiedName": _qualified,
    "dns1123LabelPrefix": _matching(_LABEL, _LABEL_WORDS, 63, prefix=True),
    "dns1123SubdomainPrefix": _matching(_SUBDOMAIN, _SUBDOMAIN_WORDS, 253, prefix=True),
    "dns1035LabelPrefix": _matching(r"[a-z](?:[-a-z0-9]*[a-z0-9])?", _LABEL_1035_WORDS, 63, prefix=True),
    "labelValue": _matching(rf"(?:{_QUALIFIED})?", _VALUE_WORDS, 63),
    "uri": _uri,
    "uuid": _reading("does not match the UUID format", _uuid),
    "byte": _reading("invalid base64", _base64),
    "date": _reading("invalid date", _day),
    "datetime": _reading("invalid datetime", lambda text: read_timestamp(text.upper())),
}


for _name in _FORMATS:
    function(f"format.{_name}")(partial(Format, _name, _FORMATS[_name]))


@function("format.named", str)
def _named(name: str) -> Optional:
    return Optional(Format(name, _FORMATS[name])) if name in _FORMATS else NONE


@method("validate", Format, str)
def _validate(form: Format, text: str) -> Optional:
    wrong = form.check(text)
    return Optional(wrong) if wrong else NONE
