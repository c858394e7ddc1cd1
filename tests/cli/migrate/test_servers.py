"""The wait for all API servers: each is asked by itself, or many times through the usual address where that is not possible."""

import contextlib
from collections.abc import AsyncIterator, Sequence
from typing import Any

import pytest

from dynamo_webhooks.api.kinds import ALPHA, BETA, BY_NAME
from dynamo_webhooks.cli.commands.migrate.context import MigrationContext, Stopped
from dynamo_webhooks.cli.commands.migrate.definition import wait_for_agreement
from dynamo_webhooks.cli.commands.migrate.options import Options
from dynamo_webhooks.cli.commands.migrate.report import MigrationReport
from dynamo_webhooks.kube.errors import ForbiddenError, UnavailableError
from dynamo_webhooks.kube.protocol import Cluster
from dynamo_webhooks.kube.resources import ENDPOINT_SLICES
from dynamo_webhooks.kube.storage_versions import MAX_TRIES, compute_storage_hash, read_definition
from tests.cli.migrate.store import DGD, Store
from tests.kube.memory import MemoryCluster


class Servers:
    """API servers, each of which says what it is told to, time after time; the last answer stays. None hangs."""

    def __init__(self, usual: Sequence[str | None] = (), **answers: Sequence[str | None]) -> None:
        self.answers, self.asked = {name: [*given] for name, given in (("", usual), *answers.items())}, list[str]()

    @contextlib.asynccontextmanager
    async def __call__(self, server: str) -> AsyncIterator[Cluster]:
        self.asked.append(server)
        name = server.removeprefix("https://")
        answers = self.answers[name]
        answer = answers.pop(0) if len(answers) > 1 else answers[0]
        if answer is None:
            raise UnavailableError(0, "", "no answer in time")
        cluster = MemoryCluster()
        listed = [{"name": BY_NAME[DGD].plural, "storageVersionHash": compute_storage_hash("nvidia.com", answer, DGD) if answer else ""}]
        cluster.discovery = {("nvidia.com", each): listed for each in (ALPHA, BETA)}
        yield cluster


class _Sleepless(MigrationContext):
    """Waits for nothing."""

    async def sleep(self, seconds: float) -> None:  # noqa: ARG002 - as the original has it
        self.check()


async def _agreed(opener: Servers, store: Store | None = None, **options: Any) -> MigrationReport:
    report, store = MigrationReport(BETA, "", dry_run=False), store or Store(BETA)
    servers = tuple(f"https://{each}" for each in opener.answers if each)
    given: dict[str, Any] = {"to": BETA, "kinds": (DGD,), "servers": servers, **options}
    await wait_for_agreement(_Sleepless(store, opener, Options(**given), lambda _: None), [read_definition(store.crd())], report)
    return report


async def test_an_api_server_that_hangs_is_waited_for() -> None:
    servers = Servers(a=[BETA], b=[None, None, ALPHA, BETA])
    assert (await _agreed(servers)).warnings == []
    assert servers.asked == ["https://a", "https://b"] * 4
    with pytest.raises(UnavailableError, match=f"https://b has not taken over the definition of {BY_NAME[DGD].plural}"):
        await _agreed(Servers(a=[BETA], b=[ALPHA]), patience=-1.0)


async def test_an_api_server_that_answered_once_is_not_asked_through_the_usual_address_later() -> None:
    servers = Servers(a=[ALPHA, None, None, BETA], b=[None, None, None, BETA], usual=[BETA])
    await _agreed(servers)
    assert "" not in servers.asked


@pytest.mark.parametrize(("why", "warning"), [("no endpoints", ""), ("no right", "no slices"), ("no way", "https://10.0.0.1:6443 can't")])
async def test_where_no_api_server_answers_by_itself_the_usual_address_is_asked_many_times(why: str, warning: str) -> None:
    """As from outside of a cluster: the addresses of its Service lead nowhere."""
    servers, store = Servers(usual=[ALPHA] * 3 + [BETA], **{"10.0.0.1:6443": [None]}), Store(BETA)
    if why == "no way":
        endpoints = [{"addresses": ["10.0.0.1"], "conditions": {"ready": True}}]
        metadata = {"name": "kubernetes", "namespace": "default", "labels": {"kubernetes.io/service-name": "kubernetes"}}
        await store.create(ENDPOINT_SLICES, {"metadata": metadata, "ports": [{"name": "https", "port": 6443}], "endpoints": endpoints})
    if why == "no right":
        fault = ForbiddenError(403, "Forbidden", "no slices for you")
        store.fail(lambda verb, *_: fault if verb == "list" else None)
    report = await _agreed(servers, store, servers=())
    assert servers.asked.count("") == 2 * MAX_TRIES
    assert [warning in text for text in report.warnings] == [True] * bool(warning)


async def test_a_list_of_api_servers_that_is_empty_for_a_moment_is_no_agreement(monkeypatch: pytest.MonkeyPatch) -> None:
    lists = iter([["https://a"], [], ["https://a"]])

    async def load(_: object) -> list[str]:
        return next(lists)

    monkeypatch.setattr("dynamo_webhooks.cli.commands.migrate.definition.load_api_servers", load)
    servers = Servers(a=[ALPHA, BETA], usual=[BETA])
    await _agreed(servers, servers=())
    assert servers.asked == ["https://a", "https://a"]


async def test_a_stop_ends_the_wait() -> None:
    store, servers = Store(BETA), Servers(a=[ALPHA])
    made = MigrationContext(store, servers, Options(BETA, (DGD,), servers=("https://a",)), lambda _: None)
    made.stop()
    with pytest.raises(Stopped):
        await wait_for_agreement(made, [read_definition(store.crd())], MigrationReport(BETA, "", dry_run=False))
