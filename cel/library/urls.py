"""Addresses of the web."""

import re
from dataclasses import dataclass
from operator import attrgetter
from typing import ClassVar, Final
from urllib.parse import parse_qs, quote, unquote

from ..errors import EvaluationError
from ..overloads import function, method

_TEXT: Final = re.compile(r"(?:([A-Za-z][A-Za-z0-9+.-]*):)?(?://([^/?#]*))?([^?#]*)(?:\?([^#]*))?(?:#(.*))?", re.DOTALL)
_HOST: Final = re.compile(r"(\[[0-9A-Fa-f:.%a-z]*\]|[^:\[\]\s]*)(?::(\d*))?", re.ASCII)


@dataclass(frozen=True, slots=True)
class URL:
    """The parts of an address."""

    scheme: str
    host: str
    path: str
    query: str
    kind: ClassVar = "kubernetes.URL"


def _parse(text: str) -> URL | None:
    """Reads an absolute address, or an absolute path."""
    match = _TEXT.fullmatch(text)
    if match is None or re.search(r"[\x00-\x20\x7f]", text.split("?", 1)[0]) or re.search(r"%(?![0-9A-Fa-f]{2})", text.split("?", 1)[0]):
        return None
    scheme, authority, path, query = match[1] or "", match[2] or "", match[3], match[4] or ""
    host = authority.rpartition("@")[2]
    if not _HOST.fullmatch(host) or not (scheme or text.startswith("/")):
        return None
    return URL(scheme.lower(), host, path, query)


@function("url", str)
def read_url(text: str) -> URL:
    """Reads an address. Raises EvaluationError."""
    found = _parse(text)
    if found is None:
        raise EvaluationError(f'URL parse error during conversion from string: parse "{text[:60]}": invalid URI for request')
    return found


function("isURL", str)(lambda text: _parse(text) is not None)
method("getScheme", URL)(attrgetter("scheme"))
method("getHost", URL)(attrgetter("host"))


@method("getHostname", URL)
def _hostname(value: URL) -> str:
    match = _HOST.fullmatch(value.host)
    return match[1].strip("[]") if match else value.host


@method("getPort", URL)
def _port(value: URL) -> str:
    match = _HOST.fullmatch(value.host)
    return (match[2] or "") if match else ""


@method("getEscapedPath", URL)
def _path(value: URL) -> str:
    return quote(unquote(value.path), safe="/$&+,:;=@!~*'()-._") if "%" not in value.path else value.path


method("getQuery", URL)(lambda value: parse_qs(value.query, keep_blank_values=True, max_num_fields=10_000))
