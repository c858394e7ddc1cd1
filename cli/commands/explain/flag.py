"""The page of a flag: the commands that have it, and its meaning in each."""

import re
from collections.abc import Iterator
from typing import Final

from ...console.program import COMMANDS, PROGRAM
from .field import Page

_FLAG: Final = re.compile(r"--[a-z][a-z0-9-]*")


def exists(word: str) -> bool:
    """Whether any command has the flag."""
    return find(word) is not None


def find(text: str) -> Page | None:
    """The page of a flag, of one command if the text names that before it; None if no command has it."""
    *before, word = text.partition("=")[0].split() or [""]
    if not _FLAG.fullmatch(word) or not set(before) <= COMMANDS.keys():
        return None
    found = [use for name in before or COMMANDS for use in _uses(name, word)]
    return {"flag": word, "commands": found} if found else None


def _uses(name: str, word: str) -> Iterator[dict[str, str]]:
    from ..completion.candidates import describe, list_actions

    try:
        actions = list_actions(name)
    except ImportError:  # a command that this Python can't run, as in a browser
        return
    for action in actions:
        if word in action.option_strings:
            value = "" if action.nargs == 0 else action.metavar or "|".join(map(str, action.choices or ())) or action.dest.upper()
            yield {"command": name, "value": str(value), "description": describe(action)}


def markdown(page: Page) -> str:
    """The page for people."""
    uses = [
        f"- `{PROGRAM} {' '.join(filter(None, (use['command'], page['flag'], use['value'])))}`: {use['description']}"
        for use in page["commands"]
    ]
    more = f"`{PROGRAM} {page['commands'][0]['command']} --help` shows all flags of the command."
    return "\n\n".join((f"# {page['flag']} (a flag)", "\n".join(uses), more)) + "\n"
