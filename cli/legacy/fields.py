"""How a legacy kind is declared: the kind that it becomes and a line for each of its fields. The engine and the page read it."""

from __future__ import annotations

import re
from dataclasses import dataclass
from enum import Enum, auto
from typing import Final

Steps = tuple[str, ...]
_STEP: Final = re.compile(r"\[([^\]]*)\]|\.?([^.\[\]]+)")


class How(Enum):
    """What is done with a field."""

    SAME = auto()  # copied as far as today's schema takes it
    GONE = auto()  # left out: today's kinds have nothing like it
    DECIDE = auto()  # left out until a person decides
    IMAGE = auto()  # names a build: its image where a document tells it, else as DECIDE
    NAMESPACE = auto()  # mapped where it is the shared Dynamo namespace, else as GONE
    CLAIM = auto()  # a claim of the graph and a mount


@dataclass(frozen=True, slots=True)
class Field:
    """A field by its name: what becomes of it, what people should know, and where it lies today.

    Names are dotted, with `*` for any key, and brackets around a key that holds dots. `to` is empty where that is the same place; it is
    relative to the block, as the name is, unless it begins with `spec.`.
    """

    name: str
    how: How = How.SAME
    text: str = ""
    to: str = ""

    @property
    def steps(self) -> Steps:
        """The name step by step."""
        return tuple(key or name for key, name in _STEP.findall(self.name))

    def under(self, prefix: str) -> Field:
        """The same field of a block that lies deeper."""
        to = f"{prefix}.{self.to}" if self.to and not self.to.startswith("spec.") else self.to
        return Field(f"{prefix}.{self.name}", self.how, self.text, to)


@dataclass(frozen=True, slots=True)
class LegacyKind:
    """One legacy kind. `becomes` is empty for a kind whose work has no place in today's API; `components` names the blocks that
    describe a component each."""

    name: str
    becomes: str
    about: str
    fields: tuple[Field, ...]
    components: str = ""

    @property
    def table(self) -> dict[Steps, Field]:
        """The fields by their steps."""
        return {field.steps: field for field in self.fields}
