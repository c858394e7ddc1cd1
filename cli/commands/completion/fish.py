"""The script for fish."""

from collections.abc import Iterator

from ...console.program import PROGRAM
from .model import ALIASES, Command, Flag, Values, commands, lists

_FUNCTIONS = """\
function __dynamo_webhooks_in --description 'whether the command line is of one sub-command'
    set -l words (commandline -opc)
    test (count $words) -gt 1; and test "$words[2]" = "$argv[1]"
end
function __dynamo_webhooks_first --description 'whether no sub-command is chosen yet'
    test (count (commandline -opc)) -eq 1
end
"""


def fish() -> str:
    """The script."""
    lines = [f"# fish completion for {PROGRAM}; written by `{PROGRAM} completion fish`", _FUNCTIONS.rstrip()]
    lines += [f"set -g __dynamo_webhooks_{name} {' '.join(words)}" for name, words in lists().items()]
    known = commands()
    lines.append(f"complete -c {PROGRAM} -f")
    lines += [f"complete -c {PROGRAM} -n __dynamo_webhooks_first -a {each.name} -d {_quoted(each.help)}" for each in known]
    lines += [line for each in known for line in _of(each)]
    lines += [f"complete -c {alias} -w {PROGRAM}" for alias in ALIASES]
    return "\n".join(lines) + "\n"


def _of(command: Command) -> Iterator[str]:
    begin = f"complete -c {PROGRAM} -n '__dynamo_webhooks_in {command.name}'"
    for flag in command.flags:
        yield f"{begin} {_names(flag)}{_value(flag.values)} -d {_quoted(flag.help)}"
    if command.argument.known:
        yield f"{begin}{_offered(command.argument)}"


def _names(flag: Flag) -> str:
    return " ".join(f"-l {name[2:]}" if name.startswith("--") else f"-s {name[1:]}" for name in flag.names)


def _value(values: Values | None) -> str:
    """Nothing for a switch; else that a value is required, and its candidates."""
    if values is None:
        return ""
    return f" -r{_offered(values)}" if values.files else f" -x{_offered(values)}"


def _offered(values: Values) -> str:
    words = [*values.words, *([f"$__dynamo_webhooks_{values.list}"] if values.list else [])]
    listed = f' -a "{" ".join(words)}"' if words else ""
    return f"{' -F' if values.files else ''}{listed}"


def _quoted(text: str) -> str:
    return "'" + text.replace("\\", "\\\\").replace("'", "\\'") + "'"
