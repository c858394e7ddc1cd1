"""What a process remembers of children stays small, however many there are."""

import pytest

from dynamo_webhooks.kube.protocol import Node
from dynamo_webhooks.policies.facts import Facts
from dynamo_webhooks.reconciler.common.keys import Key
from dynamo_webhooks.reconciler.common.problems import ContestedError
from dynamo_webhooks.reconciler.engine import cluster_settings, write
from dynamo_webhooks.reconciler.engine.cache import Cache
from dynamo_webhooks.reconciler.engine.cluster_settings import Judge
from dynamo_webhooks.reconciler.engine.write import Writer
from tests.kube.memory import MemoryCluster
from tests.kube.timing import Timing


async def test_repairs_of_long_ago_are_forgotten(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(write, "REMEMBERED", 10)
    timing, cluster = Timing(), MemoryCluster()
    writer = Writer(cluster, Cache(cluster, [""], lambda *_: None), lambda _: True, timing.clock)
    for number in range(100):
        writer._contest(Key("Service", "n", str(number)), "", ["kubectl"], "conflict")
        await timing.advance(write.WINDOW / 5)
    assert len(writer._repaired) <= 11
    for _ in range(write.REPAIRS):
        writer._contest(Key("Service", "n", "again"), "", ["kubectl"], "conflict")
    with pytest.raises(ContestedError):
        writer._contest(Key("Service", "n", "again"), "", ["kubectl"], "conflict")


def test_one_verdict_is_kept_for_each_object_however_often_it_changes(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[str] = []

    def judged(obj: Node, _: Facts) -> str:
        asked.append(obj["metadata"]["uid"])
        return ""

    monkeypatch.setattr(cluster_settings, "REMEMBERED", 2)
    monkeypatch.setattr(cluster_settings, "check_admission", judged)
    judging, facts = Judge(), Facts()

    def refusal(uid: str, generation: int) -> None:
        obj: Node = {"metadata": {"uid": uid}, "spec": {"generation": generation}}
        assert judging.refusal(obj, facts) == ""

    refusal("a", 1)
    for generation in (1, 1, 2, 3, 3):
        refusal("b", generation)
    refusal("a", 1)
    assert asked == ["a", "b", "b", "b"]
