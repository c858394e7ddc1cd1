"""Marks mistakes in the policies of one text, for editors."""

from typing import NamedTuple

from ...admission.userrules.policy import CHECK_VERSION, POLICY_GROUP, PolicyError
from ...admission.userrules.read import is_binding, is_policy, read_binding, read_policy
from ...admission.userrules.warn import find_warnings
from ...api.line import Line
from ...api.paths import Path, format_path
from ...api.wording import shorten
from ..objects.manifest import unfold_list
from ..yaml.errors import InputError
from ..yaml.load import Document, Source, read_text


class PolicyMark(NamedTuple):
    """A sentence about a place; line and column count from 1."""

    line: int
    column: int
    text: str
    is_error: bool


def find_marks(source: Source, minor: int, line: Line) -> list[PolicyMark]:
    """The mistakes and warnings of policies and Bindings; `minor` is the oldest release of Kubernetes that must accept them."""
    if not (source.holds(POLICY_GROUP) or source.holds(CHECK_VERSION)):
        return []
    marks = []
    for document in read_text(source):
        for item in () if isinstance(document, InputError) else unfold_list(document):
            try:
                if is_policy(item.data):
                    policy = read_policy(item.data, (), "", minor)
                    marks += [
                        _mark(item, each.path, each.text, each.line, each.column, is_error=False) for each in find_warnings(policy, line)
                    ]
                elif is_binding(item.data):
                    read_binding(item.data)
            except PolicyError as error:
                marks.append(_mark(item, error.path, error.text, error.line, error.column, is_error=True))
    return marks


def _mark(document: Document, path: Path, text: str, line: int, column: int, *, is_error: bool) -> PolicyMark:
    return PolicyMark(*find_position(document, path, line, column), f"{shorten(format_path(path), 200)}: {shorten(text, 1_000)}", is_error)


def find_position(document: Document, path: Path, line: int = 0, column: int = 0) -> tuple[int, int]:
    """Line and column of a field, or of a place in its text, which is looked for in the lines where it can be."""
    position = document.value_position(path)
    start = position.line, position.column
    value = document.data
    for step in path if line else ():
        value = value[step]
    if not line or not isinstance(value, str):
        return start
    wanted = (value.split("\n")[line - 1 : line] or [""])[0]
    lines = document.source.lines
    for number in (*((position.line,) if line == 1 else ()), position.line + line):
        begin = lines[number - 1].find(wanted.strip()) if wanted.strip() and number <= len(lines) else -1
        if begin >= 0:
            return number, begin + max(column - (len(wanted) - len(wanted.lstrip())), 1)
    return start
