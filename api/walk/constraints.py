"""The CEL rules that schemas carry, each compiled once a process when a schema with it is first used."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Any, Final

from ..models import type_constraints
from ..paths import MISSING

_IDS: Final = {constraint.rule: constraint.id for constraint in type_constraints.ALL}


class Rule:
    """One rule: its id and its text. `broken` returns None if it holds, nothing if it doesn't, and else why it can't be evaluated."""

    def __init__(self, text: str) -> None:
        self.id = _IDS[text]
        self.text = text
        self.transition = "oldSelf" in text
        self.broken = _compiled(text)


def _compiled(text: str) -> Callable[[Any, object, bool], str | None]:
    """The rule as a function of the value and the one that was there before, which a rule may call optional."""
    from ...cel import NONE, EvaluationError, Optional, compile_text

    program = compile_text(text, ("self", "oldSelf"))
    evaluate = program.evaluate
    fields = [name for name, other in program.true_without("self") if other is None]
    texts = [(name, other) for name, other in program.true_without("self") if other is not None]

    def broken(value: Any, old: object, optional: bool) -> str | None:
        if type(value) is dict:
            for name in fields:
                if name not in value:
                    return None
            for name, other in texts:
                if value[name] != other and type(value[name]) is str:
                    return None
        if optional:
            old = NONE if old is MISSING else Optional(old)
        try:
            return None if evaluate({"self": value, "oldSelf": old}) is True else ""
        except EvaluationError as error:
            return str(error)

    return broken


@cache
def rule_of(text: str) -> Rule:
    """Returns the rule of a text. Raises KeyError for one without an id in `api.models`."""
    return Rule(text)
