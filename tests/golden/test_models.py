"""The recorded passes over DynamoModels: our status, calls and Events are those of the Go operator, or listed with a reason."""

import copy
import json
from typing import Any, Final

from dynamo_webhooks.kube.protocol import Node
from dynamo_webhooks.kube.resources import ENDPOINT_SLICES
from dynamo_webhooks.reconciler.common.resources import MODELS
from dynamo_webhooks.reconciler.model.controller import ModelController
from dynamo_webhooks.reconciler.model.worker import Reply
from dynamo_webhooks.reconciler.reconciler import Reconciler
from tests.golden.corpus import cases
from tests.golden.differences import check
from tests.reconciler.model.workers import FakeWorkers
from tests.reconciler.site import NAMESPACE, Site, settings

CASES: Final = {case["id"]: case for case in cases("controllers.ndjson.gz", "model-step")}
SAID: Final = {"ms-del-404": ["LoRAUnloaded"]}  # an adapter that isn't there any more is unloaded; Events need not agree


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

    async def _answer(self, verb: str, base: str, what: str) -> Reply:
        self.status[_address(base)] = self.answers.get(_address(base))
        return await super()._answer(verb, base, what)


def _address(base: str) -> str:
    return base.removeprefix("http://").rpartition(":")[0]


async def test_recorded_passes() -> None:
    check({name: await _passed(name) for name in CASES})


async def _passed(name: str) -> list[str]:
    case = json.loads(json.dumps(CASES[name]).replace("127.0.", "10.0."))  # loopback is no pod's address
    workers = Recorded(case.get("flags", {}).get("workers", {}))
    site = Site(settings("models: {anySlice: true, baseReady: legacy}\n"))  # as the Go operator
    await _set_up(site, case)
    timing = site.timing
    clocks = timing.clocks()
    site.run(Reconciler(site.cluster, site.settings, "pod", clocks=clocks, controllers=[ModelController(lambda _: workers)]))
    try:
        await site.later(0.5)
        if "del" in name:
            await site.later(70)
        return _differences(case, workers, await _outcome(site, case), await site.reasons())
    finally:
        await site.stop()


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
    if SAID.get(case["id"], [event.split()[1] for event in expected.get("events", ())]) != reasons:
        out.append(f"Events: {reasons}")
    deleted = "deletionTimestamp" in case["object"]["metadata"]  # further passes repeat what one was recorded to ask
    once = sorted({*workers.requests}) if deleted else sorted(workers.requests)
    if sorted(expected.get("requests", [])) != once:
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
