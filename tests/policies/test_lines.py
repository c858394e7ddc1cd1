"""Rules of one line only: they are asked there and nowhere else, and the other lines' records never speak."""

from collections.abc import Callable, Iterator

import pytest
import yaml

from dynamo_webhooks.admission.judging import judge as evaluate
from dynamo_webhooks.api.line import Line
from dynamo_webhooks.policies import catalogue
from dynamo_webhooks.policies import evaluate as engine
from dynamo_webhooks.policies.at import At
from dynamo_webhooks.policies.evaluate import compute_edits
from dynamo_webhooks.policies.facts import Facts, facts_from
from dynamo_webhooks.policies.finding import Edit, Level
from dynamo_webhooks.policies.review import CREATE, Review
from dynamo_webhooks.policies.rule import DGD, GRAPH, GRAPH_OBJECT, Hits, Rule, Stage, default, rule
from tools.manual.rules import twins
from tools.rule_index import _row

OBJECT = {"metadata": {"name": "g"}, "spec": {"components": [{"name": "a"}]}}


def documented(title: str) -> Callable[[Callable[[At], Hits]], Callable[[At], Hits]]:
    def set_doc(check: Callable[[At], Hits]) -> Callable[[At], Hits]:
        block = "a: 1 # expect"
        check.__doc__ = f"{title}\n\n    Why\n        w\n\n    Fix\n        f\n\n    Example\n        {block}\n    "
        return check

    return set_doc


@rule("DYN998", where=GRAPH, stage=Stage.SHAPE, since="1.5")
@documented("Is of line 1.5 only.")
def only_new(at: At) -> Hits:
    yield at.forbidden("", "is new")


@rule("DYN999", where=GRAPH, stage=Stage.SHAPE, until="1.5")
@documented("Is of line 1.2 only.")
def only_old(at: At) -> Hits:
    yield at.forbidden("", "is old")


@default("DYND99", where=GRAPH_OBJECT, since="1.5")
def only_filled(at: At) -> Iterator[Edit]:
    """Is filled in on line 1.5 only.

    Why
        w

    Before
        a: 1

    After
        a: 1
    """
    yield at.set(("metadata", "labels"), {"a": "b"})


@pytest.fixture
def three(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """A catalogue of these rules alone."""
    monkeypatch.setattr(catalogue, "list_declared", lambda: (only_new, only_old, only_filled))
    caches = (catalogue.list_rules, engine._plan)
    for cache in caches:
        cache.cache_clear()
    yield
    for cache in caches:
        cache.cache_clear()


def _said(facts: Facts) -> list[str]:
    review = Review(DGD, CREATE, OBJECT, facts=facts)
    found = evaluate(review)
    assert all(one.level is Level.ERROR for one in found)
    return [*(one.rule.name for one in found), *(edit.rule.name for edit in compute_edits(review))]


@pytest.mark.usefixtures("three")
def test_a_rule_is_asked_on_its_line_alone() -> None:
    new, old = ["only-new", "only-filled"], ["only-old"]
    assert _said(facts_from({"operatorVersion": "1.5.0"})) == new
    assert _said(facts_from({"operatorVersion": "1.4.2"})) == old
    assert _said(Facts()) == new
    assert _said(facts_from({"operatorVersion": "1.2.0", "operatorLine": 1.5})) == new, "a line that is said goes before the version"
    assert {one.name for one in catalogue.list_rules()} == {*new, *old}


def test_the_index_keeps_the_lines() -> None:
    for one, lines in ((only_new, (Line.V1_5, Line.V1_6)), (only_old, (Line.V1_2, Line.V1_3, Line.V1_4))):
        read: Rule = catalogue.read_row(_row(one))
        assert (one.lines, read.lines) == (lines, lines)
        assert read.declared() == one.declared()


def test_a_line_that_nobody_knows_does_not_import() -> None:
    with pytest.raises(ValueError, match=r"1\.1"):
        rule("DYN998", where=GRAPH, stage=Stage.SHAPE, since="1.1")(only_new.check)


@pytest.mark.parametrize("name", ["checkpoint-gate", "checkpoint-layout-unsupported"])
def test_pages_show_blocks_as_the_line_of_their_rule_has_them(name: str) -> None:
    found = catalogue.find_rule(name)
    assert found is not None
    blocks = [yaml.safe_load(block) for examples in twins(found) for block in examples]
    services = [service for block in blocks for service in block["spec"]["services"].values()]
    checkpoints = [checkpoint for each in services if (checkpoint := each.get("checkpoint")) is not None]
    assert checkpoints
    assert all("enabled" in checkpoint for checkpoint in checkpoints)
