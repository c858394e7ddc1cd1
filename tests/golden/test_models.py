"""The recorded passes over DynamoModels: our status, calls and Events are those of the Go operator, or listed with a reason."""

from __future__ import annotations

import copy
import json
from typing import TYPE_CHECKING, Any, Final

import pytest

from dynamo_webhooks.kube.resources import ENDPOINT_SLICES
from dynamo_webhooks.reconciler.loop.kinds import MODELS
from dynamo_webhooks.reconciler.loop.reconciler import Clocks, Reconciler
from dynamo_webhooks.reconciler.model.worker import Reply
from tests.golden.corpus import cases
from tests.reconciler.loop.site import NAMESPACE, Site, settings
from tests.reconciler.model.workers import FakeWorkers

if TYPE_CHECKING:
    from dynamo_webhooks.kube.protocol import Node

pytestmark = pytest.mark.golden
CASES: Final = {case["id"]: case for case in cases("controllers.ndjson.gz", "model-step")}
_PATH: Final = (
    "dynamo segments, empty segments and slashes at an end are refused as names, so that nothing was loaded and nothing is unloaded"
)
# differences on purpose -> reason
DIFFERENT: Final = {
    "ms-adapter": "ready endpoints of models that load nothing are counted, not reported as 0",
    "ms-notype": "as ms-adapter",
    "ms-lora-unready": "a pod that isn't ready is not called, and not ready",
    "ms-lora-twoslices": "a pod in two slices is called once and counted once",
    "ms-lora-dual": "a pod with two address families is called once and counted once",
    "ms-del-404": "an adapter that isn't there any more is unloaded",
    "ms-del-name-a/../b": _PATH,
    "ms-del-name-.": _PATH,
    "ms-del-name-a//b": _PATH,
    "ms-del-name-trail/": _PATH,
    "ms-del-name-a%2Fb": "a percent sign is escaped: the server would otherwise unload the adapter `a/b`",
    "ms-del-500": "unloading is tried again before the model is let go",
}


class Recorded(FakeWorkers):
    """Answers as the recorded workers did, and keeps the requests as the record writes them."""

    def __init__(self, workers: dict[str, int]) -> None:
        super().__init__()
        self.lists = False
        self.answers = workers
        self.requests: list[str] = []

    async def load(self, base: str, name: str, uri: str) -> Reply:
        body = json.dumps({"lora_name": name, "source": {"uri": uri}}, ensure_ascii=False, separators=(",", ":"))
        reply = await super().load(base, name, uri)
        self.requests.append(f"POST {_address(base)}/v1/loras application/json {body}")
        return reply

    async def unload(self, base: str, name: str) -> Reply:
        reply = await super().unload(base, name)
        self.requests.append(f"DELETE {_address(base)}/v1/loras/{self.calls[-1][2]}  ")
        return reply

    async def _call(self, verb: str, base: str, what: str) -> Reply:
        self.status[_address(base)] = self.answers.get(_address(base))
        return await super()._call(verb, base, what)


def _address(base: str) -> str:
    return base.removeprefix("http://").rpartition(":")[0]


@pytest.mark.parametrize("name", CASES)
async def test_a_recorded_pass(name: str) -> None:
    case = json.loads(json.dumps(CASES[name]).replace("127.0.", "10.0."))  # loopback is no pod's address
    workers = Recorded(case.get("flags", {}).get("workers", {}))
    site = Site(settings("models: {anySlice: true}\n"))
    await _set_up(site, case)
    timing = site.timing
    clocks = Clocks(timing.clock, timing.now, timing.sleep, lambda: 0.5)
    site.run(Reconciler(site.cluster, site.settings, "pod", clocks=clocks, caller=lambda _: workers))
    try:
        await site.later(0.5)
        if "del" in name:
            await site.later(70)
        differences = _differences(case, workers, await _outcome(site, case), await site.reasons())
    finally:
        await site.stop()
    assert bool(differences) == (name in DIFFERENT), differences


def test_no_difference_is_listed_that_is_not_recorded() -> None:
    assert DIFFERENT.keys() <= CASES.keys()


async def _set_up(site: Site, case: Node) -> None:
    for other in case.get("others", ()):
        assert other["kind"] == "EndpointSlice"
        await site.user.create(ENDPOINT_SLICES, other, other["metadata"]["namespace"])
    obj = copy.deepcopy(case["object"])
    deleted = obj["metadata"].pop("deletionTimestamp", None)
    await site.user.create(MODELS, obj, NAMESPACE)
    if deleted:
        await site.user.delete(MODELS, obj["metadata"]["name"], NAMESPACE)


async def _outcome(site: Site, case: Node) -> Node | None:
    return await site.user.get(MODELS, case["object"]["metadata"]["name"], NAMESPACE)


def _differences(case: Node, workers: Recorded, found: Node | None, reasons: list[str]) -> list[str]:
    """What isn't as recorded."""
    expected, out = case["outcome"], []
    if bool(expected.get("gone")) != (found is None):
        out.append(f"gone: {found is None}")
    if found is not None:
        out += _status_differences(expected.get("status", {}), found.get("status", {}))
    if [event.split()[1] for event in expected.get("events", ())] != reasons:
        out.append(f"Events: {reasons}")
    if sorted(expected.get("requests", [])) != sorted(workers.requests):
        out.append(f"requests: {workers.requests}")
    return out


def _status_differences(expected: Node, found: Node) -> list[str]:
    out = []
    theirs = {one["type"]: _condition(one) for one in expected.get("conditions", ())}
    ours = {one["type"]: _condition(one) for one in found.get("conditions", ()) if one["type"] in theirs}
    if theirs != ours:
        out.append(f"conditions: {ours}")
    fields = ("readyEndpoints", "totalEndpoints", "endpoints")
    return out + [f"{name}: {found.get(name)}" for name in fields if (expected.get(name) or 0) != (found.get(name) or 0)]


def _condition(found: Node) -> tuple[Any, ...]:
    return found["status"], found["reason"], found["message"]
