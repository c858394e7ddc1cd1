"""The pages of the commands: purpose, flags, exit codes, and examples that are run."""

from __future__ import annotations

import argparse
import importlib
import re
from collections.abc import Iterator
from typing import Any, Final

from dynamo_webhooks.cli.exits import OK, REFUSED
from dynamo_webhooks.cli.main import COMMANDS, PROGRAM, WIDTH
from dynamo_webhooks.cli.schema.outputs import names
from tools.manual.console import PageError
from tools.manual.examples import ANSWERS, FILES, MEANINGS, TOLD, Told
from tools.manual.terminal import terminal

_HEADER: Final = "<!-- written by `make docs` (tools/pages.py) from the command itself and tools/manual/examples.py; edit those -->"


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


def commands_page() -> str:
    """The index."""
    rows = [f"| [`{name}`](commands/{name}.md) | {text} |" for name, text in COMMANDS.items()]
    codes = [f"| {code} | {meaning} |" for code, meaning in MEANINGS.items()]
    lines = [
        _HEADER,
        "",
        "# Commands",
        "",
        f"Run `{PROGRAM} COMMAND`, or `kubectl dynamo COMMAND` as a plugin. Results go to stdout, diagnostics to stderr. Commands write",
        "only what a flag or the [project file](ci.md#a-project-file) names, and use no network without a flag.",
        "",
        "| command | effect |",
        "| --- | --- |",
        *rows,
        "",
        "## Exit codes",
        "",
        "All commands use these codes. If several apply, the first of 70, 2, 6, 4, 1, 5, 3, 0 counts.",
        "",
        "| code | meaning |",
        "| --- | --- |",
        *codes,
    ]
    return "\n".join(lines) + "\n"


def command_pages() -> dict[str, str]:
    """Every page by its file below docs/."""
    return {f"commands/{name}.md": _page(name) for name in COMMANDS}


def _page(name: str) -> str:
    told = TOLD[name]
    parser = parser_of(name)
    parts = [
        _HEADER,
        f"# {PROGRAM} {name}",
        f"{COMMANDS[name][0].upper()}{COMMANDS[name][1:]}.",
        f"```\n{parser.format_usage().strip()}\n```",
        "## Examples",
        *_examples(told),
        "## Flags",
        *(_table(title, actions) for title, actions in parser.groups()),
        *([f"```\n{parser.epilog.rstrip()}\n```"] if parser.epilog else []),
        "## Exit codes",
        _codes(name, told.codes),
        *([f"`{PROGRAM} schema {name}` prints the JSON schema of `-o json`."] if name in names() else []),
        *([f"More: {told.more}"] if told.more else []),
        "[All commands](../commands.md).",
    ]
    return "\n\n".join(parts) + "\n"


def parser_of(name: str) -> _Parser:
    """The parser of one command, with its own flags alone."""
    module: Any = importlib.import_module(f"dynamo_webhooks.cli.commands.{name}")
    parser = _Parser(prog=f"{PROGRAM} {name}", description=module.HELP, allow_abbrev=False)
    module.configure(parser)
    return parser


def _examples(told: Told) -> Iterator[str]:
    """The examples with what they print; all of a command in one folder with the files of tools/manual/files.

    Raises: PageError for one that ends otherwise than with an answer that the command can give.
    """
    with terminal() as session:
        for file in sorted(FILES.rglob("*.*")):
            session.write(file.relative_to(FILES).as_posix(), file.read_text("utf-8"))
        for example in told.examples:
            yield example.about if example.about.endswith("?") else f"{example.about}:"
            printed = session.run(example.line) if example.runs else ""
            if example.runs and session.code not in {OK, REFUSED} & {*told.codes}:
                raise PageError(f"{example.line}: ends with {session.code}: {printed.strip()}")
            body = "".join(f"{line.rstrip()}\n" for line in printed.splitlines())
            fence = "````" if "```" in body else "```"
            yield f"{fence}console\n$ {example.line}\n{body}{fence}"


def _table(title: str, actions: list[argparse.Action]) -> str:
    """One group of flags as a table."""
    heads = {"options": "", "positional arguments": "Arguments"}
    rows = [f"| `{_spelled(action)}` | {_cell(_help(action))} |" for action in actions if "--help" not in action.option_strings]
    title = heads.get(title, title.capitalize())
    table = "\n".join(["| | |", "| --- | --- |", *rows])
    return (f"### {title}\n\n" if title else "") + table if rows else ""


def _spelled(action: argparse.Action) -> str:
    """A flag with its other names and what follows it."""
    metavar = action.metavar if isinstance(action.metavar, str) else action.dest.upper()
    value = "" if action.nargs == 0 else "\\|".join(map(str, action.choices)) if action.choices is not None else metavar
    return f"{', '.join(action.option_strings)} {value}".strip()


def _help(action: argparse.Action) -> str:
    return (action.help or "").replace("%(default)s", str(action.default)).replace("%%", "%")


def _cell(text: str) -> str:
    return re.sub(r"\s+", " ", text).replace("|", "\\|")


def _codes(name: str, codes: tuple[int, ...]) -> str:
    rows = [f"| {code} | {ANSWERS.get((name, code), MEANINGS[code])} |" for code in codes]
    return "\n".join(["| code | meaning |", "| --- | --- |", *rows])
