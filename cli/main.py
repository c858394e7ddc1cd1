"""The entry of the command: chooses the sub-command, imports only that one, and turns what happens into a published exit code."""

import argparse
import re
import sys
from collections.abc import Sequence
from typing import Final, NoReturn

from .commands import load
from .console.exits import BUG, INTERRUPTED, OK, USAGE, UsageError
from .console.nearest import did_you_mean
from .console.output import prepare, write_stderr, write_stdout
from .console.program import COMMANDS, PROGRAM, help_width, installed_version

_EXTRAS: Final = frozenset({"aiohttp", "cryptography", "httptools", "kubernetes", "lsprotocol", "prometheus_client", "pygls", "uvloop"})
# of all other commands: cluster
_EXTRA_OF: Final = {**dict.fromkeys(("serve", "provision", "reconcile", "up"), "server"), "lsp": "lsp"}


class _Parser(argparse.ArgumentParser):
    """Raises instead of ending the process, and answers an unknown flag with the nearest known one."""

    def _get_formatter(self) -> argparse.HelpFormatter:
        # asked for with every flag; with a width it doesn't import shutil to find one out
        usual = self.formatter_class is argparse.HelpFormatter
        return argparse.HelpFormatter(prog=self.prog, width=help_width()) if usual else self.formatter_class(prog=self.prog)

    def format_help(self) -> str:
        import textwrap

        # formatters that keep the lines of examples keep this one, too
        self.description = textwrap.fill(self.description or "", help_width())
        return super().format_help()

    def error(self, message: str) -> NoReturn:
        raise UsageError(reword_argparse_error(message, self.prog))

    def parse(self, arguments: Sequence[str]) -> argparse.Namespace:
        """Parses all arguments; paths may precede and follow a flag. Raises: UsageError."""
        namespace, unknown = self.parse_known_args(list(arguments))
        if unknown:  # the first look leaves over all paths but the first row of them; the second takes longer, so not every start has one
            namespace, unknown = self.parse_known_intermixed_args(list(arguments))
        is_word = getattr(namespace, "is_word", None)  # of a command that is asked about the flags of others
        if unknown and is_word is not None and all(map(is_word, unknown)):
            namespace.words += unknown
            return namespace
        if unknown:
            word = unknown[0].partition("=")[0]
            known = [flag for action in self._actions for flag in action.option_strings if flag.startswith("--")]
            what = "flag" if word.startswith("-") else "argument"
            raise UsageError(f"unknown {what} {word}{did_you_mean(word, known) if what == 'flag' else ''}")
        return namespace


def main(arguments: Sequence[str] | None = None) -> int:
    """Runs one command and returns its exit code; never raises, and shows no traceback without `-v`."""
    prepare()
    words = list(sys.argv[1:] if arguments is None else arguments)
    try:
        return _dispatch(words)
    except UsageError as error:
        write_stderr(f"{_called(words)}: {error}")
        return USAGE
    except KeyboardInterrupt:
        return INTERRUPTED
    except SystemExit as end:  # argparse ends the process after printing help
        return end.code if isinstance(end.code, int) else OK
    except Exception as error:  # noqa: BLE001 - the last line of defence: a sentence instead of a traceback
        if isinstance(error, FileNotFoundError) and error.filename is None:  # of a look at where this process is
            write_stderr(f"{_called(words)}: the current folder was removed; change to one that exists")
            return USAGE
        if isinstance(error, ModuleNotFoundError) and (error.name or "").partition(".")[0] in _EXTRAS:
            extra = _EXTRA_OF.get(words[0], "cluster")
            fix = f"run pip install '.[{extra}]' in a checkout, or pip install 'WHEEL[{extra}]' with the wheel of a release"
            write_stderr(f"{_called(words)}: needs packages that are not installed; {fix}")
            return USAGE
        _report_bug(words, error)
        return BUG


def _dispatch(words: list[str]) -> int:
    if words[:1] == ["help"] and len(words) > 1:
        words = [words[1], "--help"]
    if not words or words[0] in ("-h", "--help", "help"):
        write_stdout(_overview())
        return OK if words else USAGE
    if words[0] in ("-V", "--version"):
        write_stdout(f"{PROGRAM} {installed_version()}\n")
        return OK
    name, rest = words[0], words[1:]
    if name not in COMMANDS:
        what = "flag" if name.startswith("-") else "command"
        raise UsageError(f"unknown {what} {name}{did_you_mean(name, COMMANDS) or f'; {PROGRAM} --help lists all'}")
    command = load(name)
    parser = _Parser(prog=f"{PROGRAM} {name}", description=command.HELP, allow_abbrev=False)
    command.configure(parser)
    code: int = command.run(parser.parse(rest))
    return code


def _overview() -> str:
    import textwrap

    indent = max(map(len, COMMANDS)) + 4
    lines = [f"  {name:<{indent - 4}}  {text}" for name, text in COMMANDS.items()]
    wrapped = [textwrap.fill(line, help_width(), subsequent_indent=" " * indent) for line in lines]
    more = [f"{PROGRAM} COMMAND --help says more about one command.", f"{PROGRAM} --version prints the version."]
    return "\n".join([f"usage: {PROGRAM} COMMAND ...", "", *wrapped, "", *more, ""])


def _called(words: list[str]) -> str:
    return f"{PROGRAM} {words[0]}" if words and words[0] in COMMANDS else PROGRAM


def _report_bug(words: list[str], error: Exception) -> None:
    import shlex

    verbose = "-v" in words or "--verbose" in words
    if verbose:
        import traceback

        write_stderr("".join(traceback.format_exception(error)).rstrip())
    replay = shlex.join([PROGRAM, *words[:1], *([] if verbose else ["-v"]), *words[1:]])  # behind a -- it would be a path
    write_stderr(f"{_called(words)}: internal error: {type(error).__name__}; to replay it: {replay}")


def reword_argparse_error(message: str, called: str) -> str:
    """An error of argparse as one sentence: the requirement, the value seen, the fix; `called` is the command whose help says more."""
    if found := re.fullmatch(r"the following arguments are required: (.+)", message):
        return f"{found[1]} must be given; {called} --help says more"
    found = re.fullmatch(r"argument (\S+): (.+)", message)
    if found is None:
        return message
    flag, text = max(found[1].split("/"), key=len), found[2]  # the longest of its names: `-o/--output` is `--output`
    if found := re.fullmatch(r"invalid choice: (.+?) \(choose from (.+)\)", text):
        seen, known = found[1].strip("'"), [word.strip(" '") for word in found[2].split(",")]
        return f"{flag} must be one of {', '.join(known)}, got {seen}{did_you_mean(seen, known)}"
    if text == "expected one argument":
        return f"{flag} must be followed by a value; {called} --help says which"
    if found := re.fullmatch(r"invalid float value: '?(.*?)'?", text):
        return f"{flag} must be a number, got {found[1]}"
    return f"{flag}: {text}"


if __name__ == "__main__":
    sys.exit(main())
