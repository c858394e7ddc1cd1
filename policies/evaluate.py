"""Runs all rules that can fire on a review and collects their findings in a stable order."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from functools import cache
from typing import Any, Final

from ..api.line import Line
from ..api.paths import Path
from ..api.wording import shorten
from .answer import MAX_MESSAGE_CHARACTERS, REFUSING
from .at import At, make_fault, report_unevaluated
from .catalogue import list_differing
from .catalogue import list_rules as rules
from .components import find_owning_graph
from .facts import UnknownFactError
from .finding import Edit, Finding
from .raised import log
from .ratchet import drop_stored_errors
from .review import DELETING, UPDATE, Fields, Review, is_line_1_6
from .rule import DCD, DCD_V1ALPHA1, Level, Rule

_SPEC: Final[Path] = ("spec",)
_ALWAYS: Final = 1  # the bit of rules without conditions
_MAX_KNOWN_CASES: Final = 1_000  # of a selector


class _Conditions:
    """Which conditions `when` hold, as bits: because a field is there, because of its value, and because of the fields below it."""

    __slots__ = ("below", "bits", "by_value", "every")

    def __init__(self) -> None:
        self.bits = 0
        self.by_value: list[tuple[str, tuple[Any, ...], int]] = []  # a sign, and the values behind it
        self.below: dict[str, _Conditions] = {}
        self.every = False  # whether the fields below are those of every entry of a map

    def add(self, condition: str, bit: int) -> None:
        """Adds a condition: a path, a sign and values, of which all but the path may be absent: "a.*.type=lpx,epp"."""
        path, sign, values = (*re.split("(!?=|[<>])", condition, maxsplit=1), "", "")[:3]
        node = self
        for step in (path,) if "/" in path else path.split("."):  # the name of an annotation is one step
            if step == "*":
                node.every = True
            else:
                node = node.below.setdefault(step, _Conditions())
        if sign:
            node.by_value.append((sign, tuple([{"true": True, "0": 0}.get(value, value) for value in values.split(",")]), bit))
        else:
            node.bits |= bit

    def read(self, content: Any) -> int:
        """Returns the bits of the content of the field, which is not null. A list counts as each of its entries."""
        bits = self.bits
        for sign, values, bit in self.by_value:
            if _fits(content, sign, values):
                bits |= bit
        if not self.below:
            return bits
        if type(content) is not list and not self.every:
            return bits | self.read_below(content)
        for entry in content if type(content) is list else content.values():
            bits |= self.read_below(entry)
        return bits

    def read_below(self, block: Any) -> int:
        """The bits of the fields of a block; null ones are absent."""
        bits = 0
        if type(block) is dict:
            if len(block) < len(self.below):
                for field, content in block.items():
                    if content is not None and (field_conditions := self.below.get(field)) is not None:
                        bits |= field_conditions.read(content)
            else:
                for field, step in self.below.items():
                    if (content := block.get(field)) is not None:
                        bits |= step.read(content)
        return bits


def _fits(content: Any, sign: str, values: tuple[Any, ...]) -> bool:
    if sign == "<":
        return type(content) is int and content < 0
    if sign == ">":
        return type(content) is list and len(content) > 1
    return (content in values) is (sign == "=")


class _Group:
    """All rules that look at the places of one selector."""

    __slots__ = ("_bits", "_cases", "_conditions", "_entries", "_rules", "steps")

    def __init__(self, selector: str) -> None:
        """Names step into objects, a last `*` visits every entry of a map or list."""
        self.steps: Path = tuple(step for step in selector.split(".") if step not in ("", "*"))
        self._entries = selector.endswith("*")
        self._rules: list[tuple[Rule, int]] = []  # with the bits of which one must be set
        self._conditions = _Conditions()
        self._bits: dict[str, int] = {}  # by condition
        self._cases: dict[int, tuple[Rule, ...]] = {}  # by the bits of the conditions that hold

    def add(self, rule: Rule) -> None:
        """Adds a rule behind the others."""
        rule_bits = 0 if rule.when else _ALWAYS
        for condition in rule.when:
            if condition not in self._bits:
                self._bits[condition] = 2 << len(self._bits)
                self._conditions.add(condition, self._bits[condition])
            rule_bits |= self._bits[condition]
        self._rules.append((rule, rule_bits))

    def list_values(self, obj: Fields) -> Iterable[tuple[str | int | None, Any]]:
        """The last step of the path, None if there is none behind the selector's own, and the value. Null and absent places match nothing,
        but for the spec as a whole, which is empty then: taking it away must not escape the rules that compare it with the old one.

        A null entry is one for the rule `service-null`, which looks at the map as a whole; all others never meet one.
        """
        value: Any = obj
        for step in self.steps:
            value = value.get(step)
            if value is None:
                return ((None, {}),) if self.steps == _SPEC else ()
        if self._entries:
            return value.items() if isinstance(value, dict) else enumerate(value)
        return ((None, value),)

    def list_rules(self, value: Any) -> tuple[Rule, ...]:
        """The rules that can fire at a place with this value, in their order."""
        bits = _ALWAYS | self._conditions.read_below(value)
        matching_rules = self._cases.get(bits)
        if matching_rules is None:
            if len(self._cases) == _MAX_KNOWN_CASES:
                self._cases.clear()
            matching_rules = self._cases[bits] = tuple([rule for rule, rule_bits in self._rules if rule_bits & bits])
        return matching_rules


def evaluate(review: Review, limit: int | None = None) -> list[Finding]:
    """All findings of a review, in a stable order; an update is not refused because of fields that it did not change.

    `limit` bounds them while they are made, errors and warnings each: rules are asked no further once there are so many errors.
    Never raises: a rule that raises is a finding of level fault, logged with its traceback.
    """
    deleting = is_deletion(review)
    if deleting and not is_line_1_6(review):
        return []
    blamed = _ratchet(review, _collect(review, _choose_groups(review, operation=DELETING if deleting else "")))
    findings = list(blamed) if limit is None else _limit(blamed, limit)
    if len(findings) > 1:
        findings.sort(key=sort_key)
    return findings


def _ratchet(review: Review, findings: Iterator[Finding]) -> Iterator[Finding]:
    """Drops what a component of a graph, and what an update, isn't blamed for."""
    if review.kind in (DCD, DCD_V1ALPHA1) and find_owning_graph(review) is not None:
        findings = _drop_newer_rules(findings)
    if review.operation == UPDATE and review.old is not None:
        findings = drop_stored_errors(findings, _find_stored(review, review.old), review.object, review.old)
    return findings


def _limit(findings: Iterable[Finding], limit: int) -> list[Finding]:
    """The first findings of each sort, and of their sentences what an answer can hold. Warnings never keep an error from being found."""
    errors: list[Finding] = []
    others: list[Finding] = []
    for finding in findings:
        kept = errors if finding.level in REFUSING else others
        if len(kept) < limit:
            kept.append(finding if len(finding.text) + len(finding.fix) <= MAX_MESSAGE_CHARACTERS else _shorten_texts(finding))
        if len(errors) == limit:
            break
    return errors + others


def _shorten_texts(finding: Finding) -> Finding:
    texts = (finding.text, finding.fix, finding.other_text, finding.other_fix)
    text, fix, other_text, other_fix = (shorten(each, MAX_MESSAGE_CHARACTERS) for each in texts)
    return finding._replace(text=text, fix=fix, other_text=other_text, other_fix=other_fix)


def is_deletion(review: Review) -> bool:
    """Whether an update writes an object that is on its way out: whatever it says, finalizers must be able to go."""
    return review.operation == UPDATE and review.metadata.get("deletionTimestamp") is not None


def compute_edits(review: Review) -> list[Edit]:
    """Compute the edits of the defaults, in a stable order. A default that raises edits nothing and is logged."""
    return [edit for edit in _collect(review, _choose_groups(review, defaults=True)) if isinstance(edit, Edit)]


def list_idle_defaults(review: Review) -> list[Finding]:
    """The defaults that can't be computed because of an unknown fact or an internal error; only reports need them."""
    return [finding for finding in _collect(review, _choose_groups(review, defaults=True)) if isinstance(finding, Finding)]


def _choose_groups(review: Review, *, defaults: bool = False, operation: str = "") -> tuple[_Group, ...]:
    return _group_rules(review.line, review.kind, operation or review.operation, defaults)


def _collect(review: Review, plan: tuple[_Group, ...]) -> Iterator[Any]:
    """Asks every rule that can fire. This is the hot path of the server: a good graph costs two dozen calls and nothing else."""
    obj = review.object
    for group in plan:
        for step, value in group.list_values(obj):
            if value is None:
                continue
            if matching_rules := group.list_rules(value):
                at = At(review, group.steps, step, value)
                for rule in matching_rules:
                    at.rule = rule
                    try:
                        yield from rule.check(at)
                    except Exception as error:  # noqa: BLE001 - a faulty rule must cost one finding, not the request
                        yield _report_failure(rule, at.path, error)


def _report_failure(rule: Rule, path: Path, error: Exception) -> Finding:
    """The finding of a rule that failed because of an unknown fact or an internal error."""
    if isinstance(error, UnknownFactError):
        return report_unevaluated(rule, path, error.fact)
    log(f"rule {rule.name}", error)
    return make_fault(rule, path, error)


def _drop_newer_rules(findings: Iterable[Finding]) -> Iterator[Finding]:
    """Drops findings of rules that the Go operator 1.2 lacks, or has in another form, in a component that the operator makes of a graph.

    New graphs are validated by those rules themselves, and the operator must still be able to create components of older ones.
    Immutable fields are checked as in any component, since that prevents no create.
    """
    newer = list_differing()
    return (
        finding for finding in findings if finding.level is Level.WARNING or not finding.rule.ratchets or finding.rule.name not in newer
    )


def _find_stored(review: Review, old: Fields) -> Iterator[Finding]:
    """The findings of the stored object by the rules of updates."""
    return _collect(review.before(old), _choose_groups(review, operation=UPDATE))


def sort_key(finding: Finding) -> tuple[int, tuple[tuple[int, str], ...], str]:
    """Sort key of findings: the order of rules, then the field."""
    # indices sort as numbers, names as text as far as it is shown; the two never meet at one depth of one object
    steps = tuple((part, "") if isinstance(part, int) else (0, part[:MAX_MESSAGE_CHARACTERS]) for part in finding.path)
    return finding.rule.stage, steps, finding.rule.code


@cache
def _group_rules(line: Line, kind: str, operation: str, defaults: bool) -> tuple[_Group, ...]:
    """The rules that can fire, grouped by selector."""
    groups: dict[str, _Group] = {}
    for rule in rules(line):
        if rule.is_default is defaults and kind in rule.where and operation in rule.on:
            groups.setdefault(rule.where[kind], _Group(rule.where[kind])).add(rule)
    return tuple(groups.values())
