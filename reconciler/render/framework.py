"""The inference framework of a component: detected from its command or the object, and flags added to its call."""

import re
from collections.abc import Iterable
from itertools import pairwise
from typing import Final

from ...api.line import Line
from ...api.paths import Path
from ...conversion.lens.protocol import Fields
from ...policies.components import find_main
from ...policies.engines import find_sidecar, list_templates
from ...policies.frameworks import PYTHON, SEPARATORS, find_frameworks, list_words
from ...policies.image_tag import find_runtime_version
from .errors import RenderError
from .names import WORKERS
from .template import find_shared_template

NONE: Final = ""  # no flags, no variables, unchanged probes

_INTERPRETER: Final = re.compile(r"(?:.*/)?python[0-9.]*")
# the second part: characters that end a command in a shell, which the Go operator doesn't quote
_NEEDS_QUOTES: Final = re.compile(r"[ \t\n'\"\\{}\[\]$!`]" r"|[&|;()<>]")
_ESCAPED: Final = re.compile(r'([\\"$`])')


def main_of(component: Fields) -> Fields:
    """The main container as the user wrote it, or an empty one."""
    return find_main(component)[0]


def runtime_of(component: Fields, line: Line) -> tuple[int, ...]:
    """The version of a runtime from 1.5.0 on, which checks its health by canaries; empty for others, and on lines before 1.5."""
    version = find_runtime_version(component, find_sidecar(line, component)) if line >= Line.V1_5 else None
    return version if version is not None and version >= (1, 5, 0) else ()


def has_native_picker(picker: Fields, line: Line) -> bool:
    """Whether a picker is the one in runtimes from 1.5.0 on: since line 1.5 no other is admitted without a configuration."""
    return line >= Line.V1_5 and not picker.get("eppConfig")


def path_of_main(component: Fields, path: Path) -> Path:
    """The path of that container in a component, or in the role whose template it has, or of its list."""
    role = next((("roles", index) for index, template in list_templates(component) if template is component.get("podTemplate")), ())
    *steps, index = find_main(component)[1]
    return (*path, *role, *steps, *([index] if isinstance(index, int) else []))


def detect_frameworks(component: Fields) -> list[str]:
    """The frameworks that a worker's command calls; none for other types."""
    if component.get("type") not in WORKERS:
        return []
    return find_frameworks(main_of({"podTemplate": find_shared_template(component)}))


def framework_of(component: Fields, declared: str, path: Path) -> str:
    """The framework of a component. Raises: RenderError if the command contradicts the object, or calls several and the object has none."""
    if component.get("type") not in WORKERS:
        return NONE
    frameworks = detect_frameworks(component)
    if len(frameworks) == 1 and declared and frameworks[0] != declared:
        raise RenderError(path, f'must run what backendFramework says, "{declared}"; its command calls dynamo.{frameworks[0]}')
    if len(frameworks) > 1 and not declared:
        raise RenderError(
            path, f"must run one framework, its command calls {' and '.join(frameworks)}; say in backendFramework which counts"
        )
    return declared or (frameworks[0] if frameworks else NONE)


def is_python(container: Fields) -> bool:
    """Whether a container's command is a Python interpreter."""
    command = container.get("command") or [""]
    return _INTERPRETER.fullmatch(str(command[0])) is not None


def add_flags(container: Fields, flags: str, framework: str, *, shell: bool = False) -> None:
    """Add flags to the call of a framework in a container, in place, if there is one; with `shell` in a shell, which the flags need."""
    if not is_python(container):
        container["args"] = _insert([str(argument) for argument in container.get("args") or ()], flags, framework)
    elif shell:
        container["command"], container["args"] = ["sh", "-c"], [f"exec {join_shell(list_words(container))} {flags}"]
    else:
        container["args"] = [*(container.get("args") or ()), *flags.split()]


def join_shell(words: Iterable[str]) -> str:
    """Words as a shell line."""
    return " ".join(map(quote_word, words))


def quote_word(word: str) -> str:
    """A word for a shell, in double quotes if needed. Apostrophes stay; the Go operator adds one, which no shell can read."""
    if word and not _NEEDS_QUOTES.search(word):
        return word
    escaped = _ESCAPED.sub(r"\\\1", word)
    return f'"{escaped}"'


def read_flag(container: Fields, flag: str) -> int:
    """The number after a flag in a container's arguments; 1 if absent or invalid. `--flag=value` isn't read."""
    value = next((value for name, value in pairwise(_split_args(container)) if name == flag), "")
    return int(value) if value.isascii() and value.isdecimal() and len(value) < 10 else 1


def has_flag(container: Fields, flag: str) -> bool:
    """Whether a container's arguments have a flag."""
    return flag in _split_args(container)


def _split_args(container: Fields) -> list[str]:
    return " ".join(str(argument) for argument in container.get("args") or ()).split()


def _insert(args: list[str], flags: str, framework: str) -> list[str]:
    """The arguments with flags added to every call of the framework in the first argument that has one."""
    for index, text in enumerate(args):
        changed = "".join(_insert_in_command(command, flags, framework) for command in SEPARATORS.split(text))
        if changed != text:
            return [*args[:index], changed, *args[index + 1 :]]
    return args


def _insert_in_command(command: str, flags: str, framework: str) -> str:
    """A command with flags after the last word that names the framework, if a Python interpreter precedes it."""
    python = PYTHON.search(command)
    words = re.compile(rf"(?:\b|(?<=\s-m))dynamo\.{re.escape(framework)}\S*")
    ends = [match.end() for match in words.finditer(command, python.end())] if python else []
    return f"{command[: ends[-1]]} {flags}{command[ends[-1] :]}" if ends else command
