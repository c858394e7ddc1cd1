"""Values written as text from nothing. How YAML is read, cli/yaml says: what is written here is read back there as the same values."""

from __future__ import annotations

import json
import re
from typing import Any, Final

import yaml

from dynamo_webhooks.cli.escaping import visible
from dynamo_webhooks.cli.yaml.scalars import ScalarError, plain

_LINE_ENDS: Final = re.compile("[\u0085\u2028\u2029]")
_UNFOLDED: Final = 2**31  # columns: lines stay as long as their texts
_LONGEST_KEY: Final = 120  # beyond it, and for empty ones, PyYAML writes the key on a line of its own, behind a question mark
# what YAML refuses in a text, or takes for the end of a line
_ESCAPED: Final = re.compile("[\x7f-\x9f\u2028\u2029\ufeff\ufffe\uffff]")
_SIMPLE: Final = re.compile(r"[A-Za-z0-9_./][A-Za-z0-9_./+%@=-]*(?::[A-Za-z0-9_./+%@=-]+)*")
_WORD: Final = re.compile(r"[A-Za-z_][A-Za-z0-9_./-]*")  # what is written as it is unless it means something else
_STYLES: Final = ("'", '"', "|", ">")


def json_text(value: Any) -> str:
    """Indented JSON with a final newline; what does not print is escaped."""
    return visible(json.dumps(value, indent=2, ensure_ascii=False)) + "\n"


def yaml_text(value: Any) -> str:
    """Block style YAML that Kubernetes reads as the very same value."""
    return yaml.dump(value, Dumper=_Dumper, sort_keys=False, allow_unicode=True, width=_UNFOLDED, default_flow_style=False)


def key_text(key: str) -> str:
    """A key of a block, without the colon."""
    if _WORD.fullmatch(key) and not _means_else(key):
        return key
    if not key or len(key) > _LONGEST_KEY or "\n" in key:
        return double_quoted(key)
    return yaml_text({key: 0}).rpartition(": 0\n")[0]


def scalar_lines(value: Any, like: str = "") -> list[str]:
    """A scalar of a block, its further lines indented by two. `like` is the text that stood there: its kind of quotes is used again."""
    if isinstance(value, str) and like[:1] in _STYLES[:2] and "\n" not in value:
        return [_quoted(value, like[0])]
    if isinstance(value, str) and _WORD.fullmatch(value) and not _means_else(value):
        return [value]
    return yaml_text({"k": value}).removeprefix("k:").removeprefix(" ").removesuffix("\n").split("\n")


def flow_scalar(value: Any, like: str = "") -> str:
    """A scalar, or an empty map or list, inside of brackets."""
    if not isinstance(value, str):
        return json.dumps(value, ensure_ascii=False) if isinstance(value, (dict, list)) else scalar_lines(value)[0]
    if like[:1] in _STYLES[:2]:
        return _quoted(value, like[0])
    if _SIMPLE.fullmatch(value) and not _means_else(value):
        return value
    return _quoted(value, "'" if '"' in value else '"')


def _quoted(text: str, quote: str) -> str:
    if quote == "'" and text.isprintable() and not _ESCAPED.search(text):
        return "'" + text.replace("'", "''") + "'"
    return double_quoted(text)


def double_quoted(text: str) -> str:
    """Text in double quotes, for YAML and JSON alike."""
    return _ESCAPED.sub(lambda found: f"\\u{ord(found[0]):04x}", json.dumps(text, ensure_ascii=False))


class _Dumper(yaml.SafeDumper):
    """Quotes what Kubernetes would read as something else than text, and repeats values instead of making anchors."""

    def ignore_aliases(self, data: Any) -> bool:  # noqa: ARG002 - the signature is PyYAML's
        return True

    def increase_indent(self, flow: bool = False, indentless: bool = False) -> None:  # noqa: ARG002 - as above
        super().increase_indent(flow, False)


def _represent_text(dumper: yaml.SafeDumper, text: str) -> yaml.ScalarNode:
    style = "|" if "\n" in text and _is_block(text) else '"' if _means_else(text) else None
    return dumper.represent_scalar("tag:yaml.org,2002:str", text, style=style)


def _is_block(text: str) -> bool:
    """Whether a text of several lines can stand as a literal block: no odd characters, and no blanks at the ends of lines."""
    return all(line.isprintable() and line == line.rstrip() for line in text.split("\n")) and not text.startswith((" ", "\n"))


def _means_else(text: str) -> bool:
    """Whether the text must be in double quotes: plain it would be a number or so, or hold what YAML takes for the end of a line."""
    if _LINE_ENDS.search(text):
        return True
    try:
        return plain(text) is not text
    except ScalarError:
        return True


_Dumper.add_representer(str, _represent_text)
