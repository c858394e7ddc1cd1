"""One evaluation of an expression."""

from collections.abc import Callable, Mapping
from typing import Any, Final

from .errors import OverBudgetError

Run = Callable[["Frame"], Any]

SIZED: Final[set[type]] = {str, bytes, list, dict}  # types of values that functions and operators read through; the library adds its own
_MAX_FREE_CHARACTERS: Final = 100  # and bytes, whose comparison costs nothing


class Frame:
    """The values of names, the variables of macros, the budget that is left, and, if traced, the place that was read last."""

    __slots__ = ("last", "remaining", "roots", "variables")

    def __init__(self, roots: Mapping[str, object], variables: int, budget: int) -> None:
        self.roots = roots
        self.variables: list[Any] = [None] * variables
        self.remaining = budget
        self.last: tuple[Any, Any] | None = None

    def spend(self, cost: int) -> None:
        """Takes a cost from the budget."""
        self.remaining -= cost
        if self.remaining < 0:
            raise OverBudgetError

    def spend_size(self, *values: Any) -> None:
        """Takes the cost of reading values through, without that of the values in them."""
        for value in values:
            if type(value) in SIZED:
                self.remaining -= len(value) // 10
        if self.remaining < 0:
            raise OverBudgetError

    def spend_compared(self, *texts: Any) -> None:
        """Takes the cost of comparing texts that haven't been read through yet."""
        for text in texts:
            if (type(text) is str or type(text) is bytes) and len(text) > _MAX_FREE_CHARACTERS:
                self.spend(len(text) // 10)
