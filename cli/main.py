"""The entry of the command: chooses the sub-command, imports only that one, and turns what happens into a published exit code."""

from __future__ import annotations

import argparse
import importlib
import os
import sys
from collections.abc import Sequence
from typing import Final, NoReturn

from dynamo_webhooks.cli.exits import BUG, INTERRUPTED, OK, USAGE, UsageError
from dynamo_webhooks.cli.nearest import hint
from dynamo_webhooks.cli.output import prepare, say, write

PROGRAM: Final = "dynamo-webhooks"

# Name -> what the list of commands says; written here so that the list needs no imports. A test compares it with each module's HELP.
COMMANDS: Final = {
    "serve": "run the webhook server",
    "provision": "make and renew certificates, and publish their trust",
    "certs": "inspect, issue and rotate certificates, and write bundles",
    "reconcile": "run graphs: create and maintain their workloads",
    "check": "check files as the API server and the webhooks do, and list all findings",
    "default": "show or write the defaults of the mutating webhooks",
    "diff": "show what changes between files, folders, Git revisions or a cluster, and the response to the update",
    "test": "run case files (allow, deny, default, convert) and compare with what they expect",
    "convert": "convert objects in files to another version; other documents stay byte for byte",
    "render": "print the child resources that the reconciler would apply",
    "picture": "draw graphs: components, pods, GPUs, claims and Services, and what a change does to them",
    "explain": "explain a rule, a field, a kind, a fact or a pasted server message",
    "rules": "list the rules and defaults",
    "config": "print the effective configuration and the source of each value",
    "review": "answer an AdmissionReview or ConversionReview from a file as the server does",
    "crds": "print the CustomResourceDefinitions",
    "facts": "collect facts about a cluster in a file to commit",
    "migrate": "move stored objects to another version, with a plan before and a proof after, and back",
    "doctor": "inspect an installation: conversion, trust, certificates, servers and dry-run requests",
    "lsp": "serve editors by the language server protocol: findings, fields, completion and fixes",
    "completion": "print a completion script for a shell, or for kubectl's plugin",
    "schema": "print JSON schemas of kinds, for editors, and of commands' JSON output",
    "version": "print versions as JSON",
}

_EXTRAS: Final = frozenset({"aiohttp", "cryptography", "kubernetes", "lsprotocol", "prometheus_client", "pygls", "uvloop"})
_EXTRA_OF: Final = {"serve": "server", "provision": "server", "reconcile": "server", "lsp": "lsp"}  # of all other commands: cluster
WIDTH: Final = 120  # of help texts, in characters, where the terminal is not narrower
_NARROWEST: Final = 40


class _Parser(argparse.ArgumentParser):
    """Raises instead of ending the process, and answers an unknown flag with the nearest known one."""

    def _get_formatter(self) -> argparse.HelpFormatter:
        # asked for with every flag; with a width it doesn't import shutil to find one out
        usual = self.formatter_class is argparse.HelpFormatter
        return argparse.HelpFormatter(prog=self.prog, width=width()) if usual else self.formatter_class(prog=self.prog)

    def format_help(self) -> str:
        import textwrap

        self.description = textwrap.fill(self.description or "", width())  # formatters that keep the lines of examples keep this one, too
        return super().format_help()

    def error(self, message: str) -> NoReturn:
        from dynamo_webhooks.cli.usage import reworded

        raise UsageError(reworded(message, self.prog))

    def parse(self, arguments: Sequence[str]) -> argparse.Namespace:
        """Parses all arguments; paths may stand on both sides of a flag. Raises: UsageError."""
        namespace, unknown = self.parse_known_args(list(arguments))
        if unknown:  # the first look leaves over all paths but the first row of them; the second takes longer, so not every start has one
            namespace, unknown = self.parse_known_intermixed_args(list(arguments))
        if unknown:
            word = unknown[0].partition("=")[0]
            known = [flag for action in self._actions for flag in action.option_strings if flag.startswith("--")]
            what = "flag" if word.startswith("-") else "argument"
            raise UsageError(f"unknown {what} {word}{hint(word, known) if what == 'flag' else ''}")
        return namespace


def width() -> int:
    """How wide help texts are: as COLUMNS or the terminal says, at most WIDTH."""
    told = os.environ.get("COLUMNS", "")
    try:
        columns = int(told) if told.isdecimal() else 0
        columns = columns or os.get_terminal_size(sys.stdout.fileno()).columns
    except (OSError, ValueError):  # no terminal
        return WIDTH
    return max(_NARROWEST, min(WIDTH, columns - 2)) if columns else WIDTH


def main(arguments: Sequence[str] | None = None) -> int:
    """Runs one command and returns its exit code; never raises, and shows no traceback without `-v`."""
    prepare()
    words = list(sys.argv[1:] if arguments is None else arguments)
    try:
        return _dispatch(words)
    except UsageError as error:
        say(f"{_called(words)}: {error}")
        return USAGE
    except KeyboardInterrupt:
        return INTERRUPTED
    except SystemExit as end:  # argparse ends the process after printing help
        return end.code if isinstance(end.code, int) else OK
    except Exception as error:  # noqa: BLE001 - the last line of defence: a sentence instead of a traceback
        if isinstance(error, FileNotFoundError) and _is_nowhere():
            say(f"{_called(words)}: the current folder was removed; change to one that exists")
            return USAGE
        if isinstance(error, ModuleNotFoundError) and (error.name or "").partition(".")[0] in _EXTRAS:
            say(f"{_called(words)}: {_wanting(words)}")
            return USAGE
        _report_bug(words, error)
        return BUG


def _dispatch(words: list[str]) -> int:
    if words[:1] == ["help"] and len(words) > 1:
        words = [words[1], "--help"]
    if not words or words[0] in ("-h", "--help", "help"):
        write(_overview())
        return OK if words else USAGE
    if words[0] in ("-V", "--version"):
        from dynamo_webhooks.cli.commands.version import installed

        write(f"{PROGRAM} {installed()}\n")
        return OK
    name, rest = words[0], words[1:]
    if name not in COMMANDS:
        what = "flag" if name.startswith("-") else "command"
        raise UsageError(f"unknown {what} {name}{hint(name, COMMANDS) or f'; {PROGRAM} --help lists all'}")
    command = importlib.import_module(f"dynamo_webhooks.cli.commands.{name}")
    parser = _Parser(prog=f"{PROGRAM} {name}", description=command.HELP, allow_abbrev=False)
    command.configure(parser)
    code: int = command.run(parser.parse(rest))
    return code


def _overview() -> str:
    import textwrap

    indent = max(map(len, COMMANDS)) + 4
    lines = [f"  {name:<{indent - 4}}  {text}" for name, text in COMMANDS.items()]
    wrapped = [textwrap.fill(line, width(), subsequent_indent=" " * indent) for line in lines]
    more = [f"{PROGRAM} COMMAND --help says more about one command.", f"{PROGRAM} --version prints the version."]
    return "\n".join([f"usage: {PROGRAM} COMMAND ...", "", *wrapped, "", *more, ""])


def _called(words: list[str]) -> str:
    return f"{PROGRAM} {words[0]}" if words and words[0] in COMMANDS else PROGRAM


def _wanting(words: list[str]) -> str:
    """What to install for a command whose packages are missing."""
    return f"needs packages that are not installed; install dynamo-webhooks[{_EXTRA_OF.get(words[0], 'cluster')}]"


def _is_nowhere() -> bool:
    """Whether the current folder is gone, which many commands ask for."""
    try:
        os.getcwd()  # noqa: PTH109 - pathlib takes long to import
    except FileNotFoundError:
        return True
    return False


def _report_bug(words: list[str], error: Exception) -> None:
    import shlex

    verbose = "-v" in words or "--verbose" in words
    if verbose:
        import traceback

        say("".join(traceback.format_exception(error)).rstrip())
    replay = shlex.join([PROGRAM, *words[:1], *([] if verbose else ["-v"]), *words[1:]])  # behind a -- it would be a path
    say(f"{_called(words)}: internal error: {type(error).__name__}; to replay it: {replay}")


if __name__ == "__main__":
    sys.exit(main())
