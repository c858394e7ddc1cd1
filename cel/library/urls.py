"""Addresses of the web."""

import re
from dataclasses import dataclass
from ipaddress import IPv6Address
from operator import attrgetter
from typing import ClassVar, Final
from urllib.parse import parse_qs, quote, unquote, unquote_to_bytes

from ..errors import EvaluationError
from ..frame import SIZED
from ..overloads import function, method

_TEXT: Final = re.compile(
    r"(?:([A-Za-z][A-Za-z0-9+.-]*):)?(?:(?<=:)//([^/?]*)|\A//(?!/)([^/?#]*))?([^?#]*)(?:\?([^#]*))?(?:#(.*))?", re.DOTALL
)
_WRONG_PAIR: Final = re.compile(r";|%(?![0-9A-Fa-f]{2})")
_WRONG_ESCAPE: Final = re.compile(r"%(?![0-9A-Fa-f]{2}).{0,2}", re.DOTALL)
_CONTROL: Final = re.compile(r"[\x00-\x1f\x7f]")
_USER: Final = re.compile(r"[\w.~!$&'()*+,;=:%@-]*", re.ASCII)
_NO_HOST: Final = re.compile(r"[\x00- #/?@\\^`{|}\x7f]")
_ESCAPED_LETTER: Final = re.compile(r"%(?!25|[89A-Fa-f])..")
_PATH: Final = re.compile(r"[\w.~!$&'()*+,;=:@/\[\]%-]*", re.ASCII)


@dataclass(frozen=True, slots=True)
class URL:
    """The parts of an address."""

    scheme: str
    host: str
    path: str
    query: str
    kind: ClassVar = "kubernetes.URL"

    def __len__(self) -> int:
        return len(self.scheme) + len(self.host) + len(self.path) + len(self.query)


SIZED.add(URL)


def parse_url(text: str) -> URL:
    """Reads an absolute address, or an absolute path. Raises: ValueError in Go's words."""
    scheme, authority, other, path, query, fragment = (part or "" for part in _TEXT.fullmatch(text).groups())  # type: ignore[union-attr]
    if _CONTROL.search(text):
        raise _wrong(text, "net/url: invalid control character in URL")
    if not scheme and not text.startswith("/") and text != "*":
        raise _wrong(text, "invalid URI for request" if text and text[0] != ":" else "missing protocol scheme" if text else "empty url")
    if scheme and not authority and not path.startswith("/"):
        return URL(scheme.lower(), "", "", query)  # the text after the scheme is no path
    user, _, host = (authority or other).rpartition("@")
    for part in (user, host, path, fragment):
        if (wrong := _WRONG_ESCAPE.search(part)) is not None:
            raise _wrong(text, f'invalid URL escape "{wrong[0]}"')
    if not _USER.fullmatch(user):
        raise _wrong(text, "net/url: invalid userinfo")
    return URL(scheme.lower(), _checked(text, host), path, query)


def _checked(text: str, host: str) -> str:
    """The host of an address without escapes. Raises: ValueError."""
    name, port = _split(host)
    if port.strip("0123456789"):
        raise _wrong(text, f'invalid port ":{port}" after host')
    if (wrong := _NO_HOST.search(name)) is not None:
        raise _wrong(text, f'invalid character "{wrong[0]}" in host name')
    if (wrong := _ESCAPED_LETTER.search(name)) is not None:
        raise _wrong(text, f'invalid URL escape "{wrong[0]}"')
    if "[" in name:
        if name[:1] + name[-1:] != "[]":
            raise _wrong(text, "missing ']' in host")
        try:
            IPv6Address(unquote(name[1:-1]))
        except ValueError:
            raise _wrong(text, "invalid host") from None
    return unquote(host)


def _split(host: str) -> tuple[str, str]:
    """The name or number of a host, and the port."""
    name, colon, port = host.rpartition(":")
    return (name, port) if colon and "]" not in port else (host, "")


def _wrong(text: str, words: str) -> ValueError:
    return ValueError(f'parse "{text[:60]}": {words}')


@function("url", str)
def _read(text: str) -> URL:
    try:
        return parse_url(text)
    except ValueError as error:
        raise EvaluationError(f"URL parse error during conversion from string: {error}") from None


@function("isURL", str)
def _is_url(text: str) -> bool:
    try:
        parse_url(text)
    except ValueError:
        return False
    return True


method("getScheme", URL)(attrgetter("scheme"))
method("getHost", URL)(attrgetter("host"))
method("getHostname", URL)(lambda value: _split(value.host)[0].strip("[]"))
method("getPort", URL)(lambda value: _split(value.host)[1])


@method("getEscapedPath", URL)
def _path(value: URL) -> str:
    return value.path if _PATH.fullmatch(value.path) else quote(unquote_to_bytes(value.path.encode("utf-8", "replace")), safe="/$&+,:;=@")


@method("getQuery", URL)
def _query(value: URL) -> dict[str, list[str]]:
    """The pairs of the query; those that Go can't read are left out."""
    return parse_qs("&".join(pair for pair in value.query.split("&") if not _WRONG_PAIR.search(pair)), keep_blank_values=True)
