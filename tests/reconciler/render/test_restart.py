"""Which components carry a restart's mark, as the loop observes more and more of them restarted."""

from typing import Any

from dynamo_webhooks.reconciler.render.generation import order, restart_marks
from dynamo_webhooks.reconciler.render.graph import Graph, read_graph
from dynamo_webhooks.reconciler.render.observed import NOTHING, Observed
from tests.reconciler.rendering import component, graph, stored


def _graph(status: dict[str, Any] | None = None, **restart: Any) -> Graph:
    components = (component(name, "frontend") for name in ("b", "a", "c"))
    obj = graph(*components)
    if restart:
        obj["spec"]["restart"] = restart
    return read_graph({**stored(obj), **({"status": {"restart": status}} if status else {})})


def test_without_a_request_nothing_is_marked() -> None:
    assert restart_marks(_graph(), NOTHING) == {}


def test_one_by_one_in_the_order_of_names() -> None:
    asked = _graph(id="r")
    assert order(asked) == ["a", "b", "c"]
    assert restart_marks(asked, NOTHING) == {"a": "r"}
    assert restart_marks(asked, Observed(restart_at={"a": "r"}, restarted=frozenset({"a"}))) == {"a": "r", "b": "r"}
    assert restart_marks(asked, Observed(restarted=frozenset({"a", "b", "c"}))) == dict.fromkeys("abc", "r")


def test_one_by_one_in_the_order_that_is_said() -> None:
    asked = _graph(id="r", strategy={"type": "Sequential", "order": ["c", "a", "b"]})
    assert restart_marks(asked, Observed(restarted=frozenset({"c"}))) == {"c": "r", "a": "r"}


def test_a_mark_stays_when_the_request_is_gone() -> None:
    assert restart_marks(_graph(), Observed(restart_at={"a": "old"})) == {"a": "old"}


def test_no_restart_begins_during_a_roll() -> None:
    assert restart_marks(_graph(id="r"), Observed(restart_at={"a": "old"}, rolling=True)) == {"a": "old"}
    assert restart_marks(_graph({"observedID": "r", "phase": "Superseded"}, id="r"), NOTHING) == {}


def test_a_completed_restart_marks_all() -> None:
    assert restart_marks(_graph({"observedID": "r", "phase": "Completed"}, id="r"), NOTHING) == dict.fromkeys("abc", "r")
