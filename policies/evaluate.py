"""Runs all rules that can fire on a review and collects their findings in a stable order."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator
from functools import cache
from typing import Any, TypeAlias

from ..api.line import Line
from ..api.paths import Path
from ..api.wording import shorten
from .answer import MESSAGE_LENGTH, REFUSING
from .at import At, report_unevaluated, rule_fault
from .catalogue import list_differing
from .catalogue import list_rules as rules
from .components import owning_graph
from .facts import UnknownFactError
from .finding import Edit, Finding
from .raised import log
from .ratchet import new_ones
from .review import DELETING, UPDATE, Fields, Review, is_line_1_6
from .rule import DCD, DCD_V1ALPHA1, Level, Rule, field_of

# what a selector matches: the last step of the path (None: the selector's own steps are the path) and the value
Places = Callable[[Fields], Iterable[tuple[str | int | None, Any]]]
Rules: TypeAlias = dict[Rule, None]  # in their order; a rule's hash is that of the object
# by the field of a place that wakes them: rules, and what else must hold for that field; None for no more than that it is there
Keyed: TypeAlias = dict[str, list[tuple["Condition | None", Rules]]]


class Condition:
    """What a rule's `when` says of a field, behind the field's name. No closure: compiled code reads the parts of this faster."""

    __slots__ = ("sign", "steps", "values")

    def __init__(self, text: str) -> None:
        """`text` is a path below the field, a sign and values, each of which may be absent: ".*.type=lpx,epp"."""
        path, self.sign, values = (*re.split("(!?=|[<>])", text, maxsplit=1), "", "")[:3]
        self.steps: Path = tuple(path.split(".")[1:])
        self.values = tuple({"true": True, "0": 0}.get(value, value) for value in values.split(","))

    def holds(self, content: Any, depth: int = 0) -> bool:
        """Whether the content of the field, or that of an entry of it, is as the condition says; it is not None."""
        if depth == len(self.steps):
            return not self.sign or self._fits(content)
        step = self.steps[depth]
        entries: Iterable[Any] = content if type(content) is list else (content,)
        if step == "*":
            depth += 1
            step = self.steps[depth]
            entries = content.values() if type(content) is dict else content
        for entry in entries:  # noqa: SIM110 - a generator costs more
            if type(entry) is dict and (found := entry.get(step)) is not None and self.holds(found, depth + 1):
                return True
        return False

    def _fits(self, content: Any) -> bool:
        if self.sign == "<":
            return type(content) is int and content < 0
        if self.sign == ">":
            return type(content) is list and len(content) > 1
        return (content in self.values) is (self.sign == "=")


class _Group:
    """All rules that look at the places of one selector."""

    __slots__ = ("always", "keyed", "places", "steps")

    def __init__(self, steps: Path, places: Places, always: Rules, keyed: Keyed) -> None:
        self.steps, self.places, self.always, self.keyed = steps, places, always, keyed


def evaluate(review: Review, most: int | None = None) -> list[Finding]:
    """All findings of a review, in a stable order; an update is not refused because of fields that it did not change.

    `most` bounds them while they are made, errors and warnings each: rules are asked no further once there are so many errors.
    Never raises: a rule that raises is a finding of level fault, logged with its traceback.
    """
    deleting = is_deletion(review)
    if deleting and not is_line_1_6(review):
        return []
    found = _pardon(review, _collect(review, _plan_of(review, operation=DELETING if deleting else "")))
    findings = list(found) if most is None else _bounded(found, most)
    if len(findings) > 1:
        findings.sort(key=place)
    return findings


def _pardon(review: Review, found: Iterator[Finding]) -> Iterator[Finding]:
    """Drops what a component of a graph, and what an update, isn't blamed for."""
    if review.kind in (DCD, DCD_V1ALPHA1) and owning_graph(review) is not None:
        found = _of_a_graph(found)
    if review.operation == UPDATE and review.old is not None:
        found = new_ones(found, _stored(review, review.old), review.object, review.old)
    return found


def _bounded(found: Iterable[Finding], most: int) -> list[Finding]:
    """The first findings of each sort, and of their sentences what an answer can hold. Warnings never keep an error from being found."""
    errors: list[Finding] = []
    others: list[Finding] = []
    for finding in found:
        kept = errors if finding.level in REFUSING else others
        if len(kept) < most:
            kept.append(finding if len(finding.text) + len(finding.fix) <= MESSAGE_LENGTH else _brief(finding))
        if len(errors) == most:
            break
    return errors + others


def _brief(finding: Finding) -> Finding:
    texts = (finding.text, finding.fix, finding.other_text, finding.other_fix)
    text, fix, other_text, other_fix = (shorten(each, MESSAGE_LENGTH) for each in texts)
    return finding._replace(text=text, fix=fix, other_text=other_text, other_fix=other_fix)


def is_deletion(review: Review) -> bool:
    """Whether an update writes an object that is on its way out: whatever it says, finalizers must be able to go."""
    return review.operation == UPDATE and review.metadata.get("deletionTimestamp") is not None


def compute_edits(review: Review) -> list[Edit]:
    """Compute the edits of the defaults, in a stable order. A default that raises edits nothing and is logged."""
    return [found for found in _collect(review, _plan_of(review, defaults=True)) if isinstance(found, Edit)]


def idle(review: Review) -> list[Finding]:
    """The defaults that can't be computed because of an unknown fact or an internal error; only reports need them."""
    return [found for found in _collect(review, _plan_of(review, defaults=True)) if isinstance(found, Finding)]


def _plan_of(review: Review, *, defaults: bool = False, operation: str = "") -> tuple[_Group, ...]:
    return _plan(review.line, review.kind, operation or review.operation, defaults)


def _collect(review: Review, plan: tuple[_Group, ...]) -> Iterator[Any]:
    """Asks every rule that can fire. This is the hot path of the server: a good graph costs two dozen calls and nothing else."""
    obj = review.object
    for group in plan:
        for step, value in group.places(obj):
            if value is None:
                continue
            asked = _list_asked(value, group) if group.keyed and type(value) is dict else group.always
            if asked:
                at = At(review, group.steps, step, value)
                for rule in asked:
                    at.rule = rule
                    try:
                        yield from rule.check(at)
                    except Exception as error:  # noqa: BLE001 - a faulty rule must cost one finding, not the request
                        yield _instead(rule, at.path, error)


def _list_asked(value: Fields, group: _Group) -> dict[Rule, None]:
    """The rules that the fields of a place wake, and those that need none, each once; null fields are absent ones."""
    asked = group.always.copy()
    for key, content in value.items():
        if content is None or (woken := group.keyed.get(key)) is None:
            continue
        for condition, sharing in woken:
            if condition is None or condition.holds(content):
                asked.update(sharing)
    return asked


def _instead(rule: Rule, path: Path, error: Exception) -> Finding:
    """The finding of a rule that failed because of an unknown fact or an internal error."""
    if isinstance(error, UnknownFactError):
        return report_unevaluated(rule, path, error.fact)
    log(f"rule {rule.name}", error)
    return rule_fault(rule, path, error)


def _of_a_graph(findings: Iterable[Finding]) -> Iterator[Finding]:
    """Drops findings of rules that the Go operator 1.2 lacks, or has in another form, in a component that the operator makes of a graph.

    New graphs are validated by those rules themselves, and the operator must still be able to create components of older ones.
    Immutable fields are checked as in any component, since that prevents no create.
    """
    newer = list_differing()
    return (
        finding for finding in findings if finding.level is Level.WARNING or not finding.rule.ratchets or finding.rule.name not in newer
    )


def _stored(review: Review, old: Fields) -> Iterator[Finding]:
    """The findings of the stored object by the rules of updates."""
    return _collect(review.before(old), _plan_of(review, operation=UPDATE))


def place(finding: Finding) -> tuple[int, tuple[tuple[int, str], ...], str]:
    """Sort key of findings: the order of rules, then the field."""
    # indices sort as numbers, names as text as far as it is shown; the two never meet at one depth of one object
    steps = tuple((part, "") if isinstance(part, int) else (0, part[:MESSAGE_LENGTH]) for part in finding.path)
    return finding.rule.stage, steps, finding.rule.code


@cache
def _plan(line: Line, kind: str, operation: str, defaults: bool) -> tuple[_Group, ...]:
    """The rules that can fire, grouped by selector and by the field that wakes them, so that absent fields cost nothing."""
    always: dict[str, list[Rule]] = {}
    keyed: dict[str, dict[str, dict[str, list[Rule]]]] = {}  # selector -> field -> the rest of the condition
    for rule in rules(line):
        if rule.is_default is not defaults or kind not in rule.where or operation not in rule.on:
            continue
        selector = rule.where[kind]
        if not rule.when:
            always.setdefault(selector, []).append(rule)
        for text in rule.when:
            path = field_of(text)
            field = path if "/" in path else path.partition(".")[0]  # the name of an annotation is one step
            keyed.setdefault(selector, {}).setdefault(field, {}).setdefault(text.removeprefix(field), []).append(rule)
    return tuple(
        _Group(
            _steps(selector),
            _places(selector),
            dict.fromkeys(always.get(selector, ())),
            {
                field: [(Condition(rest) if rest else None, dict.fromkeys(found)) for rest, found in conditions.items()]
                for field, conditions in keyed.get(selector, {}).items()
            },
        )
        for selector in dict.fromkeys((*always, *keyed))
    )


def _steps(selector: str) -> Path:
    return tuple(step for step in selector.split(".") if step not in ("", "*"))


def _places(selector: str) -> Places:
    """Compiles a selector: names step into objects, a last `*` visits every entry of a map or list. Null and absent places match nothing,
    but for the spec as a whole, which is empty then: taking it away must not escape the rules that compare it with the old one.

    A null entry is one for the rule `service-null`, which looks at the map as a whole; all others never meet one.
    """
    steps = _steps(selector)
    if steps == ("spec",):
        return lambda obj: ((None, obj.get("spec") or {}),)
    entries = selector.endswith("*")

    def found(obj: Fields) -> Iterable[tuple[str | int | None, Any]]:
        value: Any = obj
        for step in steps:
            value = value.get(step)
            if value is None:
                return ()
        if entries:
            return value.items() if isinstance(value, dict) else enumerate(value)
        return ((None, value),)

    return found
