"""Purpose, usage and flags of a command, from its parser: parts of its page below docs/commands."""

import argparse
import re
from collections.abc import Iterator
from typing import Any

from dynamo_webhooks.cli.commands import load
from dynamo_webhooks.cli.console.program import COMMANDS, PROGRAM, WIDTH
from tools.manual.table import table


class _Parser(argparse.ArgumentParser):
    """A parser that lists its flags."""

    def groups(self) -> Iterator[tuple[str, list[argparse.Action]]]:
        for group in self._action_groups:
            shown = [action for action in group._group_actions if action.help != argparse.SUPPRESS]  # noqa: SLF001 - there is no other way
            if shown:
                yield str(group.title), shown

    def format_usage(self) -> str:
        """The line of usage, as wide on every machine."""
        formatter = argparse.HelpFormatter(prog=self.prog, width=WIDTH)
        formatter.add_usage(self.usage, self._actions, self._mutually_exclusive_groups, prefix="")
        return formatter.format_help()


def usage(name: str) -> str:
    """What a command is for, and how it is called."""
    return f"{COMMANDS[name][0].upper()}{COMMANDS[name][1:]}.\n\n```\n{parser_of(name).format_usage().strip()}\n```"


def flags(name: str) -> str:
    """The flags of a command, a table for each group, and what its help says behind them."""
    parser = parser_of(name)
    tables = [_group(title, actions) for title, actions in parser.groups()]
    return "\n\n".join([*filter(None, tables), *([f"```\n{parser.epilog.rstrip()}\n```"] if parser.epilog else [])])


def parser_of(name: str) -> _Parser:
    """The parser of one command, with its own flags alone."""
    module: Any = load(name)
    parser = _Parser(prog=f"{PROGRAM} {name}", description=module.HELP, allow_abbrev=False)
    module.configure(parser)
    return parser


def _group(title: str, actions: list[argparse.Action]) -> str:
    rows = [(f"`{_spelled(action)}`", _cell(_help(action))) for action in actions if "--help" not in action.option_strings]
    title = {"options": "", "positional arguments": "Arguments"}.get(title, title.capitalize())
    return (f"### {title}\n\n" if title else "") + table(" | ", rows).replace("|  |  |", "| | |") if rows else ""


def _spelled(action: argparse.Action) -> str:
    """A flag with its other names and what follows it."""
    metavar = action.metavar if isinstance(action.metavar, str) else action.dest.upper()
    value = "" if action.nargs == 0 else "\\|".join(map(str, action.choices)) if action.choices is not None else metavar
    return f"{', '.join(action.option_strings)} {value}".strip()


def _help(action: argparse.Action) -> str:
    return (action.help or "").replace("%(default)s", str(action.default)).replace("%%", "%")


def _cell(text: str) -> str:
    return re.sub(r"\s+", " ", text).replace("|", "\\|")
