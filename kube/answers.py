"""The meaning of an API server's bytes: a refusal as an error, the lines of a watch as events. Pure; asking is in `connection.py`."""

import re
from collections.abc import Iterator
from types import UnionType
from typing import Any, Final

import orjson

from ..api.scalars import json_type
from .errors import ApiError, GoneError, UnavailableError, error_of_status
from .protocol import Event, Node

_WORDS: Final[dict[Any, str]] = {str: "a text", dict: "a map"}
MAX_ANSWER_LEVELS: Final = 1000  # of maps and lists; the decoder takes 1,024
_BRACKETS: Final = re.compile(rb'"(?:[^"\\]|\\.)*+"|[\[\]{}]', re.DOTALL)

# Their messages name the user, the missing object or the conflicting writer; other messages may quote the request.
_NEVER_QUOTE: Final = frozenset({401, 403, 404, 409, 410, 429})


def make_error(code: int, content: bytes, request: str, *, secret: bool) -> ApiError:
    """An error for a failure; `request` (`get /api/v1/...`) begins it. With `secret`, a message that may quote values only names fields."""
    try:
        status = _map(orjson.loads(content))
    except ValueError:
        status = {}
    reason = str(status.get("reason") or "")
    if secret and code not in _NEVER_QUOTE:
        message = ", ".join(_fields(status)) or reason or "refused"
    else:
        message = str(status.get("message") or "") or content[:200].decode(errors="replace").strip() or reason or "no message"
    error = error_of_status(code, reason, f"{request}: {code}: {message}", str(_map(status.get("details")).get("name") or ""))
    if isinstance(error, GoneError):
        error.resume = str(_map(status.get("metadata")).get("continue") or "")
    return error


def decode_answer(content: bytes, request: str) -> Node:
    """The JSON object of a successful answer. Raises UnavailableError when it isn't one: a proxy answered, or the answer was cut."""
    try:
        node = _load(content)
    except ValueError as error:
        raise UnavailableError(0, "", f"{request}: the answer must be JSON, seen {len(content)} bytes that aren't") from error
    if not isinstance(node, dict):
        raise UnavailableError(0, "", f"{request}: the answer must be a JSON object, seen a {type(node).__name__}")
    return node


def check_answer(node: Node, request: str, **members: type | UnionType) -> Node:
    """The answer, if it has the kind and the members that every such answer has. Raises UnavailableError: no Kubernetes API answered."""
    for name, wanted in {"kind": str, **members}.items():
        if name not in node or not isinstance(node[name], wanted):
            seen = f"seen {json_type(node[name])}" if name in node else "seen none"
            raise _make_foreign_error(request, f"`{name}` of the answer must be {_WORDS.get(wanted, 'a list')}, {seen}")
    return node


def read_items(page: Node, request: str) -> list[Node]:
    """The objects of a page of a list. Linear in their number. Raises UnavailableError for a page that no Kubernetes API gives."""
    objects = check_answer(page, request, metadata=dict, items=list | None)["items"] or []
    for item in objects:
        metadata = item.get("metadata") if isinstance(item, dict) else None
        if not isinstance(metadata, dict) or not isinstance(metadata.get("name"), str):
            raise _make_foreign_error(request, "each of `items` of the answer must be an object with `metadata.name`, seen another")
    return objects


def read_served_versions(core: list[Any], groups: list[Any]) -> dict[str, frozenset[str]]:
    """The versions of each API group by the discovery documents. Linear. Raises UnavailableError for what no Kubernetes API gives."""
    if not all(isinstance(version, str) for version in core):
        raise _make_foreign_error("get /api", "each of `versions` of the answer must be a text, seen another")
    served = {"": frozenset(core)}
    for each in groups:
        match each:
            case {"name": str(name), "versions": list(versions)} if all(
                isinstance(_map(version).get("version"), str) for version in versions
            ):
                served[name] = frozenset(version["version"] for version in versions)
            case _:
                raise _make_foreign_error(
                    "get /apis", "each of `groups` of the answer must be an object with `name` and `versions`, seen another"
                )
    return served


def _make_foreign_error(request: str, message: str) -> UnavailableError:
    return UnavailableError(0, "", f"{request}: {message}; check that the address is that of a Kubernetes API server")


def _load(content: bytes) -> Any:
    """Decodes JSON of any depth: values below the decoder's limit are left out, so that one object can't make a list unreadable."""
    try:
        return orjson.loads(content)
    except orjson.JSONDecodeError as error:
        if "depth" not in str(error):
            raise
    return orjson.loads(cut_nesting(content))


def cut_nesting(content: bytes) -> bytes:
    """The JSON text with null for each map and list below `MAX_ANSWER_LEVELS`. Linear in its length."""
    pieces, depth, kept = [], 0, 0
    for token in _BRACKETS.finditer(content):
        sign = token[0]
        if sign in b"{[":
            if depth == MAX_ANSWER_LEVELS:
                pieces += [content[kept : token.start()], b"null"]
            depth += 1
        elif sign in b"}]":
            depth -= 1
            if depth == MAX_ANSWER_LEVELS:
                kept = token.end()
    return b"".join([*pieces, content[kept:]])


def decode_event(line: bytes, request: str) -> Event:
    """One line of a watch. Raises the error that an ERROR event carries, GoneError above all."""
    node = decode_answer(line, request)
    match node.get("type"):
        case "ADDED" | "MODIFIED" | "DELETED" | "BOOKMARK" as kind:
            if isinstance(node.get("object"), dict):
                return Event(kind, node["object"])
            raise _make_foreign_error(request, "`object` of an event must be a map, seen another")
        case "ERROR":
            status = _map(node.get("object"))
            code, reason = status.get("code"), str(status.get("reason") or "")
            code = code if type(code) is int else 500
            raise error_of_status(code, reason, f"{request}: {code}: {status.get('message') or reason}")
    raise UnavailableError(0, "", f"{request}: the type of an event must be known, seen {str(node.get('type'))[:40]!r}")


class LineSplitter:
    """Cuts a stream of chunks into lines, of any length: an object in a watch may be bigger than a reader's buffer."""

    def __init__(self) -> None:
        self._parts: list[bytes] = []

    def feed(self, chunk: bytes) -> Iterator[bytes]:
        """Takes a chunk and gives the lines that it completes, without empty ones."""
        *lines, rest = chunk.split(b"\n")
        for line in lines:
            self._parts.append(line)
            complete = b"".join(self._parts).strip()
            self._parts.clear()
            if complete:
                yield complete
        self._parts.append(rest)


def _map(value: Any) -> dict[str, Any]:
    return value if isinstance(value, dict) else {}


def _fields(status: Node) -> Iterator[str]:
    causes = _map(status.get("details")).get("causes")
    for cause in map(_map, causes if isinstance(causes, list) else ()):
        yield f"{cause.get('field') or 'the object'} ({cause.get('reason') or 'refused'})"
