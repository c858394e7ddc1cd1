"""Objects written the way people write them: any indentation, any quotes, brackets here and there, a comment on many a line."""

import re
from typing import Any, Final, NamedTuple

from dynamo_webhooks.cli.rewrite.emit import emit_flow_scalar, format_key, format_scalar
from tests.laws.dice import Draw

# what the writer below makes; no value looks like it
COMMENT: Final = re.compile(r"# c[0-9]+$", re.MULTILINE)


class Habits(NamedTuple):
    """Columns that a map and a list's dashes are indented by; one in how many values is in brackets, in quotes, commented (0: none)."""

    step: int
    dash: int
    brackets: int
    quotes: int
    comments: int


def habits(draw: Draw, *, brackets: bool = True) -> Habits:
    """Any habits."""
    step = (2, 4, 3)[draw(3)]
    return Habits(step, (0, 2, step)[draw(3)], (0, 2, 5)[draw(3)] if brackets else 0, (0, 2)[draw(2)], (1, 2, 0)[draw(3)])


class Writer:
    """Writes one text. Its comments are numbered, so that each can be found again."""

    def __init__(self, draw: Draw, habits: Habits) -> None:
        """Draws where the habits leave a choice."""
        self._draw = draw
        self._habits = habits
        self._comments = 0

    def text(self, value: dict[str, Any]) -> str:
        """A whole document."""
        return "\n".join(self._block(value, 0)) + "\n"

    def _chance(self, one_in: int) -> bool:
        return one_in > 0 and self._draw(one_in) == 0

    def _comment(self) -> str:
        self._comments += 1
        return f"# c{self._comments}"

    def _beside(self) -> str:
        return " " * (1, 2, 5)[self._draw(3)] + self._comment() if self._chance(self._habits.comments) else ""

    def _above(self, column: int) -> list[str]:
        comment = [" " * column + self._comment()] if self._chance(2 * self._habits.comments) else []
        return comment + [""] * self._chance(8 * self._habits.comments)

    def _block(self, value: Any, column: int) -> list[str]:
        lines = []
        for key, below in value.items() if isinstance(value, dict) else [(None, item) for item in value]:
            lines += [*self._above(column), *self._entry(key, below, column)]
        return lines + [" " * column + self._comment()] * self._chance(4 * self._habits.comments)

    def _entry(self, key: str | None, value: Any, column: int) -> list[str]:
        prefix = " " * column + ("-" if key is None else f"{format_key(key)}:")
        if not isinstance(value, (dict, list)):
            like = ("'", '"', "")[self._draw(2) if self._chance(self._habits.quotes) else 2]
            first, *more = format_scalar(value, like)
            return [f"{prefix} {first}" + ("" if more else self._beside()), *(" " * column + line if line else "" for line in more)]
        if not value or self._chance(self._habits.brackets):
            return [f"{prefix} {_brackets(value)}{self._beside()}"]
        if key is None:
            lines = self._block(value, column + 2)
            opening = next(index for index, line in enumerate(lines) if line.strip() and not line.lstrip().startswith("#"))
            return [*(line[2:] for line in lines[:opening]), f"{prefix} {lines[opening].lstrip()}", *lines[opening + 1 :]]
        deeper = self._habits.step if isinstance(value, dict) else self._habits.dash
        return [prefix + self._beside(), *self._block(value, column + deeper)]


def _brackets(value: Any) -> str:
    if isinstance(value, dict):
        return "{" + ", ".join(f"{emit_flow_scalar(key)}: {_brackets(below)}" for key, below in value.items()) + "}"
    return "[" + ", ".join(map(_brackets, value)) + "]" if isinstance(value, list) else emit_flow_scalar(value)
