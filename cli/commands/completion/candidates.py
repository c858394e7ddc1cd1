"""Finds what can come at the end of an unfinished command line, by the flags that its command declares."""

from collections.abc import Callable, Iterable, Sequence
from typing import Final

from ....api.kinds import ALPHA, BETA, KINDS, list_kind_versions
from ....policies.catalogue import list_all
from ....policies.facts import Facts
from ...console.parser import Action, Parser
from ...console.program import COMMANDS
from ...project.reports import FORMATS
from .. import load
from ..schema import outputs
from ..schema.kinds import MIXED

Candidates = dict[str, str]  # word -> help
_FILES: Final = ("FILE", "DIR", "PATH", "OLD", "NEW")
# what follows the equals sign inside of a value: words, or a file
_SPLIT: Final[dict[str, tuple[tuple[str, ...], tuple[str, ...]]]] = {
    "FORMAT[=FILE]": (tuple(FORMATS), ()),
    "NAME=VALUE": (tuple(f"{name}=" for name in Facts._fields), ("true", "false", "null")),
}


def _rules() -> list[str]:
    return [rule.name for rule in list_all()]


def _kinds() -> list[str]:
    return [kind.name for kind in KINDS]


# (command, the parser's name of the flag or argument) -> its values
NAMES: Final[dict[tuple[str, str], Callable[[], Iterable[str]]]] = {
    ("check", "select"): _rules,
    ("check", "ignore"): _rules,
    ("explain", "words"): lambda: (*_rules(), *_kinds()),
    ("schema", "name"): lambda: (MIXED, *_kinds(), *(f"{kind}.{version}" for kind, version in list_kind_versions()), *outputs.names()),
    ("schema", "version"): lambda: (ALPHA, BETA),
    ("convert", "fields"): _kinds,
    ("rules", "kind"): _kinds,
    ("crds", "kind"): _kinds,
}


def list_actions(command: str) -> list[Action]:
    """The flags and arguments of a command."""
    return Parser(command, load(command)).actions()


def find_candidates(words: Sequence[str]) -> tuple[Candidates, bool]:
    """The candidates for the last of the words after the name of the program, and whether files are candidates."""
    name, last = words[0], words[-1]
    if len(words) == 1:
        return _beginning(last, COMMANDS), False
    if name not in COMMANDS:
        return {}, False
    actions = list_actions(name)
    flags = {option: action for action in actions for option in action.option_strings}
    flag, equals, value = last.partition("=") if last.startswith("--") else ("", "", last)
    before = flags.get(words[-2]) if len(words) > 2 else None
    if equals:
        wanted = [flags[flag]] if flag in flags else []
    elif before is not None and before.nargs != 0:
        wanted, value = [before], last
    elif last.startswith("-"):
        return _beginning(last, {option: describe(action) for option, action in flags.items()}), False
    else:
        wanted = [action for action in actions if not action.option_strings]
    begin, candidates, files = flag + equals, Candidates(), False
    for action in wanted:
        head, offered, file = _values(name, action, value)
        candidates |= {f"{begin}{head}{word}": "" for word in offered}
        files |= file
    return _beginning(last, candidates), files


def _beginning(begin: str, known: Candidates) -> Candidates:
    return {word: text for word, text in known.items() if word.startswith(begin)}


def describe(action: Action) -> str:
    """The help text of a flag."""
    return (action.help or "").replace("%(default)s", str(action.default)).replace("%%", "%")


def _values(command: str, action: Action, value: str) -> tuple[str, Iterable[str], bool]:
    """Returns what of a value is there already, what may follow, and whether a file may."""
    if action.nargs == 0:
        return "", (), False
    if action.choices is not None:
        return "", map(str, action.choices), False
    if (command, action.dest) in NAMES:
        return "", NAMES[command, action.dest](), False
    if action.metavar in _SPLIT:
        first, second = _SPLIT[str(action.metavar)]
        head, equals, _ = value.partition("=")
        return (f"{head}=", second, not second) if equals else ("", first, False)
    return "", (), action.metavar in _FILES
