"""The serving side of the facts: a process that reports, dies, talks nonsense or won't stop, and what the server says meanwhile."""

from __future__ import annotations

import asyncio
import json
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any, Final

import pytest

from dynamo_webhooks.kube.connection import NO_ANSWER
from dynamo_webhooks.webhooks.cluster import feed as feeding
from dynamo_webhooks.webhooks.cluster.feed import FIRST_SECONDS, Feed
from tests.rows import run_each
from tests.webhooks import serving
from tests.webhooks.serving import DEADLINE

STALE: Final = {"scope_watch": 1.0, "topology_watch": None, "api_groups": 2.0}
# takes its orders, does what they say one after the other, and waits for the word to stop
PROGRAM: Final = """
import json, os, sys
orders = json.loads(sys.stdin.readline())
turn = len(os.listdir(orders["turns"]))
open(os.path.join(orders["turns"], str(turn)), "w").close()
for line in orders["lines"][min(turn, len(orders["lines"]) - 1)]:
    if line == "die":
        os.kill(os.getpid(), 9)
    print(line, flush=True)
word = sys.stdin.readline()
if orders.get("deaf"):
    sys.stdin.readline()
open(os.path.join(orders["turns"], "word"), "w").write(word)
"""


def report(facts: dict[str, Any], refused: str = "", traffic: list[list[object]] | None = None) -> str:
    return json.dumps({"facts": facts, "stale": STALE, "refused": refused, "traffic": traffic or []})


class Fed:
    """A feed with what it passed on."""

    def __init__(self, folder: Path, lines: list[list[str]], *, deaf: bool = False) -> None:
        self.taken: list[dict[str, Any]] = []
        self.seconds = 100.0
        self.folder = folder
        orders = {"turns": str(folder), "lines": lines, "deaf": deaf}
        self.feed = Feed(orders, self.taken.append, command=(sys.executable, "-c", PROGRAM), clock=lambda: self.seconds)

    @asynccontextmanager
    async def running(self) -> AsyncIterator[Fed]:
        task = asyncio.create_task(self.feed.run())
        try:
            yield self
        finally:
            await self.feed.stop()
            async with asyncio.timeout(DEADLINE):
                await task

    until = staticmethod(serving.until)

    def gauge(self, name: str) -> float:
        return self.feed.gauges()[name]


async def test_where_no_process_can_be_started_it_is_tried_again(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    """A server that gave up would follow no certificate and no fact any more, and never say so."""
    program = tmp_path / "program"
    fed = Fed(tmp_path, [[report({"grove": True})]])
    fed.feed = Feed({"turns": str(tmp_path), "lines": [[report({"grove": True})]]}, fed.taken.append, command=(str(program),))
    async with fed.running():
        await fed.until(lambda: fed.gauge("cluster_watch_restarts") >= 2)
        assert "can't be started: No such file or directory" in caplog.text
        written = tmp_path / "written"
        written.write_text(f"#!{sys.executable}\n{PROGRAM}")
        written.chmod(0o700)
        written.rename(program)
        await fed.until(lambda: bool(fed.taken))


@pytest.fixture(autouse=True)
def _at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """A process that ended is started again without a pause."""
    monkeypatch.setattr(feeding, "RETRY_SECONDS", 0.0)


async def test_reports_are_passed_on_when_they_say_something_new(tmp_path: Path) -> None:
    fed = Fed(tmp_path, [[report({"grove": True}), report({"grove": True}), report({"grove": False, "excludedNamespaces": ["a", "b"]})]])
    assert fed.feed.reasons() == ["the facts of the cluster are not known yet"]
    async with fed.running():
        await fed.until(lambda: len(fed.taken) == 2)
        assert fed.taken == [{"grove": True}, {"grove": False, "excludedNamespaces": ["a", "b"]}]
        assert fed.feed.reasons() == []
        fed.seconds += 5
        assert fed.gauge("scope_watch_stale_seconds") == 6
        assert fed.gauge("topology_watch_stale_seconds") == 5  # never known: since the start
        assert fed.gauge("api_groups_stale_seconds") == 7
        assert fed.gauge("excluded_namespaces") == 2
    assert (tmp_path / "word").read_text() == "stop\n"


async def test_a_server_is_ready_without_facts_after_a_while(tmp_path: Path) -> None:
    fed = Fed(tmp_path, [[]])
    async with fed.running():
        fed.seconds += FIRST_SECONDS
        assert fed.feed.reasons() == []
        assert fed.gauge("scope_watch_stale_seconds") == FIRST_SECONDS


async def test_a_process_that_dies_is_started_again_and_its_last_words_stay(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    fed = Fed(tmp_path, [[report({"grove": True}), "die"], ["die"], [report({"grove": True}), report({"grove": False})]])
    async with fed.running():
        await fed.until(lambda: len(fed.taken) == 2)
    assert fed.taken == [{"grove": True}, {"grove": False}]
    assert fed.gauge("cluster_watch_restarts") == 2
    assert "the last known facts stay" in caplog.text


@run_each("nonsense", ["not json", "{}", "[]", '{"facts": {}, "stale": {}}', report({}, traffic=[["200"]])])
async def test_a_process_that_talks_nonsense_is_started_again(tmp_path: Path, nonsense: str) -> None:
    fed = Fed(tmp_path, [[nonsense], [report({"grove": True})]])
    async with fed.running():
        await fed.until(lambda: fed.taken == [{"grove": True}])
    assert fed.gauge("cluster_watch_restarts") == 1


async def test_requests_are_summed_up_over_all_processes_that_there_were(tmp_path: Path) -> None:
    first = [report({"grove": True}, traffic=[["200", "GET", "h:1", 2]]), report({"grove": False}, traffic=[["200", "GET", "h:1", 5]])]
    second = [report({"grove": True}, traffic=[["200", "GET", "h:1", 1], [NO_ANSWER, "POST", "h:1", 3]])]
    fed = Fed(tmp_path, [[*first, "die"], second])
    assert fed.feed.traffic() == {}
    expected = {("200", "GET", "h:1"): 6, (NO_ANSWER, "POST", "h:1"): 3}
    async with fed.running():
        await fed.until(lambda: len(fed.taken) == 3)
        assert fed.feed.traffic() == expected
    assert fed.feed.traffic() == expected


async def test_facts_of_the_wrong_shape_are_not_taken(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    fed = Fed(tmp_path, [[report({"grove": "perhaps"}), report({"groove": True}), report({"grove": True})]])
    async with fed.running():
        await fed.until(lambda: fed.taken == [{"grove": True}])
    assert "grove: must be true, false or null" in caplog.text
    assert "groove: unknown fact" in caplog.text


async def test_a_namespace_that_is_another_operators_keeps_the_server_from_being_ready(tmp_path: Path) -> None:
    fed = Fed(tmp_path, [[report({}, "claimed by another operator")]])
    async with fed.running():
        await fed.until(lambda: bool(fed.taken))
        assert fed.feed.reasons() == ["claimed by another operator"]


async def test_a_process_that_does_not_stop_is_killed(
    tmp_path: Path, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(feeding, "STOP_SECONDS", 0.0)
    fed = Fed(tmp_path, [[report({})]], deaf=True)
    async with fed.running():
        await fed.until(lambda: bool(fed.taken))
    assert "is killed" in caplog.text
    assert not (tmp_path / "word").exists()


async def test_what_may_be_out_of_date_is_told_and_keeps_nobody_from_being_ready(tmp_path: Path) -> None:
    fed = Fed(tmp_path, [[report({"grove": True})]])
    async with fed.running():
        await fed.until(lambda: len(fed.taken) == 1)
        assert fed.feed.degraded() == []
        fed.seconds += feeding.STALE_SECONDS + 1
        lines = fed.feed.degraded()
        assert [line.rpartition(": ")[2] for line in lines] == ["62", "61", "63"]
        assert fed.feed.reasons() == []
