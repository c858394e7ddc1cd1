"""Compiles the expressions of one policy, checks their types, and remembers what they read."""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping
from typing import Final

from ...cel import ParseError, compile_text
from ...cel.types import StaticType
from ...policies.facts import Facts
from .names import AUTHORIZER, VARIABLES, type_of_variable
from .policy import Expression, PolicyError
from .reader import Reader

MAX_EXPRESSION_CHARACTERS: Final = 16_384
_FACT: Final = re.compile(r"\bfacts\s*\.\s*([A-Za-z_][A-Za-z0-9_]*)")
ANY: Final = ()
BOOL: Final = ("bool",)
STRING: Final = ("string",)
STRING_OR_NULL: Final = ("string", "null_type")


class Expressions:
    """The expressions of one policy, of which `names` have types; `minor` is the oldest release that must take it, 0 any."""

    def __init__(self, names: Mapping[str, StaticType], minor: int, *, takes_dyn: bool) -> None:
        """`takes_dyn` says that the type of an expression need not be known."""
        self._takes_dyn = takes_dyn
        self._names, self._minor = {**names, **AUTHORIZER}, minor
        self._types: dict[str, StaticType] = {}  # of variables
        self.variables: dict[str, Expression] = {}
        self.reads: set[str] = set()
        self.facts: set[str] = set()

    def variable(self, reader: Reader, name: str) -> None:
        """The expression of a variable, which may read those above it."""
        self._names[VARIABLES] = StaticType(VARIABLES, (), self._types)
        self.variables[name], static_type = self._read(reader, ANY, ())
        self._types[name] = type_of_variable(static_type)

    def expression(self, reader: Reader, wanted: Collection[str], *, without: Collection[str] = ()) -> Expression:
        """One expression, of one of the wanted types; `without` are names that it may not use."""
        return self._read(reader, wanted, without)[0]

    def _read(self, reader: Reader, wanted: Collection[str], without: Collection[str]) -> tuple[Expression, StaticType]:
        text = reader.required()
        if len(text) > MAX_EXPRESSION_CHARACTERS:
            raise PolicyError(reader.path, f"must have at most {MAX_EXPRESSION_CHARACTERS} characters, got {len(text)}")
        names = {name: static_type for name, static_type in self._names.items() if name.partition(".")[0] not in without}
        try:
            program = compile_text(text, names)
            checked = program.check(names, self._minor)
            if checked.faults:
                raise checked.faults[0]
        except ParseError as error:
            raise PolicyError(reader.path, f"is not an expression of CEL: {error}", error.line, error.column) from None
        if wanted and str(checked.type) not in (*wanted, *(("dyn",) if self._takes_dyn else ())):
            raise PolicyError(reader.path, f"must evaluate to {' or '.join(wanted)}, got {checked.type}", 1, 1)
        if "facts" in program.names:
            self._note_facts(reader, text)
        self.reads |= {name.partition(".")[0] for name in program.names}
        return Expression(program, text), checked.type

    def _note_facts(self, reader: Reader, text: str) -> None:
        for match in _FACT.finditer(text):
            if match[1] not in Facts._fields:
                why = f"reads facts.{match[1]}, and there is no such fact"
                before = text[: match.start()]
                place = before.count("\n") + 1, match.start() - before.rfind("\n")
                raise PolicyError(reader.path, f"{why}; known are {', '.join(Facts._fields)}", *place)
            self.facts.add(match[1])
