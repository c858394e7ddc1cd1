"""What updates are forgiven, and that neither its bound nor that of findings lets a new error through."""

from collections.abc import Iterator
from typing import Any

import pytest

from dynamo_webhooks.admission.judging import judge as evaluate
from dynamo_webhooks.api.paths import Key
from dynamo_webhooks.policies import ratchet
from dynamo_webhooks.policies.answer import MESSAGE_LENGTH, is_refused
from dynamo_webhooks.policies.catalogue import find_rule
from dynamo_webhooks.policies.facts import Facts
from dynamo_webhooks.policies.finding import Cause, Finding, Level
from dynamo_webhooks.policies.ratchet import new_ones
from dynamo_webhooks.policies.review import CREATE, UPDATE, Review
from dynamo_webhooks.policies.rule import DGD_V1ALPHA1
from tests.policies.examples import merged


def _finding(index: int, text: str = "t") -> Finding:
    rule = find_rule("replicas-non-negative")
    assert rule is not None
    return Finding(rule, Cause.INVALID, Level.ERROR, ("spec", index), text)


def _review(operation: str, *objects: dict[str, Any]) -> Review:
    return Review(DGD_V1ALPHA1, operation, *objects, facts=Facts(operatorVersion="1.2.0"))


def _graph(mounts: list[Any]) -> dict[str, Any]:
    return merged(DGD_V1ALPHA1, {"spec": {"services": {"a": {"volumeMounts": mounts}}}})


def test_whatever_the_order_what_was_there_is_forgiven() -> None:
    old = [_finding(index) for index in range(50)]
    assert list(new_ones(old[::-1], old, {}, {})) == []
    assert list(new_ones([old[3], old[3], old[1]], old, {}, {})) == []
    assert list(new_ones([_finding(7), _finding(99), _finding(8, "u")], old, {}, {})) == [_finding(99), _finding(8, "u")]


def test_the_stored_object_is_looked_through_no_further_than_asked() -> None:
    seen: list[int] = []

    def before() -> Iterator[Finding]:
        for index in range(1_000):
            seen.append(index)
            yield _finding(index)

    assert list(new_ones([_finding(0), _finding(1)], before(), {}, {})) == []
    assert seen == [0, 1]


def test_what_is_forgotten_counts_as_new(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ratchet, "REMEMBERED", 10)
    old = [_finding(index) for index in range(100)]
    assert list(new_ones(old, old, {}, {})) == []  # in one order nothing needs to be remembered
    assert list(new_ones([old[99], old[3], old[50]], old, {}, {})) == [old[50]]


def test_old_findings_do_not_hide_a_new_one_behind_the_bound() -> None:
    old = _graph([{}] * 3_000)
    assert evaluate(_review(UPDATE, old, old), 10) == []
    new = _graph([{}] * 3_001)
    [found] = evaluate(_review(UPDATE, new, old), 10)
    assert found.path[-2:] == (3_000, "mountPoint")


def test_warnings_do_not_hide_an_error_behind_the_bound() -> None:
    cache = {"name": "c", "mountPoint": "/c", "useAsCompilationCache": True}
    obj = _graph([cache] * 3_000)
    found = evaluate(_review(CREATE, obj), 10)
    assert (len(found), is_refused(found)) == (10, False)
    obj["spec"]["services"]["z"] = {"replicas": -1}
    assert is_refused(evaluate(_review(CREATE, obj), 10))


def test_below_its_bound_nothing_is_otherwise_than_without_one() -> None:
    obj = _graph([{}] * 9)
    assert evaluate(_review(CREATE, obj), 10) == evaluate(_review(CREATE, obj))
    assert len(evaluate(_review(CREATE, _graph([{}] * 20)), 10)) == 10
    assert len(evaluate(_review(CREATE, _graph([{}] * 20)))) == 20


def test_sentences_are_bounded_where_findings_are() -> None:
    obj = merged(DGD_V1ALPHA1, {"spec": {"services": {"a": {"resources": {"limits": {"cpu": "x" * 10_000}}}}}})
    [whole], [short] = evaluate(_review(CREATE, obj)), evaluate(_review(CREATE, obj), 10)
    assert (len(whole.text) > 10_000, len(short.text)) == (True, MESSAGE_LENGTH)


def test_findings_below_one_name_share_it_whichever_object_they_are_about() -> None:
    """Or each comparison would read the name, which may be as long as the object."""
    name = "n" * 100
    old = merged(DGD_V1ALPHA1, {"spec": {"services": {name: {"volumeMounts": [{}] * 3}}}})
    review = _review(UPDATE, merged(DGD_V1ALPHA1, {"spec": {"services": {name: {"volumeMounts": [{}] * 3}}}}), old)
    paths = [finding.path for finding in evaluate(_review(CREATE, review.object)) if "volumeMounts" in finding.path]
    assert len(paths) == 3
    assert all(path[2] is paths[0][2] for path in paths)
    assert review.key(name) is review.before(old).key("n" * 100)


def test_the_same_place_is_told_by_its_name() -> None:
    def value(first: int, second: int) -> dict[str, Any]:
        return {"spec": {"services": {"a": {"x": first}, "b": {"x": second}}}}

    found = [_finding(0)._replace(path=("spec", "services", Key(name), "x")) for name in ("a", "b", "a", "b")]
    assert list(new_ones(found, found, value(1, 2), value(1, 2))) == []
    assert list(new_ones(found, found, value(1, 2), value(1, 1))) == [found[1], found[3]]
    assert list(new_ones(found, found, value(1, 2), {"spec": {}})) == found
