"""Advice leads to an object that is accepted: what a Fix says is done to the example, as far as a test can follow it, and judged again."""

import copy
import re
from collections.abc import Iterator
from typing import Any, Final, NamedTuple

import pytest

from dynamo_webhooks.admission.judging import judge
from dynamo_webhooks.api.paths import MISSING, Path, format_path, lookup
from dynamo_webhooks.cli.validation.fixes import ADD, REMOVE, FieldEdit, find_fix
from dynamo_webhooks.policies.finding import Finding
from dynamo_webhooks.policies.rule import Level
from tests.policies.example_runs import RULES, Shown, blocks, list_shown
from tests.policies.examples import Example

_REMOVE_IT: Final = re.compile(r"(?<!none, )\bremove (?:it|the (?:field|annotation|entry))\b(?! `| if)", re.IGNORECASE)
_REMOVE: Final = re.compile(r"\b(?:remove|leave) `([\w./-]+)`", re.IGNORECASE)
_SET: Final = re.compile(r"\b[Ss]et `([\w.]+)` to `?(true|false|\d+|[A-Z]\w+|auto)\b")
_PAIR: Final = re.compile(r"(?<!with )`(\w+): (\w+)`(?! and)")
_RESTORE: Final = re.compile(r"\brestore the old (?:`([\w.]+)`)?", re.IGNORECASE)
_LISTED: Final = re.compile(r'\b(?:one of|ClusterTopology) \(?((?:"[^"]*"(?:, )?)+)\)?, got ')
_UNSET: Final = re.compile(r"must (?:be unset|not be set|be empty)\b")
_SAMPLE: Final = re.compile(r"\bsuch as ([\w./-]*\w)")
_EXACT: Final = re.compile(r'must (?:be|stay) (\d+|"[^"]+")(?! bytes| or| for)')
_BOUND: Final = re.compile(r"must be (?:at least|at most) (\d+)")
_WRITE: Final = re.compile(r"^write ([a-z]+)$")  # of a finding's own advice
_WORDS: Final = {"true": True, "false": False}
# advice that leads to a finding of another rule, which says what to do next
NEXT: Final = {
    "failover-mode-unknown": {"failover-interpod-mode-mismatch", "failover-intrapod-discovery-mode"},
    "kvt-enforcement-enum": {"kvt-weight-forbidden"},
    "kvt-topology-requires-grove": {"kvt-label-key-required"},
    "lpx-type-immutable": {"roles-need-multinode"},
    "provider-override-topology-conflict": {"provider-override-value"},
    "resources-quantity-invalid": {"pod-refused"},
}


class Advice(NamedTuple):
    """One thing that a finding advises, and the edits that do it."""

    says: str
    edits: list[FieldEdit]


def _find(data: Any, path: Path, name: str) -> Path | None:
    """The existing field of a name, as near to a path as possible: in it, beside it, or above."""
    steps = tuple(name.split("."))
    for end in range(len(path), -1, -1):
        for tried in (steps, (name,)):
            if lookup(data, (*path[:end], *tried)) is not MISSING:
                return (*path[:end], *tried)
        if path[end - 1 : end] == (name,):
            return path[:end]
    return None


def _beside(data: Any, path: Path, name: str) -> Path:
    """The field of a name that is to be set: the existing one, else in the block that a path names, or beside the field."""
    existing = _find(data, path, name)
    if existing is not None:
        return existing
    inside = isinstance(lookup(data, path), dict) and (not path or path[-1] != name.partition(".")[0])
    return (*(path if inside else path[:-1]), *name.split("."))


def _value(text: str) -> Any:
    return _WORDS.get(text, int(text) if text.isdigit() else text)


def _like(value: Any, text: str) -> Any:
    """A value of the same type as the one that is there."""
    return text.strip('"') if isinstance(value, str) or text.startswith('"') else _value(text)


def advise(example: Example, finding: Finding) -> Iterator[Advice]:
    """What a finding advises, as far as its words can be followed."""
    data, path = example.object, finding.path
    fix = finding.fix or finding.rule.fix
    edit = find_fix(finding, data)
    if edit is not None:
        yield Advice("the automatic fix", [edit])
    if allowed := _LISTED.search(finding.text):
        yield from (Advice(f"must be {word}", [FieldEdit(ADD, path, word)]) for word in re.findall(r'"([^"]*)"', allowed[1]))
    hints = (_SAMPLE.search(finding.text) or _SAMPLE.search(fix), _EXACT.match(finding.text), _BOUND.match(finding.text), _WRITE.match(fix))
    yield from (Advice(hint[0], [FieldEdit(ADD, path, _like(lookup(data, path), hint[1]))]) for hint in hints if hint is not None)
    if _UNSET.match(finding.text) and lookup(data, path) is not MISSING:
        yield Advice("must be unset", [FieldEdit(REMOVE, path)])
    if _REMOVE_IT.search(fix):
        yield Advice("remove it", [FieldEdit(REMOVE, path)])
    for match in _REMOVE.finditer(fix):
        if (named := _find(data, path, match[1])) is not None:
            yield Advice(match[0], [FieldEdit(REMOVE, named)])
    for match in (*_SET.finditer(fix), *_PAIR.finditer(fix)):
        yield Advice(match[0], [FieldEdit(ADD, _beside(data, path, match[1]), _value(match[2]))])
    restored = _RESTORE.search(fix)
    if restored is not None and example.old_text is not None:
        named = _beside(data, path, restored[1]) if restored[1] else path
        old = lookup(example.review().old, named)
        yield Advice(restored[0], [FieldEdit(REMOVE, named) if old is MISSING else FieldEdit(ADD, named, old)])


def done(data: Any, edits: list[FieldEdit]) -> Any:
    """A copy of an object with edits made."""
    out = copy.deepcopy(data)
    for edit in edits:
        at = out
        for step in edit.path[:-1]:
            if isinstance(at, dict) and at.get(step) is None:
                at[step] = {}
            at = at[step]
        if edit.action == REMOVE:
            del at[edit.path[-1]]
        else:
            at[edit.path[-1]] = edit.value
    return out


def _judge(example: Example, obj: Any) -> set[tuple[str, str]]:
    """What the rules say of an object in place of the example's, by rule and field."""
    review = example.review()
    review.object = obj
    findings = judge(review)
    assert [finding.text for finding in findings if finding.level is Level.FAULT] == []
    return {(finding.rule.name, format_path(finding.path)) for finding in findings}


def _followed(shown: Shown) -> Iterator[tuple[Finding, Advice]]:
    own = (finding for finding in shown.findings if finding.rule is shown.rule)
    return ((finding, advice) for finding in own for advice in advise(shown.example, finding))


def test_advice_that_is_followed_removes_its_finding_and_brings_no_other(subtests: pytest.Subtests) -> None:
    followed = set()
    for shown in list_shown("bad"):
        before = _judge(shown.example, shown.example.object)
        for finding, advice in _followed(shown):
            followed.add(shown.rule.name)
            with subtests.test(f"{shown.name}: {advice.says}"):
                after = _judge(shown.example, done(shown.example.object, advice.edits))
                assert (shown.rule.name, format_path(finding.path)) not in after
                assert {name for name, place in after - before} <= NEXT.get(shown.rule.name, set())
    assert len(followed) > len(RULES) // 2


def _changes(value: Any, other: Any, path: Path = ()) -> Iterator[Path]:
    """Where two values differ; a list of another length differs as a whole."""
    value, other = ({} if each is MISSING and isinstance(beside, dict) else each for each, beside in ((value, other), (other, value)))
    if isinstance(value, dict) and isinstance(other, dict):
        for key in {*value, *other}:
            yield from _changes(value.get(key, MISSING), other.get(key, MISSING), (*path, key))
    elif isinstance(value, list) and isinstance(other, list) and len(value) == len(other):
        for index, (first, second) in enumerate(zip(value, other, strict=True)):
            yield from _changes(first, second, (*path, index))
    elif value != other:
        yield path


def _is_told(change: Path, finding: Finding) -> bool:
    """Whether a finding leads to a change: it is at its place, around or beside it, or its words name the field."""
    place, words = finding.path, f"{finding.text} {finding.fix or finding.rule.fix}"
    around = change[: len(place) - 1] == place[:-1] or place[: len(change)] == change
    return around or any(isinstance(step, str) and re.search(rf"\b{re.escape(step)}\b", words) for step in change[-2:])


def test_what_can_not_be_followed_leads_to_the_place_where_the_good_example_differs(subtests: pytest.Subtests) -> None:
    """Or to the cluster, where it has other facts."""
    compared = 0
    for shown in list_shown("bad"):
        bad = shown.example
        goods = [good for good in blocks(shown.rule, "good") if good.kind == bad.kind]
        own = [finding for finding in shown.findings if finding.rule is shown.rule]
        if not goods or any(_followed(shown)):
            continue
        compared += 1
        with subtests.test(shown.name):
            elsewhere = any((good.facts, good.user, good.operation) != (bad.facts, bad.user, bad.operation) for good in goods)
            changes = [change for good in goods for change in _changes(bad.object, good.object)]
            assert elsewhere or all(any(_is_told(change, finding) for change in changes) for finding in own)
    assert compared > 50
