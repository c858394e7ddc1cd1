"""Errors of an expression: of its text, or of its evaluation."""


class CelError(Exception):
    """Something is wrong with an expression."""


class ParseError(CelError):
    """A text that is no expression, with the place where it stops being one: line and column count from one."""

    def __init__(self, sentence: str, line: int = 1, column: int = 1) -> None:
        super().__init__(sentence)
        self.line = line
        self.column = column


class EvaluationError(CelError):
    """An expression that has no value for the data that it was given. `path` leads to the last field that it read, if it was traced."""

    path: tuple[str | int, ...] | None = None


class OverBudgetError(EvaluationError):
    """An expression that costs more than it may; no operator takes this for a value."""

    def __init__(self) -> None:
        super().__init__("operation cancelled: actual cost limit exceeded")


def no_overload() -> EvaluationError:
    """An operator or function that isn't defined for the types of its operands."""
    return EvaluationError("no such overload")
