"""The rule record, and the decorators that make one from a documented generator function; undocumented rules do not import."""

from __future__ import annotations

import importlib
import re
from collections.abc import Callable, Iterator, Mapping
from functools import lru_cache
from typing import Any, Final, NamedTuple, TypeAlias

from dynamo_webhooks.api.kinds import ALPHA, BETA
from dynamo_webhooks.api.line import Line
from dynamo_webhooks.policies.at import At
from dynamo_webhooks.policies.finding import Finding, Level
from dynamo_webhooks.policies.order import Stage
from dynamo_webhooks.policies.review import CREATE, CURRENT, UPDATE, V1_2
from dynamo_webhooks.policies.words import words

Hits: TypeAlias = Iterator[Finding]
Check: TypeAlias = Callable[[At], Hits]

# "Kind/version" -> selector: the place or places of such an object that a rule is called for ("" is the object, `*` every entry)
Where: TypeAlias = Mapping[str, str]

DGD: Final = "DynamoGraphDeployment/v1alpha1"
DCD: Final = "DynamoComponentDeployment/v1alpha1"
DGD_V1BETA1: Final = "DynamoGraphDeployment/v1beta1"
DCD_V1BETA1: Final = "DynamoComponentDeployment/v1beta1"
DGDR: Final = "DynamoGraphDeploymentRequest/v1beta1"
CHECKPOINT_KIND: Final = "DynamoCheckpoint/v1alpha1"
MODEL_KIND: Final = "DynamoModel/v1alpha1"

GRAPH: Final[Where] = {DGD: "spec"}
GRAPH_OBJECT: Final[Where] = {DGD: ""}
GRAPH_ANNOTATIONS: Final[Where] = {DGD: "metadata.annotations"}
SERVICES: Final[Where] = {DGD: "spec.services.*"}
COMPONENT: Final[Where] = {DGD: "spec.services.*", DCD: "spec"}
COMPONENT_V1BETA1: Final[Where] = {DGD_V1BETA1: "spec.components.*", DCD_V1BETA1: "spec"}
CLAIMS: Final[Where] = {DGD: "spec.pvcs.*"}
RESTART: Final[Where] = {DGD: "spec.restart"}
TOPOLOGY: Final[Where] = {DGD: "spec.topologyConstraint"}
KV_TRANSFER: Final[Where] = {DGD: "spec.experimental.kvTransferPolicy"}
CHECKPOINT: Final[Where] = {CHECKPOINT_KIND: "spec"}
MODEL: Final[Where] = {MODEL_KIND: "spec"}
REQUEST: Final[Where] = {DGDR: "spec"}

BOTH: Final = "both"
SECTIONS: Final = ("Why", "Fix", "Bad", "Good")
DEFAULT_SECTIONS: Final = ("Why", "Before", "After")
FIX_IN: Final = "Fix in "  # and a version: where its remedy differs from the other's in more than names
HEADINGS: Final = frozenset({*SECTIONS, *DEFAULT_SECTIONS, f"{FIX_IN}{ALPHA}", f"{FIX_IN}{BETA}"})
_CODE: Final = r"DYN[0-9]{3}|DYND[0-9]{2}"
_FENCE: Final = r"```yaml\n(.*?)\n[ \t]*```"  # compiled only when somebody reads an example


class RuleError(ImportError):
    """A rule that is declared wrongly; its module does not import."""


class Difference(NamedTuple):
    """A deliberate difference from the Go operator 1.2: which quirk or gap of the measured behaviour it answers, and why."""

    quirks: tuple[str, ...]
    because: str


class Rule:
    """One rule or default as data; `check` is called once per match of the selector and yields findings (a default yields edits).

    What a rule declares never changes. One that was read from the index gets its function and its text from its module when they are
    first asked for. It is a class of its own making because `check` starts as quickly as it can: dataclasses import a great deal.
    """

    __slots__ = (
        "attribute",
        "check",
        "code",
        "difference",
        "documentation",
        "level",
        "module",
        "name",
        "needs",
        "on",
        "profile",
        "ratchets",
        "removes",
        "since",
        "stage",
        "until",
        "when",
        "where",
    )

    code: str
    name: str
    where: Where
    # fields of the match of which one must be present and not null ("field" or "field=value", "services.*.field" of some entry); (): always
    when: tuple[str, ...]
    on: frozenset[str]
    needs: tuple[str, ...]
    level: Level
    stage: Stage
    ratchets: bool
    removes: bool  # whether the remedy is to remove the field that a finding names, whatever it holds
    profile: str
    since: Line | None  # the first line that has it
    until: Line | None  # the first line that has it no longer
    difference: Difference | None
    documentation: str  # the doc string without its indentation; parsed only when somebody reads it
    check: Callable[[At], Iterator[Any]]
    module: str
    attribute: str  # what the module calls it, in the index alone

    def __init__(self, **declared: Any) -> None:
        """Takes every field by name; `documentation` and `check` may be left to the module."""
        for name, value in declared.items():
            setattr(self, name, value)

    def __repr__(self) -> str:
        """Shows what tells it from others."""
        return f"Rule({self.code} {self.name}, profile {self.profile})"

    def __getattr__(self, name: str) -> Any:
        """Called for a field that isn't there yet: imports the rule's module and takes what the index leaves out.

        Raises: RuleError when the module declares the rule otherwise than the index.
        """
        if name not in ("check", "documentation"):
            raise AttributeError(name)
        real = getattr(importlib.import_module(self.module), self.attribute, None)
        if not isinstance(real, Rule) or real.declared() != self.declared():
            raise RuleError(f"policies/index.json says of {self.name} what its module does not: run make generate")
        self.check, self.documentation = real.check, real.documentation
        return getattr(self, name)

    def declared(self) -> dict[str, Any]:
        """Every declared field but the function and the text."""
        return {name: getattr(self, name) for name in self.__slots__ if name not in ("attribute", "check", "documentation")}

    def replaced(self, **changes: Any) -> Rule:
        """Another rule that differs from this one in some fields."""
        return Rule(**{**self.declared(), "documentation": self.documentation, "check": self.check, **changes})

    @property
    def title(self) -> str:
        """What is wrong, as one sentence."""
        return _sections(self.documentation)[""]

    @property
    def why(self) -> str:
        """What goes wrong later when it is allowed."""
        return _flow(_sections(self.documentation)["Why"])

    @property
    def fix(self) -> str:
        """What to write instead, in the version that the rule reads; "" for a default."""
        return self.fix_in(self.kinds[0].rpartition("/")[2])

    def fix_in(self, version: str) -> str:
        """What an author of a version is to write instead; "" for a default."""
        sections = _sections(self.documentation)
        return words(_flow(sections.get(FIX_IN + version) or sections.get("Fix", ""))).of(version)

    @property
    def bad(self) -> tuple[str, ...]:
        """YAML blocks as written, without their indentation; for a default the objects before."""
        return _blocks(_sections(self.documentation)["Before" if self.is_default else "Bad"])

    @property
    def good(self) -> tuple[str, ...]:
        """YAML blocks as `bad`; for a default the objects after."""
        return _blocks(_sections(self.documentation)["After" if self.is_default else "Good"])

    @property
    def kinds(self) -> tuple[str, ...]:
        """The kinds and versions whose text the rule reads."""
        return tuple(self.where)

    @property
    def is_default(self) -> bool:
        """Whether it edits instead of finding."""
        return self.stage is Stage.DEFAULT

    def is_of(self, line: Line) -> bool:
        """Whether a line has it."""
        return (self.since is None or line >= self.since) and (self.until is None or line < self.until)

    @property
    def lines(self) -> tuple[Line, ...]:
        """The lines that have it, in their order."""
        return tuple(line for line in Line if self.is_of(line))

    def in_1_2(
        self,
        *quirks: str,
        because: str,
        on: tuple[str, ...] | None = None,
        where: Where | None = None,
        when: str | tuple[str, ...] | None = None,
    ) -> Callable[[Callable[[At], Iterator[Any]]], Rule]:
        """Declares what the rule does under profile 1.2, where that is something else; the reason goes to docs/differences.md.

        The decorated function stands in the same module below the rule and yields what the Go operator's verdict implies
        (nothing at all, where the rule does not exist there: then use `current_only` on the rule itself).
        """

        def declare(check: Callable[[At], Iterator[Any]]) -> Rule:
            return self.replaced(
                on=frozenset(on) if on else self.on,
                where=where or self.where,
                when=_fields(when) if when is not None else self.when,
                profile=V1_2,
                ratchets=False,
                difference=Difference(quirks, because),
                check=check,
            )

        return declare

    def same_in_1_2(self, *quirks: str, because: str, on: tuple[str, ...] | None = None, where: Where | None = None) -> Rule:
        """Declares that profile 1.2 asks the same, but for other operations or kinds; the reason goes to docs/differences.md."""
        return self.in_1_2(*quirks, because=because, on=on, where=where)(self.check)


def _fields(when: str | tuple[str, ...]) -> tuple[str, ...]:
    return (when,) if isinstance(when, str) and when else tuple(when)


def rule(
    code: str,
    *,
    where: Where,
    stage: Stage,
    when: str | tuple[str, ...] = (),
    on: tuple[str, ...] = (CREATE, UPDATE),
    needs: tuple[str, ...] = (),
    level: Level = Level.ERROR,
    ratchets: bool = True,
    removes: bool = False,
    current_only: Difference | None = None,
    since: str = "",
    until: str = "",
) -> Callable[[Check], Rule]:
    """Makes a rule of a generator function whose doc string has the sections Why, Fix, Bad and Good; the kebab case of its name names it.

    `when` names the fields of the match without which the rule can't fire: it is not called then (that is what makes the server fast).
    "services.*.field" is the field of any entry; the rule is still called once, for its own place. `ratchets` False: also refused when
    the old object had the same violation (immutability, ownership, locks).
    `removes`: the remedy is to remove the field that a finding names, whatever it holds; `check --fix` does.
    `current_only`: the rule does not exist under profile 1.2, with the gap it answers and why.
    `since`: the line of the operator from which on it is asked ("1.5"); `until`: the line from which on it no longer is.

    Raises: RuleError when a section or an example is missing or the code is malformed.
    """

    def declare(check: Check) -> Rule:
        made = _record(
            code,
            check,
            SECTIONS,
            where=where,
            stage=stage,
            when=_fields(when),
            on=on,
            needs=needs,
            level=level,
            ratchets=ratchets,
            current_only=current_only,
        )
        made.removes = removes
        made.since, made.until = _line(since), _line(until)
        return made

    return declare


def default(
    code: str,
    *,
    where: Where,
    when: str | tuple[str, ...] = (),
    on: tuple[str, ...] = (CREATE, UPDATE),
    needs: tuple[str, ...] = (),
    current_only: Difference | None = None,
    only_in_1_2: Difference | None = None,
    since: str = "",
    until: str = "",
) -> Callable[[Callable[[At], Iterator[Any]]], Rule]:
    """Makes a default of a generator function that yields `Edit`s; its doc string has the sections Why, Before and After.

    `only_in_1_2`: what the Go operator fills in and profile current leaves out, with the reason. `since` and `until` as in `rule`.

    Raises: RuleError as `rule` does.
    """

    def declare(check: Callable[[At], Iterator[Any]]) -> Rule:
        made = _record(
            code,
            check,
            DEFAULT_SECTIONS,
            where=where,
            stage=Stage.DEFAULT,
            when=_fields(when),
            on=on,
            needs=needs,
            level=Level.WARNING,
            ratchets=False,
            current_only=current_only,
        )
        made.since, made.until = _line(since), _line(until)
        if only_in_1_2:
            made.profile, made.difference = V1_2, only_in_1_2
        return made

    return declare


def _line(word: str) -> Line | None:
    return Line(word) if word else None


def _record(
    code: str,
    check: Callable[[At], Iterator[Any]],
    headings: tuple[str, ...],
    *,
    where: Where,
    stage: Stage,
    when: tuple[str, ...],
    on: tuple[str, ...],
    needs: tuple[str, ...],
    level: Level,
    ratchets: bool,
    current_only: Difference | None,
) -> Rule:
    name = check.__name__.replace("_", "-")
    if not re.fullmatch(_CODE, code):
        raise RuleError(f"rule {name}: code must look like DYN123 (a default: DYND01), got {code!r}")
    first, _, rest = (check.__doc__ or "").partition("\n")
    documentation = f"{first}\n{_dedent(rest)}"  # as Python 3.13 and newer have it anyway
    missing = [heading for heading in headings if f"\n{heading}\n" not in documentation]
    if missing or not documentation.split("\n", 1)[0].strip():
        raise RuleError(
            f"rule {name}: the doc string must have a title and the sections {', '.join(headings)}; missing {', '.join(missing)}"
        )
    if "```yaml" not in documentation[: (last := documentation.index(f"\n{headings[-1]}\n"))] or "```yaml" not in documentation[last:]:
        raise RuleError(f"rule {name}: {headings[-2]} and {headings[-1]} must each hold a YAML example")
    return Rule(
        code=code,
        name=name,
        where=where,
        when=when,
        on=frozenset(on),
        needs=needs,
        level=level,
        stage=stage,
        ratchets=ratchets,
        removes=False,
        profile=CURRENT if current_only else BOTH,
        difference=current_only,
        since=None,
        until=None,
        documentation=documentation,
        check=check,
        module=check.__module__,
    )


@lru_cache(maxsize=16)
def _sections(documentation: str) -> dict[str, str]:
    """The text below each heading; the title below the empty one."""
    first, *lines = documentation.strip().split("\n")
    found, current = {"": first.strip()}, ""
    for line in lines:
        if line in HEADINGS:
            current = line
            found[current] = ""
        elif current:
            found[current] += line + "\n"
    return found


def _blocks(section: str) -> tuple[str, ...]:
    return tuple(_dedent(block) for block in re.findall(_FENCE, section, re.DOTALL))


def _flow(text: str) -> str:
    return " ".join(text.split())


def _dedent(block: str) -> str:
    lines = block.split("\n")
    indent = min((len(line) - len(line.lstrip()) for line in lines if line.strip()), default=0)
    return "\n".join(line[indent:] for line in lines) + "\n"
