"""The script for zsh, in the form that its completion system loads from a folder of `fpath` or sources."""

from collections.abc import Iterator

from ...console.program import PROGRAM
from .model import PROGRAMS, Command, Flag, Values, commands, lists

_HEAD = f"""#compdef {" ".join(PROGRAMS)}
# zsh completion for {PROGRAM}; written by `{PROGRAM} completion zsh`
"""
_MAIN = f"""
_dynamo_webhooks() {{
  local -a commands
  commands=(
%s
  )
  if (( CURRENT == 2 )); then
    _describe -t commands command commands
    return
  fi
  local command=$words[2]
  shift words
  (( CURRENT-- ))
  case $command in
%s
  esac
}}

if [[ $funcstack[1] == _dynamo_webhooks ]]; then
  _dynamo_webhooks "$@"
else
  compdef _dynamo_webhooks {" ".join(PROGRAMS)}
fi
"""


def zsh() -> str:
    """The script."""
    known = commands()
    ending = {"facts": "-S '' "}  # no blank is put behind a fact, whose value follows
    helpers = [f"_dynamo_webhooks_{name}() {{ compadd {ending.get(name, '')}-- {' '.join(words)} }}" for name, words in lists().items()]
    helpers += [
        "_dynamo_webhooks_reports() { if compset -P '*='; then _files; else _dynamo_webhooks_formats; fi }",
        "_dynamo_webhooks_settings() { if compset -P '*='; then _dynamo_webhooks_switches; else _dynamo_webhooks_facts; fi }",
    ]
    described = "\n".join(f"    {_quoted(f'{each.name}:{each.help}')}" for each in known)
    return _HEAD + "\n".join(helpers) + "\n" + _MAIN % (described, "\n".join(_case(each) for each in known))


def _case(command: Command) -> str:
    specs = [*(spec for flag in command.flags for spec in _flag(flag)), *_arguments(command)]
    lines = " \\\n".join(f"        {_quoted(spec)}" for spec in specs)
    return f"    {command.name})\n      _arguments -s \\\n{lines}\n      ;;"


def _flag(flag: Flag) -> Iterator[str]:
    """One specification for each name; another name of a flag that was given isn't offered again."""
    others = "" if flag.repeats else f"({' '.join(flag.names)})"
    for name in flag.names:
        equals = "=" if flag.values is not None and name.startswith("--") else ""
        value = "" if flag.values is None else f":{_escaped(flag.metavar)}:{_action(flag.values)}"
        yield f"{'*' if flag.repeats else others}{name}{equals}[{_escaped(flag.help)}]{value}"


def _arguments(command: Command) -> Iterator[str]:
    for number, values in enumerate(command.arguments, 1):
        last = number == len(command.arguments)
        yield f"{'*' if last and command.repeats else number}:argument:{_action(values)}"


def _action(values: Values) -> str:
    if values.after:
        return "_dynamo_webhooks_reports" if values.after == "files" else "_dynamo_webhooks_settings"
    if values.list:
        return f"_dynamo_webhooks_{values.list}"
    if values.words:
        return f"({' '.join(values.words)})"
    return "_files" if values.files else " "


def _escaped(text: str) -> str:
    """Text inside a specification, where brackets and colons mean something."""
    for sign in "\\[]:":
        text = text.replace(sign, f"\\{sign}")
    return text


def _quoted(text: str) -> str:
    return "'" + text.replace("'", "'\\''") + "'"
