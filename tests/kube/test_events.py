"""Events report transitions, count repetitions, and never fail their caller."""

import logging

import pytest

from dynamo_webhooks.kube.errors import ForbiddenError, UnavailableError
from dynamo_webhooks.kube.events import Recorder
from dynamo_webhooks.kube.protocol import Node
from dynamo_webhooks.kube.resources import CONFIG_MAPS, CORE_EVENTS
from tests.kube.memory import MemoryCluster
from tests.kube.timing import Timing

ABOUT: Node = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "a", "namespace": "n", "uid": "1", "resourceVersion": "5"}}
CLUSTERED = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "a", "uid": "2"}}


def made() -> tuple[MemoryCluster, Timing, Recorder]:
    cluster, timing = MemoryCluster(), Timing()
    return cluster, timing, Recorder(cluster, "provisioner", clocks=timing.clocks())


async def written(cluster: MemoryCluster) -> list[tuple[str, str, int]]:
    return [(event["reason"], event["message"], event["count"]) for event in (await cluster.list(CORE_EVENTS)).items]


async def test_the_same_again_is_no_transition() -> None:
    cluster, _, recorder = made()
    for _ in range(5):
        await recorder.record(ABOUT, "Normal", "LeafIssued", "leaf 1")
    assert await written(cluster) == [("LeafIssued", "leaf 1", 1)]
    assert len(cluster.writes) == 1


async def test_back_and_forth_is_counted_and_keeps_its_first_time() -> None:
    cluster, timing, recorder = made()
    for reason in ("Drifted", "Repaired") * 3:
        await recorder.record(ABOUT, "Warning", reason, "m")
        timing.seconds += 60
    assert sorted(await written(cluster)) == [("Drifted", "m", 3), ("Repaired", "m", 3)]
    event = (await cluster.list(CORE_EVENTS, "n")).items[0]
    assert event["firstTimestamp"] < event["lastTimestamp"]
    assert (event["type"], event["source"], event["reportingInstance"]) == ("Warning", {"component": "provisioner"}, "")
    assert event["involvedObject"] == {"apiVersion": "v1", "kind": "ConfigMap", **ABOUT["metadata"]}


async def test_an_event_that_has_expired_is_written_anew() -> None:
    cluster, _, recorder = made()
    await recorder.record(ABOUT, "Normal", "LeafIssued", "leaf 1")
    for event in (await cluster.list(CORE_EVENTS)).items:
        await cluster.delete(CORE_EVENTS, event["metadata"]["name"], "n")
    await recorder.record(ABOUT, "Normal", "LeafIssued", "leaf 2")
    assert await written(cluster) == [("LeafIssued", "leaf 2", 1)]


async def test_events_about_objects_without_a_namespace_lie_in_default() -> None:
    cluster = MemoryCluster()
    await Recorder(cluster, "provisioner").record(CLUSTERED, "Normal", "Seen", "x" * 5000)
    ((namespace, _),) = cluster.names(CORE_EVENTS)
    assert namespace == "default"
    assert len((await cluster.list(CORE_EVENTS)).items[0]["message"]) == 1024


async def test_a_missing_permission_is_logged_once_and_raises_nothing(caplog: pytest.LogCaptureFixture) -> None:
    cluster, _, recorder = made()
    cluster.denied.add(("create", "events"))
    for message in "abc":
        await recorder.record(ABOUT, "Normal", "Seen", message)
    assert caplog.text.count("Events can't be written") == 1


async def test_a_namespace_that_is_being_deleted_is_no_missing_permission(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.WARNING)
    cluster, _, recorder = made()
    going = 'events "a." is forbidden: unable to create new content in namespace n because it is being terminated'
    restore = cluster.fail(lambda *_: ForbiddenError(403, "Forbidden", going))
    await recorder.record(ABOUT, "Normal", "Seen", "m")
    restore()
    assert caplog.text == ""
    cluster.denied.add(("create", "events"))
    await recorder.record(ABOUT, "Normal", "Seen", "m")
    assert caplog.text.count("Events can't be written") == 1


async def test_a_failure_is_logged_and_tried_again_with_the_next(caplog: pytest.LogCaptureFixture) -> None:
    cluster, _, recorder = made()
    restore = cluster.fail(lambda *_: UnavailableError(503, "", "not now"))
    await recorder.record(ABOUT, "Normal", "Seen", "m")
    restore()
    await recorder.record(ABOUT, "Normal", "Seen", "m")
    assert await written(cluster) == [("Seen", "m", 1)]
    assert "not now" in caplog.text
    assert cluster.names(CONFIG_MAPS) == set()
