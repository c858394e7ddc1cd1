"""The parser of a command: answers wrong usage with one sentence, as wide as the terminal."""

import argparse
import re
from collections.abc import Sequence
from typing import Any, NoReturn

from .exits import UsageError
from .flags import TRACEBACKS
from .nearest import did_you_mean
from .options import declare, read
from .program import PROGRAM, help_width

Action = argparse.Action  # a flag or an argument, declared


class Parser(argparse.ArgumentParser):
    """Raises instead of ending the process, and answers an unknown flag with the nearest known one."""

    def __init__(self, name: str, command: Any) -> None:
        """`command` is a module with HELP and Options, perhaps with EPILOG and SECTIONS of the help; LITERAL names the field of all words
        behind `--`."""
        epilog = getattr(command, "EPILOG", None)
        super().__init__(prog=f"{PROGRAM} {name}", description=command.HELP, epilog=epilog, allow_abbrev=False)
        self._command = command
        declare(self, command.Options, getattr(command, "SECTIONS", {}))
        if "verbose" not in command.Options._fields:  # every command has it: the sentence about a bug advises it
            self.add_argument("-v", "--verbose", action="store_true", help=TRACEBACKS)

    def _get_formatter(self) -> argparse.HelpFormatter:
        # asked for with every flag; with a width it doesn't import shutil to find one out
        kind = argparse.RawDescriptionHelpFormatter if "\n" in (self.epilog or "") else argparse.HelpFormatter
        return kind(prog=self.prog, width=help_width())

    def format_help(self) -> str:
        """The help, as wide as the terminal."""
        import textwrap

        # the formatter that keeps the lines of examples keeps this one, too
        self.description = textwrap.fill(self.description or "", help_width())
        return super().format_help()

    def error(self, message: str) -> NoReturn:
        """Raises: UsageError with the sentence."""
        raise UsageError(reword_argparse_error(message, self.prog))

    def options(self, words: Sequence[str]) -> Any:
        """The options that words give; paths may precede and follow a flag. Raises: UsageError."""
        given, literal = list(words), getattr(self._command, "LITERAL", "")
        if literal and "--" in given:  # of several, argparse would drop more than the first
            given = given[: given.index("--")]
        parsed, unknown = self.parse_known_args(given)
        if unknown:  # the first look leaves over all paths but the first row of them; the second takes longer, so not every start has one
            parsed, unknown = self.parse_known_intermixed_args(given)
        if unknown:
            word = unknown[0].partition("=")[0]
            what = "flag" if word.startswith("-") else "argument"
            known = [flag for action in self._actions for flag in action.option_strings if flag.startswith("--")]
            raise UsageError(f"unknown {what} {word}{did_you_mean(word, known) if what == 'flag' else ''}")
        options: Any = read(self._command.Options, parsed)
        return options._replace(**{literal: tuple(words[len(given) + 1 :])}) if literal else options

    def actions(self) -> list[argparse.Action]:
        """The flags and arguments that help shows."""
        return [action for action in self._actions if action.help != argparse.SUPPRESS]


def reword_argparse_error(message: str, called: str) -> str:
    """An error of argparse as one sentence: the requirement, the value seen, the fix; `called` is the command whose help says more."""
    if match := re.fullmatch(r"the following arguments are required: (.+)", message):
        return f"{match[1]} must be given; {called} --help says more"
    match = re.fullmatch(r"argument (\S+): (.+)", message)
    if match is None:
        return message
    flag, text = max(match[1].split("/"), key=len), match[2]  # the longest of its names: `-o/--output` is `--output`
    if match := re.fullmatch(r"invalid choice: (.+?) \(choose from (.+)\)", text):
        seen, known = match[1].strip("'"), [word.strip(" '") for word in match[2].split(",")]
        return f"{flag} must be one of {', '.join(known)}, got {seen}{did_you_mean(seen, known)}"
    if text == "expected one argument":
        return f"{flag} must be followed by a value; {called} --help says which"
    if match := re.fullmatch(r"invalid float value: '?(.*?)'?", text):
        return f"{flag} must be a number, got {match[1]}"
    return f"{flag}: {text}"
