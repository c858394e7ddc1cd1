"""Writes values as new YAML text, which cli/yaml reads as the same values."""

import json
import re
from functools import lru_cache
from typing import Any, Final

import yaml

from ..console.escaping import escape_commands, escape_document
from ..yaml.scalars import ScalarError, parse_plain_scalar

_LINE_ENDS: Final = re.compile("[\u0085\u2028\u2029]")
_MAX_COLUMNS: Final = 2**31  # lines stay as long as their texts
_MAX_CACHED_CHARACTERS: Final = 200  # of a text
_MAX_KEY_CHARACTERS: Final = 120  # beyond it, and for empty ones, PyYAML writes the key on a line of its own, behind a question mark
# what YAML refuses in a text, or takes for the end of a line
_ESCAPED: Final = re.compile("[\x7f-\x9f\u2028\u2029\ufeff\ufffe\uffff]")
_SIMPLE: Final = re.compile(r"[A-Za-z0-9_./][A-Za-z0-9_./+%@=-]*(?::[A-Za-z0-9_./+%@=-]+)*")
_WORD: Final = re.compile(r"[A-Za-z_][A-Za-z0-9_./-]*")  # plain unless the word has another meaning in YAML
_STYLES: Final = ("'", '"', "|", ">")


def emit_json(value: Any) -> str:
    """Indented JSON with a final newline; what does not print is escaped."""
    return escape_document(json.dumps(value, indent=2, ensure_ascii=False)) + "\n"


def emit_yaml(value: Any) -> str:
    """Block style YAML that Kubernetes reads as the very same value."""
    lines: list[str] = []
    try:
        _write(value, "", "", lines)
    except _UnusualError:
        return _dumped(value)
    return "\n".join(lines) + "\n"


class _UnusualError(ValueError):
    """A value that PyYAML writes as a whole: with long or odd keys, or not a map or list."""


def _write(value: Any, head: str, indent: str, lines: list[str]) -> None:
    """The lines of a map or list as PyYAML formats them, ten times as fast; `head` begins the first line."""
    if isinstance(value, dict) and value:
        for key, held in value.items():
            _entry(held, f"{head}{_key(key)}:", f"{indent}  ", lines)
            head = indent
    elif isinstance(value, list) and value:
        for held in value:
            _entry(held, f"{head}-", f"{indent}  ", lines)
            head = indent
    else:
        raise _UnusualError


def _entry(value: Any, head: str, indent: str, lines: list[str]) -> None:
    if isinstance(value, (dict, list)) and value:
        if head.endswith("-"):
            _write(value, f"{head} ", indent, lines)
        else:
            lines.append(head)
            _write(value, indent, indent, lines)
        return
    if isinstance(value, (dict, list)):
        lines.append(f"{head} {{}}" if isinstance(value, dict) else f"{head} []")
        return
    short = value is None or isinstance(value, (bool, int)) or (isinstance(value, str) and len(value) < _MAX_CACHED_CHARACTERS)
    first, *rest = (_scalar if short else _scalar.__wrapped__)(type(value).__name__, value)
    lines.append(f"{head} {first}")
    lines.extend(f"{indent}{line}" if line else "" for line in rest)


@lru_cache(maxsize=4096)
def _scalar(_: str, value: Any) -> tuple[str, ...]:
    """The lines of a scalar; with its type, because 1 equals True."""
    if isinstance(value, str) and value.endswith("\n\n"):  # its blank lines at the end belong to it
        raise _UnusualError
    first, *rest = format_scalar(value)
    return first, *(line.removeprefix("  ") for line in rest)


@lru_cache(maxsize=4096)
def _key(key: Any) -> str:
    if not isinstance(key, str) or not key or len(key) > _MAX_KEY_CHARACTERS or "\n" in key or "\n" in (text := format_key(key)):
        raise _UnusualError
    return text


def _dumped(value: Any) -> str:
    return yaml.dump(value, Dumper=_Dumper, sort_keys=False, allow_unicode=True, width=_MAX_COLUMNS, default_flow_style=False)


def format_key(key: str) -> str:
    """A key of a block, without the colon."""
    if _WORD.fullmatch(key) and not _means_else(key):
        return key
    if not key or len(key) > _MAX_KEY_CHARACTERS or "\n" in key:
        return emit_double_quoted(key)
    return _dumped({key: 0}).rpartition(": 0\n")[0]


def format_scalar(value: Any, like: str = "") -> list[str]:
    """A scalar of a block, its further lines indented by two. `like` is the text that stood there: its kind of quotes is used again."""
    if isinstance(value, str) and like[:1] in _STYLES[:2] and "\n" not in value:
        return [_quoted(value, like[0])]
    if isinstance(value, str) and _WORD.fullmatch(value) and not _means_else(value):
        return [value]
    return _dumped({"k": value}).removeprefix("k:").removeprefix(" ").removesuffix("\n").split("\n")


def emit_flow_scalar(value: Any, like: str = "") -> str:
    """A scalar, or an empty map or list, inside of brackets."""
    if not isinstance(value, str):
        return json.dumps(value, ensure_ascii=False) if isinstance(value, (dict, list)) else format_scalar(value)[0]
    if like[:1] in _STYLES[:2]:
        return _quoted(value, like[0])
    if _SIMPLE.fullmatch(value) and not _means_else(value):
        return value
    return _quoted(value, "'" if '"' in value else '"')


def _quoted(text: str, quote: str) -> str:
    if quote == "'" and text.isprintable() and not _ESCAPED.search(text):
        return "'" + text.replace("'", "''") + "'"
    return emit_double_quoted(text)


def emit_double_quoted(text: str) -> str:
    """Text in double quotes, for YAML and JSON alike."""
    return _ESCAPED.sub(lambda match: f"\\u{ord(match[0]):04x}", json.dumps(text, ensure_ascii=False))


class _Dumper(yaml.SafeDumper):
    """Quotes what Kubernetes would read as something else than text, and repeats values instead of making anchors."""

    def ignore_aliases(self, data: Any) -> bool:  # noqa: ARG002 - the signature is PyYAML's
        return True

    def increase_indent(self, flow: bool = False, indentless: bool = False) -> None:  # noqa: ARG002 - as above
        super().increase_indent(flow, False)


def _represent_text(dumper: yaml.SafeDumper, text: str) -> yaml.ScalarNode:
    quoted = escape_commands(text) != text or _means_else(text)  # in double quotes, commands of CI runners can be escaped
    lines = text.split("\n")
    # a literal block holds only ordinary characters, and no blanks at the ends of lines
    is_block = len(lines) > 1 and text[0] not in " \n" and all(line.isprintable() and line == line.rstrip() for line in lines)
    return dumper.represent_scalar("tag:yaml.org,2002:str", text, style='"' if quoted else "|" if is_block else None)


def _means_else(text: str) -> bool:
    """Whether the text must be in double quotes: plain it would be a number or so, or hold what YAML takes for the end of a line."""
    if _LINE_ENDS.search(text):
        return True
    try:
        return parse_plain_scalar(text) is not text
    except ScalarError:
        return True


_Dumper.add_representer(str, _represent_text)
