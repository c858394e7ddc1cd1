"""What others do to a run: definitions changed under it, lists that one object spoils."""

import asyncio
from copy import deepcopy
from typing import Any

import pytest

from dynamo_webhooks.api.crd import build
from dynamo_webhooks.api.kinds import ALPHA, BETA
from dynamo_webhooks.api.line import Line
from dynamo_webhooks.cli.commands.migrate.progress import Progress
from dynamo_webhooks.cli.commands.migrate.run import MigrationRun
from dynamo_webhooks.kube.errors import ApiError, UnavailableError
from dynamo_webhooks.kube.protocol import Node
from tests.cli.migrate.store import DGD, REFUSAL, Store, context, filled, ran


async def _filled(many: int) -> Store:
    store = await filled(many)
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
    assert "dynamographdeployments.nvidia.com: the schema must have all fields of operator 1.5" in report.failed
    assert store.storage_of(DGD) == ALPHA, "it is not flipped again either"


async def test_a_definition_that_changes_otherwise_meanwhile_is_no_reason_to_begin_anew() -> None:
    store, messages, once = await _filled(6), list[str](), [1]

    def injected(name: str) -> ApiError | None:
        if name == "g-03" and store.storage_of(DGD) == BETA and once:
            once.clear()
            store.crd()["spec"]["conversion"]["webhook"] = {"clientConfig": {"caBundle": "eA=="}}
            store.crd()["metadata"]["generation"] += 1
            store.crd()["metadata"]["resourceVersion"] += "0"
        return None

    store.broken = injected
    report = await ran(store, messages)
    assert report.proven
    assert not any("started again" in line for line in messages)
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
    store, calls = await _filled(2), list[str]()

    def spoilt(verb: str, resource: Any, *_: Any) -> ApiError | None:
        if verb == "list" and resource is not None and resource.kind == DGD and store.storage_of(DGD) == BETA:
            calls.append(verb)
            return UnavailableError(500, "InternalError", REFUSAL)
        return None

    store.fail(spoilt)
    report = await ran(store)
    assert (report.failed, report.unreachable, report.proven) == (REFUSAL, False, False)
    assert 1 < len(calls) < 20, "a few times, because the converter may have been another one"


async def test_two_runs_at_once_end_alike() -> None:
    store = await filled(8)
    runs = [MigrationRun(context(store), Progress(lambda _: None)).run() for _ in range(2)]
    first, other = await asyncio.gather(*runs)
    assert first.proven
    assert other.proven
    assert {*store.forms.values()} == {BETA}
    assert store.crd()["status"]["storedVersions"] == [BETA]
