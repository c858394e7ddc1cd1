"""Runs all rules that can fire on a review and collects every finding; the ratchet of updates and the order of findings live here."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable, Iterator
from functools import cache
from typing import Any, Final

from api.paths import MISSING, Key, Path, lookup
from policies.at import At, fault, not_evaluated
from policies.catalogue import rules
from policies.edit import Edit
from policies.facts import UnknownFactError
from policies.finding import Finding, Level
from policies.review import CURRENT, UPDATE, Fields, Review
from policies.rule import Rule

_LOG: Final = logging.getLogger("policies")

Places = Callable[[Fields], Iterable[tuple[Path, Any]]]
Check = Callable[[At], Iterable[Any]]
# field -> (the value it must have, or None; whether this field alone wakes the rule; the rule; its check)
Keyed = dict[str, tuple[tuple[str | None, bool, Rule, Check], ...]]
Group = tuple[Places, tuple[tuple[Rule, Check], ...], Keyed]


def evaluate(review: Review) -> list[Finding]:
    """All findings of a review, in a stable order; under profile current an update is not blamed for what it did not touch.

    Never raises: a rule that raises is a finding of level fault, logged with its traceback.
    """
    if deleting(review):
        return []
    findings = _collect(review, _plan(review.profile, review.kind, review.operation, False))
    if not findings:
        return findings
    if review.operation == UPDATE and review.profile == CURRENT and review.old is not None:
        findings = _ratchet(review, review.old, findings)
    findings.sort(key=_place)
    return findings


def deleting(review: Review) -> bool:
    """Whether an update writes an object that is on its way out: whatever it says, finalizers must be able to go."""
    return review.operation == UPDATE and review.metadata.get("deletionTimestamp") is not None


def edits(review: Review) -> list[Edit]:
    """What the defaults change, in a stable order. A default that raises edits nothing and is logged."""
    plan = _plan(review.profile, review.kind, review.operation, True)
    return [found for found in _collect(review, plan) if isinstance(found, Edit)]


def _collect(review: Review, plan: tuple[Group, ...]) -> list[Any]:
    """Asks every rule that can fire. This is the hot path of the server: a good graph costs a few dozen calls and nothing else."""
    found: list[Any] = []
    obj = review.object
    for places, always, keyed in plan:
        for path, value in places(obj):
            at = At(review, path, value)
            for rule, check in always:
                at.rule = rule
                try:
                    found.extend(check(at))
                except Exception as error:  # noqa: BLE001 - a faulty rule must cost one finding, not the request
                    found.append(_instead(rule, path, error))
            if keyed and type(value) is dict:
                _ask_woken(at, value, keyed, found)
    return found


def _ask_woken(at: At, value: Fields, keyed: Keyed, found: list[Any]) -> None:
    asked: list[Rule] = []
    for key, content in value.items():
        woken = keyed.get(key)
        if woken is None or content is None:
            continue
        for wanted, once, rule, check in woken:
            if (wanted is not None and content != wanted) or (not once and rule in asked):
                continue
            if not once:
                asked.append(rule)
            at.rule = rule
            try:
                found.extend(check(at))
            except Exception as error:  # noqa: BLE001 - as above
                found.append(_instead(rule, at.path, error))


def _instead(rule: Rule, path: Path, error: Exception) -> Finding:
    """The finding of a rule that could not answer: for want of a fact, or by a fault of ours."""
    if isinstance(error, UnknownFactError):
        return not_evaluated(rule, path, error.fact)
    _LOG.error("rule %s raised", rule.name, exc_info=error)
    return fault(rule, path, error)


def _ratchet(review: Review, old: Fields, findings: list[Finding]) -> list[Finding]:
    """Drops errors that the stored object already had at the same place with the same value."""
    if not any(_may_ratchet(finding) for finding in findings):
        return findings
    before = Review(review.kind, UPDATE, old, old, user=review.user, facts=review.facts, profile=review.profile)
    had = {(f.rule.code, f.path, f.text) for f in _collect(before, _plan(review.profile, review.kind, UPDATE, False)) if _may_ratchet(f)}
    return [f for f in findings if not (_may_ratchet(f) and (f.rule.code, f.path, f.text) in had and _same(review.object, old, f.path))]


def _may_ratchet(finding: Finding) -> bool:
    return finding.rule.ratchets and finding.level in (Level.ERROR, Level.NOT_EVALUATED)


def _same(new: Fields, old: Fields, path: Path) -> bool:
    """Whether the value is the same; a block counts as the same, since the sentence names what is wrong inside it."""
    now, then = lookup(new, path), lookup(old, path)
    if isinstance(now, (dict, list)) and isinstance(then, (dict, list)):
        return True
    return (None if now is MISSING else now) == (None if then is MISSING else then)


def _place(finding: Finding) -> tuple[int, tuple[tuple[int, str], ...], str]:
    # indices sort as numbers, names as text; the two never meet at one depth of one object
    return finding.rule.stage, tuple((part, "") if isinstance(part, int) else (0, part) for part in finding.path), finding.rule.code


@cache
def _plan(profile: str, kind: str, operation: str, defaults: bool) -> tuple[Group, ...]:
    """The rules that can fire, grouped by selector and by the field that wakes them, so that absent fields cost nothing."""
    groups: dict[str, tuple[list[tuple[Rule, Check]], dict[str, list[tuple[str | None, bool, Rule, Check]]]]] = {}
    for rule in rules(profile):
        if rule.is_default is not defaults or kind not in rule.where or operation not in rule.on:
            continue
        always, keyed = groups.setdefault(rule.where[kind], ([], {}))
        if not rule.when:
            always.append((rule, rule.check))
        for field in rule.when:
            key, _, wanted = field.partition("=")
            keyed.setdefault(key, []).append((wanted or None, len(rule.when) == 1, rule, rule.check))
    return tuple(
        (_places(selector), tuple(always), {key: tuple(woken) for key, woken in keyed.items()})
        for selector, (always, keyed) in groups.items()
    )


def _places(selector: str) -> Places:
    """Compiles a selector: names step into objects, a last `*` visits every entry of a map or list. Null and absent places match nothing,
    but for the spec as a whole, which is empty then: taking it away must not escape the rules that compare it with the old one.

    A null entry is one for the rule `service-null`, which looks at the map as a whole; all others never meet one.
    """
    if selector.endswith(".*"):
        return _entries(tuple(selector[:-2].split(".")))
    steps = tuple(selector.split(".")) if selector else ()
    if steps == ("spec",):
        return lambda obj: ((steps, obj.get("spec") or {}),)

    def one(obj: Fields) -> Iterator[tuple[Path, Any]]:
        value: Any = obj
        for step in steps:
            value = value.get(step)
            if value is None:
                return
        yield steps, value

    return one


def _entries(steps: Path) -> Places:
    def each(obj: Fields) -> Iterator[tuple[Path, Any]]:
        value: Any = obj
        for step in steps:
            value = value.get(step)
            if value is None:
                return
        if isinstance(value, dict):
            for key, entry in value.items():
                if entry is not None:
                    yield (*steps, Key(key)), entry
        else:
            for index, entry in enumerate(value):
                if entry is not None:
                    yield (*steps, index), entry

    return each
