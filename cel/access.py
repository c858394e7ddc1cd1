"""What nodes do with values when they are evaluated."""

from __future__ import annotations

from typing import Any

from .errors import no_overload
from .frame import SIZED, Frame, Run
from .operators import BINARY
from .values import Optional, look_up_optional


def select(value: Any, field: str) -> Any:
    """Returns what isn't plainly a field of an object."""
    if type(value) is Optional:
        return look_up_optional(value, field)
    return BINARY["[]"](value, field)


def value(found: Any) -> Any:
    """Returns what an optional holds."""
    if type(found) is not Optional:
        raise no_overload()
    return found.value


def binary(sign: str, left: Run, right: Run) -> Run:
    """Returns the function of an operator between two nodes."""
    act = BINARY[sign]

    def run(frame: Frame) -> Any:
        one, other = left(frame), right(frame)
        if type(one) in SIZED or sign == "in":
            frame.spend_size(one, other)
        return act(one, other)

    return run


def apply(frame: Frame, sign: str, one: Any, other: Any) -> Any:
    """Applies an operator to two values."""
    if type(one) in SIZED or sign == "in":
        frame.spend_size(one, other)
    return BINARY[sign](one, other)
