"""Reads workflow commands as GitHub's runner does: one a line, the properties between the name and the second `::`, escapes undone last."""

import re
from typing import NamedTuple

_COMMAND = re.compile(r"::(?P<level>[a-z]+) (?P<properties>[^:]*)::(?P<message>.*)")


class Annotation(NamedTuple):
    """One command, as GitHub understands it."""

    level: str
    properties: dict[str, str]
    message: str


def read_commands(text: str) -> list[Annotation]:
    """All commands of an output, in which nothing else may stand."""
    found = []
    for line in text.split("\n")[:-1]:
        match = _COMMAND.fullmatch(line)
        assert match, line
        pairs = (pair.partition("=") for pair in match["properties"].split(","))
        properties = {name: _plain(value, {"%3A": ":", "%2C": ","}) for name, _, value in pairs}
        found.append(Annotation(match["level"], properties, _plain(match["message"], {})))
    return found


def _plain(text: str, more: dict[str, str]) -> str:
    for escape, character in ({"%0D": "\r", "%0A": "\n"} | more | {"%25": "%"}).items():
        text = text.replace(escape, character)
    return text
