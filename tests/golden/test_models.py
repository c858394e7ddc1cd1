"""The recorded passes over DynamoModels: our status, calls and Events are those of the Go operator, or listed with a reason."""

import json
from typing import Final

from dynamo_webhooks.kube.protocol import Node
from dynamo_webhooks.reconciler.common.resources import MODELS
from dynamo_webhooks.reconciler.model.controller import ModelController
from dynamo_webhooks.reconciler.model.worker import Reply
from tests.golden.corpus import cases
from tests.golden.differences import check
from tests.golden.playing import list_differences, store
from tests.reconciler.model.workers import FakeWorkers, address_of
from tests.reconciler.site import NAMESPACE, Site, settings

CASES: Final = {case["id"]: case for case in cases("controllers.ndjson.gz", "model-step")}
_FIELDS: Final = ("readyEndpoints", "totalEndpoints", "endpoints")
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
        self.requests.append(f"POST {address_of(base)}/v1/loras application/json {body}")
        return reply

    async def unload(self, base: str, name: str) -> Reply:
        reply = await super().unload(base, name)
        self.requests.append(f"DELETE {address_of(base)}/v1/loras/{self.calls[-1][2]}  ")
        return reply

    async def _answer(self, verb: str, base: str, what: str) -> Reply:
        self.status[address_of(base)] = self.answers.get(address_of(base))
        return await super()._answer(verb, base, what)


async def test_recorded_passes() -> None:
    check({name: await _passed(name) for name in CASES})


async def _passed(name: str) -> list[str]:
    case = json.loads(json.dumps(CASES[name]).replace("127.0.", "10.0."))  # loopback is no pod's address
    workers = Recorded(case.get("flags", {}).get("workers", {}))
    site = Site(settings("models: {anySlice: true, baseReady: legacy}\n"))  # as the Go operator
    site.callers = {"controllers": [ModelController(lambda _: workers)]}
    for obj in (*case.get("others", ()), case["object"]):
        await store(site, obj)
    site.start()
    try:
        await site.later(0.5)
        if "del" in name:
            await site.later(70)
        model = await site.user.get(MODELS, case["object"]["metadata"]["name"], NAMESPACE)
        return _differences(case, workers, model, await site.reasons())
    finally:
        await site.stop()


def _differences(case: Node, workers: Recorded, model: Node | None, reasons: list[str]) -> list[str]:
    """What isn't as recorded."""
    expected, out = case["outcome"], []
    if bool(expected.get("gone")) != (model is None):
        out.append(f"gone: {model is None}")
    if model is not None:
        theirs, ours = expected.get("status", {}), model.get("status", {})
        out += list_differences(theirs, ours)
        out += [f"{name}: {ours.get(name)}" for name in _FIELDS if (theirs.get(name) or 0) != (ours.get(name) or 0)]
    if SAID.get(case["id"], [event.split()[1] for event in expected.get("events", ())]) != reasons:
        out.append(f"Events: {reasons}")
    deleted = "deletionTimestamp" in case["object"]["metadata"]  # further passes repeat what one was recorded to ask
    once = sorted({*workers.requests}) if deleted else sorted(workers.requests)
    if sorted(expected.get("requests", [])) != once:
        out.append(f"requests: {workers.requests}")
    return out
