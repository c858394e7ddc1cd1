"""Runs all rules that can fire on a review and collects their findings in a stable order; what updates are forgiven, ratchet.py says."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator
from functools import cache
from typing import Any, Final, NamedTuple, TypeAlias

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
Rules: TypeAlias = tuple[Rule, ...]
# rules about what a place is a part of, asked once when all places were visited: {rule: (its places, its steps)}
Above = dict[Rule, tuple[Places, Path]]


class _Woken:
    """What one field of a place wakes. No tuple: compiled code reads the parts of this one by one."""

    __slots__ = ("above", "alone", "below", "by_value", "shared")

    def __init__(self, alone: Rules, by_value: dict[object, tuple[Rules, Above]], shared: Rules, above: Above, below: Keyed) -> None:
        self.alone = alone  # rules by its being there
        self.by_value = by_value  # rules, and rules above, by its value; the last entry, `...`, is for values that no rule names
        self.shared = shared  # rules that another field of the place may have woken already
        self.above = above
        self.below = below  # what fields below it wake


Keyed: TypeAlias = dict[str, _Woken]
_NEGATIVE: Final = "<0"
_SEVERAL: Final = ">1"  # entries of a list


class _Group:
    """All rules that look at the places of one selector."""

    __slots__ = ("always", "keyed", "places", "steps")

    def __init__(self, steps: Path, places: Places, always: tuple[Rule, ...], keyed: Keyed) -> None:
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
    above: Above = {}
    obj = review.object
    for group in plan:
        keyed = group.keyed
        for step, value in group.places(obj):
            if value is None:
                continue
            asked = _awake(value, group.always, keyed, above) if keyed and type(value) is dict else group.always
            if asked:
                at = At(review, group.steps, step, value)
                for rule in asked:  # what `_ask` does, without a generator for each place
                    at.rule = rule
                    try:
                        yield from rule.check(at)
                    except Exception as error:  # noqa: BLE001 - as there
                        yield _instead(rule, at.path, error)
    for rule, (places, steps) in above.items():
        for step, value in places(obj):
            yield from _ask(rule, At(review, steps, step, value))


def _awake(value: Fields, always: tuple[Rule, ...], keyed: Keyed, above: Above) -> list[Rule]:
    """The rules that the fields of a place wake; null fields are absent ones."""
    asked = list(always)
    _wake(value, keyed, asked, above)
    return asked


def _wake(value: Fields, keyed: Keyed, asked: list[Rule], above: Above) -> None:
    for key, content in value.items():
        if content is None or (woken := keyed.get(key)) is None:
            continue
        if woken.alone:
            asked += woken.alone
        if woken.by_value:
            more, higher = _woken_by(content, woken.by_value)
            if more:
                asked += [rule for rule in more if rule not in asked]
            above.update(higher)
        if woken.shared:
            asked += [rule for rule in woken.shared if rule not in asked]
        if woken.above:
            above.update(woken.above)
        if woken.below:
            for entry in content if type(content) is list else (content,):
                if type(entry) is dict:
                    _wake(entry, woken.below, asked, above)


def _woken_by(content: Any, by_value: dict[object, tuple[Rules, Above]]) -> tuple[Rules, Above]:
    named = content
    if type(content) is list:
        named = _SEVERAL if len(content) > 1 else ...
    elif type(content) is int and content < 0:
        named = _NEGATIVE
    return by_value[named if named in by_value else ...]


def _ask(rule: Rule, at: At) -> Iterator[Any]:
    at.rule = rule
    try:
        yield from rule.check(at)
    except Exception as error:  # noqa: BLE001 - a faulty rule must cost one finding, not the request
        yield _instead(rule, at.path, error)


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
    sleeping: dict[str, list[_Sleeping]] = {}
    for rule in rules(line):
        if rule.is_default is not defaults or kind not in rule.where or operation not in rule.on:
            continue
        selector = rule.where[kind]
        if not rule.when:
            always.setdefault(selector, []).append(rule)
        whole = any(".*." in field for field in rule.when)  # its own fields, too, wake it once all places were visited: it is asked once
        for field in rule.when:
            key = field_of(field)
            wanted = field.removeprefix(key)
            inner, below, key_below = key.rpartition(".*.")
            place = ".".join(filter(None, (selector, inner, "*"))) if below else selector
            steps = (key_below,) if "/" in key_below else tuple(key_below.split("."))  # the name of an annotation is one step
            sleeping.setdefault(place, []).append(_Sleeping(steps, wanted, rule, whole))
    return tuple(
        _Group(_steps(selector), _places(selector), tuple(always.get(selector, ())), _keyed(kind, sleeping.get(selector, [])))
        for selector in dict.fromkeys((*always, *sleeping))
    )


class _Sleeping(NamedTuple):
    """A rule that a field wakes."""

    steps: Path  # to the field from its place
    wanted: str  # what its value must be, as `when` has it; "" for any
    rule: Rule
    above: bool  # whether the rule is one above


def _keyed(kind: str, sleeping: list[_Sleeping]) -> Keyed:
    by_field: dict[str, list[_Sleeping]] = {}
    for each in sleeping:
        by_field.setdefault(str(each.steps[0]), []).append(each)
    return {field: _woken(kind, found) for field, found in by_field.items()}


def _woken(kind: str, sleeping: list[_Sleeping]) -> _Woken:
    """Compiles what a field wakes."""
    here = [each for each in sleeping if len(each.steps) == 1]
    choosy = [each for each in here if each.wanted]
    named = {value for each in choosy for value in _values(each.wanted)}
    by_value: dict[object, tuple[tuple[Rule, ...], Above]] = {
        json.loads(value) if value in ("true", "0") else value: _wakes(kind, [each for each in choosy if _fits(each.wanted, value)])
        for value in named
    }
    if by_value:
        by_value[...] = _wakes(kind, [each for each in choosy if each.wanted.startswith("!=")])
    rules, above = _wakes(kind, [each for each in here if not each.wanted])
    alone, shared = (tuple(rule for rule in rules if (len(rule.when) == 1) is only) for only in (True, False))
    below = [each._replace(steps=each.steps[1:]) for each in sleeping if len(each.steps) > 1]
    return _Woken(alone, by_value, shared, above, _keyed(kind, below))


def _values(wanted: str) -> list[str]:
    return [wanted] if wanted in (_NEGATIVE, _SEVERAL) else wanted.lstrip("!=").split(",")


def _fits(wanted: str, value: str) -> bool:
    return (value in _values(wanted)) is not wanted.startswith("!=")


def _wakes(kind: str, found: list[_Sleeping]) -> tuple[tuple[Rule, ...], Above]:
    above: Above = {each.rule: (_places(each.rule.where[kind]), _steps(each.rule.where[kind])) for each in found if each.above}
    return tuple(each.rule for each in found if not each.above), above


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
