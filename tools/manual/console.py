"""Refreshes the outputs in a page: runs each command of its `console` blocks, and leaves the rest unchanged.

A page may hold, beside `console` blocks whose commands begin with `$ `:

- `<!-- file: NAME -->` before a block: the block is written to that file first;
- `<!-- run: LINE -->`: a line that is run and not shown;
- `<!-- fresh -->`: what follows happens in another empty folder;
- `<!-- made: NAME -->` and `<!-- end -->`: the function of that name writes the text between them.
"""

import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import ExitStack
from typing import Final

from tools.manual.terminal import Terminal, terminal

_DIRECTIVE: Final = re.compile(r"<!-- (file|run|fresh|made)(?:: (.+))? -->")
_FENCE: Final = re.compile(r"(`{3,})(\w*)\s*")
_CONSOLE: Final = "console"
_PROMPT: Final = "$ "
_END: Final = "<!-- end -->"


class PageError(Exception):
    """A page whose blocks or directives don't fit together; the text names the line."""


def refresh(text: str, parts: Mapping[str, Callable[[], str]]) -> str:
    """The page with current outputs and made parts.

    Raises: PageError for a block or part without an end, or a part without a generator; TerminalError for outputs that can't be kept.
    """
    with ExitStack() as stack:
        return "".join(_lines(text, parts, lambda: stack.enter_context(terminal())))


def _lines(text: str, parts: Mapping[str, Callable[[], str]], fresh: Callable[[], Terminal]) -> Iterator[str]:
    session, target = fresh(), ""
    lines = iter(text.splitlines(keepends=True))
    for line in lines:
        yield line
        found = _DIRECTIVE.fullmatch(line.strip())
        what, name = (found[1], found[2]) if found else ("", "")
        if what == "fresh":
            session = fresh()
        elif what == "run":
            session.run(name)
        elif what == "file":
            target = name
        elif what == "made":
            yield from _made(name, lines, parts)
        elif fence := _FENCE.fullmatch(line):
            block = [*_until(lines, fence[1], line)]
            yield from _run(block[:-1], session, fence[1]) if fence[2] == _CONSOLE else block[:-1]
            yield block[-1]
            if target:
                session.write(target, "".join(block[:-1]))
                target = ""


def _made(name: str, lines: Iterator[str], parts: Mapping[str, Callable[[], str]]) -> Iterator[str]:
    if name not in parts:
        raise PageError(f"<!-- made: {name} -->: no generator has that name")
    *_, end = _until(lines, _END, f"<!-- made: {name} -->")
    yield f"\n{parts[name]().strip()}\n\n"
    yield end


def _until(lines: Iterator[str], end: str, begun: str) -> Iterator[str]:
    """The lines up to the first that is the end, that one included."""
    for line in lines:
        yield line
        if line.strip() == end:
            return
    raise PageError(f"{begun.strip()} has no end")


def _run(block: Iterable[str], session: Terminal, fence: str) -> Iterator[str]:
    """The commands of a block, each with its current output."""
    for line in block:
        if line.startswith(_PROMPT):
            yield line
            printed = [each.rstrip() for each in session.run(line.removeprefix(_PROMPT).strip()).splitlines()]
            if fence in printed:
                raise PageError(f"{line.strip()} prints {fence}: begin and end its block with one backtick more")
            yield "".join(f"{each}\n" for each in printed)
