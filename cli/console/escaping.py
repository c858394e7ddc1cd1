"""Text that any terminal and any CI runner shows as it is: names and values are their authors', who may be strangers.

Bytes of file names that are no Unicode, characters that don't print, and what runners take for commands become escapes.
"""

import re
from typing import Any, Final

from ...api.wording import escape_unprintable

TEXT: Final = "\\x{:02x}"  # escapes of a character: for people and YAML in double quotes
JSON: Final = "\\u{:04x}"
# `::` at the beginning of a line, behind blanks and colours (GitHub, Gitea); `##[`, `##vso[`, `##teamcity[` anywhere in it (GitHub,
# Azure, TeamCity); the sections of GitLab
_COMMAND: Final = (  # compiled where a text may hold one, which few do
    r"(?m)(?P<lead>(?:^|(?<=\r))(?:[^\S\r\n]|\x1b\[[\d;]*m)*)(?P<colon>:)(?=:)|(?P<hash>#)(?=#\w*\[)|(?P<section>s)(?=ection_(?:start|end):\d)"
)


def escape_commands(text: str, escape: str = TEXT) -> str:
    """The text with the first character of everything in it that a CI runner would obey written as an escape."""
    if "::" not in text and "##" not in text and "section_" not in text:
        return text
    return re.sub(_COMMAND, lambda match: (match["lead"] or "") + escape.format(ord(match[0][-1])), text)


def escape_controls(text: str, *, painted: bool = False) -> str:
    """The text with all that doesn't print as escapes, but for line feeds, tabs and, where this project has `painted` it, colours."""
    if text.isprintable():
        return text
    if painted:
        parts = re.split(r"(\x1b\[[\d;]*m)", text)
        return "".join(part if index % 2 else escape_controls(part) for index, part in enumerate(parts))
    return "\n".join("\t".join(map(escape_unprintable, line.split("\t"))) for line in text.split("\n"))


def find_command(text: str) -> tuple[int, str] | None:
    """The line of the first thing that a CI runner would obey, and that thing; None where there is none."""
    match = re.search(_COMMAND, text)
    if match is None:
        return None
    begin = match.end() - 1
    return text.count("\n", 0, begin) + 1, text[begin:].partition("\n")[0][:40]


def encode_json(value: object, option: int = 0) -> str:
    """JSON of data that may hold a file name that is no Unicode text; such bytes are escaped. `option` is orjson's."""
    import orjson  # here and below: each command needs `escape_commands`, and few print JSON

    try:
        return escape_document(orjson.dumps(value, option=option).decode())
    except TypeError:
        return escape_document(orjson.dumps(_escaped(value), option=option).decode())


def escape_document(document: str) -> str:
    """Escape characters in JSON that don't print, such as bidirectional controls, and commands of CI runners."""
    import json

    text = escape_commands(document, JSON)
    for char in {*text} - {"\n"}:
        if not char.isprintable():
            text = text.replace(char, json.dumps(char)[1:-1])
    return text


def escape_surrogates(text: str) -> str:
    """Replace characters that UTF-8 can't encode by their escapes, such as `\\udc80`."""
    return text.encode("utf-8", "backslashreplace").decode()


def _escaped(value: Any) -> Any:
    if isinstance(value, str):
        return escape_surrogates(value)
    if isinstance(value, dict):
        return {key: _escaped(item) for key, item in value.items()}
    return [_escaped(item) for item in value] if isinstance(value, list) else value
