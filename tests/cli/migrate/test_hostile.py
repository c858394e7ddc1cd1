"""What others do to a run: definitions changed under it, API servers that hang, lists that one object spoils."""

import asyncio
import contextlib
from collections.abc import AsyncIterator, Sequence
from copy import deepcopy
from typing import Any, Final

import pytest

from dynamo_webhooks.api.crd import build
from dynamo_webhooks.api.kinds import ALPHA, BETA, BY_NAME
from dynamo_webhooks.api.line import Line
from dynamo_webhooks.cli.commands.migrate.definition import wait_for_agreement
from dynamo_webhooks.cli.commands.migrate.options import Hands, Options
from dynamo_webhooks.cli.commands.migrate.report import Progress, Report
from dynamo_webhooks.cli.commands.migrate.run import Run
from dynamo_webhooks.kube.errors import ApiError, UnavailableError
from dynamo_webhooks.kube.protocol import Cluster, Node
from dynamo_webhooks.kube.resources import ENDPOINT_SLICES
from dynamo_webhooks.kube.storage_versions import read_definition, storage_hash
from tests.cli.migrate.store import DGD, REFUSAL, Store, hands, ran
from tests.kube.memory import MemoryCluster

SPEC: Final[dict[str, Any]] = {"services": {"w": {"extraPodSpec": {"mainContainer": {"image": "x/vllm:1.5.0"}}}}}


async def _filled(many: int) -> Store:
    store = Store()
    for index in range(many):
        await store.put(DGD, f"g-{index:02}", SPEC)
    store.page_limit = 2
    return store


def _lowered(crd: Node) -> None:
    """The definition of line 1.2 is applied, as a GitOps tool does."""
    older = build(DGD, conversion={"strategy": "Webhook"}, line=Line.V1_2)
    crd["spec"] = deepcopy(older["spec"])
    crd["metadata"]["generation"] += 1
    crd["metadata"]["resourceVersion"] = "999999"


async def test_nothing_is_written_any_more_when_a_definition_loses_fields_meanwhile() -> None:
    """Each write would remove these fields from an object for good; those of the page that was begun are already under way."""
    store = await _filled(20)

    def lowering(name: str) -> ApiError | None:
        if name == "g-05" and store.storage_of(DGD) == BETA:
            _lowered(store.crd())
        return None

    store.broken = lowering
    report = await ran(store, workers=1)
    assert (report.proven, len(store.touched)) == (False, 6)
    assert "dynamographdeployments.nvidia.com: the schema must have all fields of line 1.5" in report.failed
    assert store.storage_of(DGD) == ALPHA, "it is not flipped again either"


async def test_a_definition_that_changes_otherwise_meanwhile_is_no_reason_to_begin_anew() -> None:
    store, said, once = await _filled(6), list[str](), [1]

    def injected(name: str) -> ApiError | None:
        if name == "g-03" and store.storage_of(DGD) == BETA and once:
            once.clear()
            store.crd()["spec"]["conversion"]["webhook"] = {"clientConfig": {"caBundle": "eA=="}}
            store.crd()["metadata"]["generation"] += 1
            store.crd()["metadata"]["resourceVersion"] += "0"
        return None

    store.broken = injected
    report = await ran(store, said)
    assert report.proven
    assert not any("begun anew" in line for line in said)
    assert store.crd()["status"]["storedVersions"] == [BETA]


@pytest.mark.parametrize("names", [None, {}, {"kind": "Foo", "plural": "dynamographdeployments"}])
async def test_a_definition_of_another_kind_is_somebody_elses(names: Any) -> None:
    store = await _filled(1)
    store.crd()["spec"]["names"] = names
    seen = "Foo" if names else "nothing"
    must = f"spec.names.kind must be DynamoGraphDeployment, and is {seen}"
    reason = f"dynamographdeployments.nvidia.com: {must}: the definition belongs to another project"
    report = await ran(store)
    assert (report.blocked, store.touched, store.storage_of(DGD)) == ([reason], [], ALPHA)


async def test_a_list_that_the_converter_refuses_is_an_error_and_no_outage() -> None:
    store, asked = await _filled(2), list[str]()

    def spoilt(verb: str, resource: Any, *_: Any) -> ApiError | None:
        if verb == "list" and resource is not None and resource.kind == DGD and store.storage_of(DGD) == BETA:
            asked.append(verb)
            return UnavailableError(500, "InternalError", REFUSAL)
        return None

    store.fail(spoilt)
    report = await ran(store)
    assert (report.failed, report.unreachable, report.proven) == (REFUSAL, False, False)
    assert 1 < len(asked) < 20, "a few times, because the converter may have been another one"


class Servers:
    """API servers, each of which says what it is told to, time after time; the last answer stays. None hangs."""

    def __init__(self, usual: Sequence[str] = (), **answers: Sequence[str | None]) -> None:
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
        listed = [{"name": BY_NAME[DGD].plural, "storageVersionHash": storage_hash("nvidia.com", answer, DGD)}]
        cluster.discovery = {("nvidia.com", each): listed for each in (ALPHA, BETA)}
        yield cluster


class _Sleepless(Hands):
    """Waits for nothing."""

    async def sleep(self, seconds: float) -> None:  # noqa: ARG002 - as the original has it
        self.check()


async def _agreed(opener: Servers, **options: Any) -> Report:
    report, store = Report(BETA, "", dry_run=False), Store(BETA)
    given: dict[str, Any] = {
        "to": BETA,
        "kinds": (DGD,),
        "servers": tuple(f"https://{each}" for each in opener.answers if each),
        **options,
    }
    await wait_for_agreement(_Sleepless(store, opener, Options(**given), lambda _: None), [read_definition(store.crd())], report)
    return report


async def test_an_api_server_that_hangs_is_waited_for() -> None:
    servers = Servers(a=[BETA], b=[None, None, ALPHA, BETA])
    assert (await _agreed(servers)).warnings == []
    assert servers.asked.count("https://b") == 4


async def test_an_api_server_that_answered_once_is_not_asked_through_the_usual_address_later() -> None:
    servers = Servers(a=[ALPHA, None, None, BETA], b=[None, None, None, BETA], usual=[BETA])
    await _agreed(servers)
    assert "" not in servers.asked


async def test_where_no_api_server_answers_by_itself_the_usual_address_is_asked_many_times() -> None:
    """As from outside of a cluster: the addresses of its Service lead nowhere."""
    servers = Servers(usual=[ALPHA] * 3 + [BETA])
    store = Store(BETA)
    endpoints = [{"addresses": ["10.0.0.1"], "conditions": {"ready": True}}]
    metadata = {"name": "kubernetes", "namespace": "default", "labels": {"kubernetes.io/service-name": "kubernetes"}}
    await store.create(ENDPOINT_SLICES, {"metadata": metadata, "ports": [{"name": "https", "port": 6443}], "endpoints": endpoints})
    servers.answers["10.0.0.1:6443"] = [None]
    made = _Sleepless(store, servers, Options(BETA, (DGD,)), lambda _: None)
    report = Report(BETA, "", dry_run=False)
    await wait_for_agreement(made, [read_definition(store.crd())], report)
    assert servers.asked.count("") == 3 + 10
    assert len(report.warnings) == 1
    assert "https://10.0.0.1:6443 can't be asked by itself" in report.warnings[0]


async def test_a_list_of_api_servers_that_is_empty_for_a_moment_is_no_agreement(monkeypatch: pytest.MonkeyPatch) -> None:
    lists = iter([["https://a"], [], ["https://a"]])

    async def load(_: object) -> list[str]:
        return next(lists)

    monkeypatch.setattr("dynamo_webhooks.cli.commands.migrate.definition.load_api_servers", load)
    servers = Servers(a=[ALPHA, BETA], usual=[BETA])
    await _agreed(servers, servers=())
    assert servers.asked == ["https://a", "https://a"]


async def test_two_runs_at_once_end_alike() -> None:
    store = await _filled(8)
    store.page_limit = 0
    runs = [Run(hands(store), Progress(lambda _: None)).run() for _ in range(2)]
    one, other = await asyncio.gather(*runs)
    assert one.proven
    assert other.proven
    assert {*store.forms.values()} == {BETA}
    assert store.crd()["status"]["storedVersions"] == [BETA]
