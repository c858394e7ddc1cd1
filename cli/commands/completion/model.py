"""Reads commands, flags and the candidates of their values from the parsers, for completion scripts."""

import argparse
from typing import Any, Final, NamedTuple

from ....api.kinds import ALPHA, BETA, KINDS, list_kind_versions
from ....policies.facts import Facts
from ...console.program import COMMANDS, PROGRAM
from ...project.keys import FORMATS
from .. import load
from ..explain import rule
from ..schema import outputs
from ..schema.kinds import MIXED

ALIASES: Final = ("kubectl-dynamo",)  # other names of the same program
PROGRAMS: Final = (PROGRAM, *ALIASES)
_FILES: Final = ("FILE", "DIR", "PATH", "OLD", "NEW")
# (command, the parser's name of the flag or argument) -> list
PLACES: Final = {
    ("check", "select"): "rules",
    ("check", "ignore"): "rules",
    ("explain", "words"): "pages",
    ("schema", "name"): "schemas",
    ("schema", "version"): "versions",
    ("convert", "fields"): "kinds",
    ("rules", "kind"): "kinds",
    ("crds", "kind"): "kinds",
}


class Values(NamedTuple):
    """The candidates of a flag's value or an argument: a list by name, words, files, or nothing known."""

    words: tuple[str, ...] = ()
    list: str = ""  # the name of one of lists()
    files: bool = False
    after: str = ""  # what follows an equals sign inside the value: `files`, or the name of a list

    @property
    def known(self) -> bool:
        """Whether there is anything to offer."""
        return bool(self.words or self.list or self.files)


class Flag(NamedTuple):
    """One flag with all its names."""

    names: tuple[str, ...]
    help: str
    values: Values | None  # None: nothing follows it
    repeats: bool
    metavar: str


class Command(NamedTuple):
    """One sub-command."""

    name: str
    help: str
    flags: tuple[Flag, ...]
    arguments: tuple[Values, ...]  # one for each argument by its place; the last one repeats if `repeats`
    repeats: bool

    @property
    def argument(self) -> Values:
        """The candidates of positional arguments, at any position."""
        words = tuple(dict.fromkeys(word for each in self.arguments for word in each.words))
        named = next((each.list for each in self.arguments if each.list), "")
        return Values(words, named, any(each.files for each in self.arguments))


class _Parser(argparse.ArgumentParser):
    """A parser that records its declarations."""

    def actions(self) -> list[argparse.Action]:
        return [action for action in self._actions if action.help != argparse.SUPPRESS]


def commands() -> list[Command]:
    """All commands in the order of the overview."""
    return [_command(name) for name in COMMANDS]


def _command(name: str) -> Command:
    module: Any = load(name)
    parser = _Parser(prog=name)
    module.configure(parser)
    flags = tuple(_flag(name, action) for action in parser.actions() if action.option_strings)
    places = [action for action in parser.actions() if not action.option_strings]
    repeats = any(action.nargs in ("*", "+") for action in places)
    return Command(name, COMMANDS[name], flags, tuple(_values(name, action) for action in places), repeats)


def _flag(command: str, action: argparse.Action) -> Flag:
    values = None if action.nargs == 0 else _values(command, action)
    text = (action.help or "").replace("%(default)s", str(action.default)).replace("%%", "%")
    repeats = type(action).__name__ == "_AppendAction"
    return Flag(tuple(action.option_strings), text, values, repeats, str(action.metavar or action.dest).upper())


def _values(command: str, action: argparse.Action) -> Values:
    if action.choices is not None:
        return Values(tuple(str(choice) for choice in action.choices))
    if (command, action.dest) in PLACES:
        return Values(list=PLACES[command, action.dest])
    if action.metavar == "FORMAT[=FILE]":
        return Values(list="formats", after="files")
    if action.metavar == "NAME=VALUE":
        return Values(list="facts", after="switches")
    return Values(files=action.metavar in _FILES)


def lists() -> dict[str, tuple[str, ...]]:
    """Every list by its name."""
    kinds, rules = tuple(kind.name for kind in KINDS), tuple(rule.names())
    return {
        "facts": tuple(f"{name}=" for name in Facts._fields),
        "formats": tuple(FORMATS),
        "kinds": kinds,
        "pages": (*rules, *kinds),
        "rules": rules,
        "schemas": (MIXED, *kinds, *(f"{kind}.{version}" for kind, version in list_kind_versions()), *outputs.names()),
        "switches": ("true", "false", "null"),
        "versions": (ALPHA, BETA),
    }
