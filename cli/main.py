"""The entry of the command: chooses the sub-command, imports only that one, and turns what happens into a published exit code."""

import sys
from collections.abc import Sequence
from typing import Final

from .commands import load
from .console.exits import BUG, INTERRUPTED, OK, USAGE, UsageError
from .console.nearest import did_you_mean
from .console.output import prepare_streams, write_stderr, write_stdout
from .console.parser import Parser
from .console.program import COMMANDS, PROGRAM, help_width, installed_version

_EXTRAS: Final = frozenset({"aiohttp", "cryptography", "httptools", "kubernetes", "lsprotocol", "prometheus_client", "pygls", "uvloop"})
# of all other commands: cluster
_EXTRA_OF: Final = {**dict.fromkeys(("serve", "provision", "reconcile", "up"), "server"), "lsp": "lsp"}


def main(arguments: Sequence[str] | None = None) -> int:
    """Runs one command and returns its exit code; never raises, and shows no traceback without `-v`."""
    prepare_streams()
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
    code: int = command.run(Parser(name, command).options(rest))
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


if __name__ == "__main__":
    sys.exit(main())
