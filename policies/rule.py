"""The rule record, and the decorators that make one from a documented generator function; undocumented rules do not import."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Final, TypeAlias

from policies.at import At
from policies.finding import Finding, Level
from policies.order import Stage
from policies.review import CREATE, CURRENT, UPDATE, V1_2

Hits: TypeAlias = Iterator[Finding]
Check: TypeAlias = Callable[[At], Hits]

# "Kind/version" -> selector: the place or places of such an object that a rule is called for ("" is the object, `*` every entry)
Where: TypeAlias = Mapping[str, str]

DGD: Final = "DynamoGraphDeployment/v1alpha1"
DCD: Final = "DynamoComponentDeployment/v1alpha1"
DCD_V1BETA1: Final = "DynamoComponentDeployment/v1beta1"
DGDR: Final = "DynamoGraphDeploymentRequest/v1beta1"
CHECKPOINT_KIND: Final = "DynamoCheckpoint/v1alpha1"
MODEL_KIND: Final = "DynamoModel/v1alpha1"

GRAPH: Final[Where] = {DGD: "spec"}
GRAPH_OBJECT: Final[Where] = {DGD: ""}
GRAPH_ANNOTATIONS: Final[Where] = {DGD: "metadata.annotations"}
SERVICES: Final[Where] = {DGD: "spec.services.*"}
COMPONENT: Final[Where] = {DGD: "spec.services.*", DCD: "spec"}
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
_CODE: Final = re.compile(r"DYN[0-9]{3}|DYND[0-9]{2}")
_FENCE: Final = re.compile(r"```yaml\n(.*?)\n[ \t]*```", re.DOTALL)


class RuleError(ImportError):
    """A rule that is declared wrongly; its module does not import."""


@dataclass(frozen=True, slots=True)
class Difference:
    """A deliberate difference from the Go operator 1.2: which quirk or gap of the measured behaviour it answers, and why."""

    quirks: tuple[str, ...]
    because: str


@dataclass(frozen=True, slots=True, eq=False)
class Rule:
    """One rule or default as data; `check` is called once per match of the selector and yields findings (a default yields edits)."""

    code: str
    name: str
    where: Where
    when: tuple[str, ...]  # fields of the match of which one must be present and not null ("field" or "field=value"); (): always
    on: frozenset[str]
    needs: tuple[str, ...]
    level: Level
    stage: Stage
    ratchets: bool
    profile: str
    difference: Difference | None
    title: str
    why: str
    fix: str
    bad: tuple[str, ...]  # YAML blocks as written; for a default the objects before
    good: tuple[str, ...]  # for a default the objects after
    check: Callable[[At], Iterator[Any]] = field(repr=False)
    module: str = field(repr=False, default="")

    @property
    def kinds(self) -> tuple[str, ...]:
        """The kinds and versions whose text the rule reads."""
        return tuple(self.where)

    @property
    def is_default(self) -> bool:
        """Whether it edits instead of finding."""
        return self.stage is Stage.DEFAULT

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
            return replace(
                self,
                on=frozenset(on) if on else self.on,
                where=where or self.where,
                when=_fields(when) if when is not None else self.when,
                profile=V1_2,
                ratchets=False,
                difference=Difference(quirks, because),
                check=check,
            )

        return declare


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
    current_only: Difference | None = None,
) -> Callable[[Check], Rule]:
    """Makes a rule of a generator function whose doc string has the sections Why, Fix, Bad and Good; the kebab case of its name names it.

    `when` names the fields of the match without which the rule can't fire: it is not called then (that is what makes the server
    fast). `ratchets` False: also refused when the old object had the same violation (immutability, ownership, locks).
    `current_only`: the rule does not exist under profile 1.2, with the gap it answers and why.

    Raises: RuleError when a section or an example is missing or the code is malformed.
    """

    def declare(check: Check) -> Rule:
        return _record(
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

    return declare


def default(
    code: str,
    *,
    where: Where,
    when: str | tuple[str, ...] = (),
    on: tuple[str, ...] = (CREATE, UPDATE),
    needs: tuple[str, ...] = (),
    current_only: Difference | None = None,
) -> Callable[[Callable[[At], Iterator[Any]]], Rule]:
    """Makes a default of a generator function that yields `Edit`s; its doc string has the sections Why, Before and After.

    Raises: RuleError as `rule` does.
    """

    def declare(check: Callable[[At], Iterator[Any]]) -> Rule:
        return _record(
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

    return declare


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
    if not _CODE.fullmatch(code):
        raise RuleError(f"rule {name}: code must look like DYN123 (a default: DYND01), got {code!r}")
    title, sections = _sections(name, check.__doc__ or "", headings)
    bad, good = (tuple(_dedent(block) for block in _FENCE.findall(sections[heading])) for heading in headings[-2:])
    if not bad or not good:
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
        profile=CURRENT if current_only else BOTH,
        difference=current_only,
        title=title,
        why=_flow(sections["Why"]),
        fix=_flow(sections.get("Fix", "")),
        bad=bad,
        good=good,
        check=check,
        module=check.__module__,
    )


def _sections(name: str, text: str, headings: tuple[str, ...]) -> tuple[str, dict[str, str]]:
    lines = text.strip().split("\n")
    title, found, current = lines[0].strip(), {}, ""
    for line in lines[1:]:
        if line.strip() in headings:
            current = line.strip()
            found[current] = ""
        elif current:
            found[current] += line + "\n"
    missing = [heading for heading in headings if not found.get(heading, "").strip()]
    if not title or missing:
        raise RuleError(
            f"rule {name}: the doc string must have a title and the sections {', '.join(headings)}; missing {', '.join(missing)}"
        )
    return title, found


def _flow(text: str) -> str:
    return " ".join(text.split())


def _dedent(block: str) -> str:
    lines = block.split("\n")
    indent = min((len(line) - len(line.lstrip()) for line in lines if line.strip()), default=0)
    return "\n".join(line[indent:] for line in lines) + "\n"
