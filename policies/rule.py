"""The rule record and the decorators that make one of a documented generator function."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from enum import IntEnum, StrEnum
from functools import cached_property, partial
from typing import Any, Final, NamedTuple, TypeAlias

from ..api.kinds import BETA
from ..api.line import Line
from .compiled import interpret, is_compiled
from .review import CREATE, DELETING, UPDATE
from .rule_sections import (
    DEFAULT_SECTIONS,
    SECTIONS,
    RuleError,
    join_lines,
    read_documentation,
    read_examples,
    require_headings,
    split_sections,
)
from .words import format_words

Check: TypeAlias = Callable[[Any], Iterator[Any]]  # of an `At`, which knows its rule

# "Kind/version" -> selector: the place or places of such an object that a rule is called for ("" is the object, `*` every entry)
Where: TypeAlias = Mapping[str, str]

DGD: Final = "DynamoGraphDeployment/v1beta1"
DCD: Final = "DynamoComponentDeployment/v1beta1"
DGDR: Final = "DynamoGraphDeploymentRequest/v1beta1"
CHECKPOINT_KIND: Final = "DynamoCheckpoint/v1alpha1"
MODEL_KIND: Final = "DynamoModel/v1alpha1"
DGD_V1ALPHA1: Final = "DynamoGraphDeployment/v1alpha1"
DCD_V1ALPHA1: Final = "DynamoComponentDeployment/v1alpha1"

GRAPH: Final[Where] = {DGD: "spec"}
GRAPH_OBJECT: Final[Where] = {DGD: ""}
GRAPH_ANNOTATIONS: Final[Where] = {DGD: "metadata.annotations"}
GRAPH_COMPONENT: Final[Where] = {DGD: "spec.components.*"}
COMPONENT: Final[Where] = {DGD: "spec.components.*", DCD: "spec"}
RESTART: Final[Where] = {DGD: "spec.restart"}
TOPOLOGY: Final[Where] = {DGD: "spec.topologyConstraint"}
KV_TRANSFER: Final[Where] = {DGD: "spec.experimental.kvTransferPolicy"}
GRAPH_V1ALPHA1: Final[Where] = {DGD_V1ALPHA1: "spec"}
COMPONENT_V1ALPHA1: Final[Where] = {DGD_V1ALPHA1: "spec.services.*", DCD_V1ALPHA1: "spec"}
CLAIMS: Final[Where] = {DGD_V1ALPHA1: "spec.pvcs.*"}
CHECKPOINT: Final[Where] = {CHECKPOINT_KIND: "spec"}
MODEL: Final[Where] = {MODEL_KIND: "spec"}
REQUEST: Final[Where] = {DGDR: "spec"}


class Level(StrEnum):
    """Severity of a finding: an error refuses, a warning is returned with the answer, a note names an unevaluated rule."""

    ERROR = "error"
    WARNING = "warning"
    NOT_EVALUATED = "not-evaluated"
    FAULT = "fault"  # a rule raised an exception


class Stage(IntEnum):
    """Groups of rules in the order in which people read a denial: the object as a whole first, its parts next, changes last.

    Nothing else orders the findings of an answer.
    """

    SHAPE = 10  # the object can't mean anything without these
    METADATA = 20  # annotations of the object
    STORAGE = 30  # claims declared by a graph
    RESTART = 40
    SCHEDULING = 50  # priority class
    TOPOLOGY = 60
    KV_TRANSFER = 70
    NAMES = 80  # lengths that Grove allows
    COMPONENT = 100  # plain fields of one component
    CHECKPOINT = 110
    EPP = 120
    GMS = 130  # the GPU memory service
    FAILOVER = 140
    SNAPSHOT = 150  # the gate of GMS with checkpoints
    REQUEST = 200  # DynamoGraphDeploymentRequest
    MODEL = 210
    IMMUTABLE = 300
    OWNERSHIP = 310  # who may write replicas
    LOCK = 320  # refused for as long as something else goes on
    ADVICE = 400  # warnings
    DEFAULT = 500


_CODE: Final = r"DYN[0-9]{3}|DYND[0-9]{2}"


class Difference(NamedTuple):
    """A deliberate difference from the Go operator 1.2."""

    because: str
    lacking: bool = False  # whether the Go operator 1.2 has no such rule


class Rule:
    """One rule or default as data; `check` is called once per match of the selector and yields findings (a default yields edits).

    Not a dataclass, whose import would delay commands.
    """

    code: str
    name: str
    where: Where
    # fields of the match of which one must be present and not null ("field", "block.field", "field=value", or "services.*.field" of some
    # entry); a list on the way counts as each of its entries; (): always
    when: tuple[str, ...] = ()
    on: frozenset[str] = frozenset()
    needs: tuple[str, ...] = ()
    level: Level
    stage: Stage
    ratchets: bool
    removes: bool = False  # whether the remedy is to remove the field that a finding names, whatever it holds
    since: Line | None = None  # the first line that has it
    until: Line | None = None  # the first line that has it no longer
    difference: Difference | None = None
    module: str
    check: Check

    def __init__(self, **declared: Any) -> None:
        """Takes every field by name; `documentation` may be left to the docstring of `check`."""
        for name, value in declared.items():
            setattr(self, name, value)

    def __repr__(self) -> str:
        return f"Rule({self.code} {self.name})"

    @cached_property
    def documentation(self) -> str:
        """The docstring without its indentation; a compiled function has none, and its source is read."""
        if is_compiled(self.check):
            interpreted: Rule = getattr(interpret(self.module), self.check.__name__)
            return interpreted.documentation
        return read_documentation(self.name, self.check)

    @property
    def operations(self) -> list[str]:
        """The operations of requests that it is asked about."""
        return sorted(self.on - {DELETING})

    @property
    def title(self) -> str:
        """The mistake, as one sentence."""
        return split_sections(self.documentation)[""]

    @property
    def why(self) -> str:
        """The consequence of the mistake."""
        return join_lines(split_sections(self.documentation)["Why"])

    @property
    def fix(self) -> str:
        """The remedy, in the version that the rule reads; "" for a default, and for a check whose messages state it."""
        return self.fix_in(self.kinds[0].rpartition("/")[2] if self.kinds else BETA)

    def fix_in(self, version: str) -> str:
        """The remedy in a version; "" for a default."""
        sections = split_sections(self.documentation)
        return format_words(join_lines(sections.get("Fix", ""))).of(version)

    @property
    def examples(self) -> tuple[tuple[str, str], ...]:
        """YAML with the mistake and without it, "" on the side that an example lacks; for a default the objects before and after."""
        return read_examples(self.documentation)

    @property
    def bad(self) -> tuple[str, ...]:
        """The examples with the mistake; for a default the objects before."""
        return tuple(bad for bad, _ in self.examples if bad)

    @property
    def good(self) -> tuple[str, ...]:
        """The examples without the mistake; for a default the objects after."""
        return tuple(good for _, good in self.examples if good)

    @property
    def kinds(self) -> tuple[str, ...]:
        """The kinds and versions whose text the rule reads."""
        return tuple(self.where)

    @property
    def is_default(self) -> bool:
        """Whether it edits instead of finding."""
        return self.stage is Stage.DEFAULT

    @property
    def is_check(self) -> bool:
        """Whether something else than an evaluation finds it: reading, the schema, conversion."""
        return not self.where

    def is_of(self, line: Line) -> bool:
        """Whether a line has it."""
        return (self.since is None or line >= self.since) and (self.until is None or line < self.until)

    @property
    def lines(self) -> tuple[Line, ...]:
        """The lines that have it, in their order."""
        return tuple(line for line in Line if self.is_of(line))


def field_of(condition: str) -> str:
    """The field of one condition of `when`."""
    return re.split("!?=|[<>]", condition, maxsplit=1)[0]


def rule(
    code: str,
    *,
    where: Where,
    stage: Stage,
    when: str | tuple[str, ...] = (),
    on: tuple[str, ...] = (CREATE, UPDATE),
    needs: tuple[str, ...] = (),
    ratchets: bool = True,
    removes: bool = False,
    since: str = "",
    until: str = "",
) -> Callable[[Check], Rule]:
    """Makes a rule of a generator function whose doc string has the sections Why, Fix and Example; the kebab case of its name names it.

    `when` names the fields of the match without which the rule can't fire: it is not called then (that is what makes the server fast).
    "block.field" is a field below another, "list.field" that of any entry of a list. "services.*.field" is the field of any entry, too; the
    rule is still called once, for its own place. "field=value", "field!=one,another" and "field<0" name its
    value, "field>1" that it is a list of several entries.
    `ratchets` False: also refused when the old object had the same violation (immutability, ownership, locks).
    `removes`: the remedy is to remove the field that a finding names, whatever it holds; `check --fix` does.
    `since`: the line of the operator from which on it is asked ("1.5"); `until`: the line from which on it no longer is.

    Raises: RuleError when a section or an example is missing or the code is malformed.
    """

    def declare(check: Check) -> Rule:
        name = check.__name__.replace("_", "-")
        if not re.fullmatch(_CODE, code):
            raise RuleError(f"rule {name}: code must look like DYN123 (a default: DYND01), got {code!r}")
        made = Rule(
            code=code,
            name=name,
            where=where,
            when=(when,) if isinstance(when, str) else when,
            on=frozenset(on),
            needs=needs,
            level=Level.WARNING if stage in (Stage.ADVICE, Stage.DEFAULT) else Level.ERROR,
            stage=stage,
            ratchets=ratchets,
            removes=removes,
            since=Line(since) if since else None,
            until=Line(until) if until else None,
            check=check,
            module=check.__module__,
        )
        if not is_compiled(check):
            require_headings(name, check, DEFAULT_SECTIONS if stage is Stage.DEFAULT else SECTIONS)
        return made

    return declare


# makes a default of a generator function that yields `Edit`s; its doc string has the sections Why, Before and After
default: Final = partial(rule, stage=Stage.DEFAULT, ratchets=False)


def differs(because: str, *, lacking: bool = False) -> Callable[[Rule], Rule]:
    """Declares how the Go operator 1.2 answers otherwise than a rule, for docs/differences.md; the arguments are those of `Difference`."""

    def declare(declared: Rule) -> Rule:
        declared.difference = Difference(because, lacking)
        return declared

    return declare
