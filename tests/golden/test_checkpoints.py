"""The recorded passes over DynamoCheckpoints: Jobs, claims, phases and restored pods are the Go operator's, or listed with a reason."""

import copy
from datetime import timedelta
from typing import Any, Final

import pytest
import yaml

from dynamo_webhooks.cli.commands.render.kinds import OperatorSettings, render_children
from dynamo_webhooks.cli.console.exits import UsageError
from dynamo_webhooks.kube.protocol import Node
from dynamo_webhooks.reconciler.checkpoint.controller import CheckpointController
from dynamo_webhooks.reconciler.checkpoint.restore_condition import ANY_IMAGE
from dynamo_webhooks.reconciler.common.keys import controller_reference
from dynamo_webhooks.reconciler.common.resources import CHECKPOINTS, COMPONENTS
from dynamo_webhooks.reconciler.render.checkpoint.job import FINISHED_JOB_SECONDS
from dynamo_webhooks.reconciler.render.names import CHECKPOINT_ID
from dynamo_webhooks.reconciler.render.object_index import ObjectIndex
from dynamo_webhooks.reconciler.render.objects import make_reference
from dynamo_webhooks.reconciler.render.settings import make_settings
from tests.golden.corpus import cases, compare, compare_render
from tests.golden.differences import check
from tests.golden.playing import limit, list_differences, store
from tests.reconciler.site import NAMESPACE, Site, settings

RECORDED_JOBS: Final = {case["id"]: case for case in cases("controllers.ndjson.gz", "checkpoint-job")}
STEPS: Final = {case["id"]: case for case in cases("controllers.ndjson.gz", "checkpoint-step")}
RESTORES: Final = {case["id"]: case for case in cases("controllers.ndjson.gz", "restore")}
# nothing is made, for a reason that a rule of admission gives first, in its own words
JUDGED_BEFORE: Final = ("re-gms-ck", "re-gms-gateoff")


def _lines(case: Node) -> str:
    """The configuration of a case, as further lines of a file."""
    more = dict(case.get("config") or {})
    if (case.get("flags") or {}).get("gate"):
        more["featureGates"] = {"gmsSnapshot": True}
    return str(yaml.safe_dump(more)) if more else ""


def made_of(case: Node) -> list[Node]:
    """What is rendered of a recorded checkpoint; nothing where the configuration is refused."""
    try:
        how = settings(_lines(case))
    except UsageError:
        return []
    return [
        *render_children(case["object"], ObjectIndex(case.get("others", ())), OperatorSettings(make_settings(how), lambda: how)).children
    ]


def _differences(made: list[Node], expected: list[Node]) -> list[str]:
    want = copy.deepcopy(expected)
    for obj in want:
        if obj["kind"] == "Job":
            assert obj["spec"].pop("ttlSecondsAfterFinished") == FINISHED_JOB_SECONDS  # set when the end has been noted
    theirs = compare_render()
    return [*compare().diff(theirs.tidy(copy.deepcopy(made), None), theirs.tidy(want, None))]


async def test_recorded_passes() -> None:
    differences = {}
    for name, case in STEPS.items():
        with pytest.MonkeyPatch.context() as patch:
            differences[name] = await _passed(case, patch)
    check(differences)


async def _passed(case: Node, monkeypatch: pytest.MonkeyPatch) -> list[str]:
    site = Site(settings(_lines(case)))
    await _set_up(site, case)
    before = {*site.storage.records}
    name = case["object"]["metadata"]["name"]
    limit(monkeypatch, CheckpointController, case["outcome"]["passes"], lambda obj: obj["metadata"]["name"] == name)
    site.start()
    await site.later(5)
    try:
        checkpoint = await site.user.get(CHECKPOINTS, name, NAMESPACE)
        assert checkpoint is not None
        news = [record.obj for key, record in site.storage.records.items() if key not in before and key[1] == "jobs"]
        made = [_plain(obj) for obj in news if controller_reference(obj) == make_reference(checkpoint)]
        differences = [
            *_differences(made, case["expect"]),
            *_status_differences(case["outcome"]["status"], checkpoint["status"]),
        ]
        return differences + _event_differences(case["outcome"].get("events", ()), await site.reasons())
    finally:
        await site.stop()


async def _set_up(site: Site, case: Node) -> None:
    for obj in (*case.get("others", ()), case["object"]):
        site.storage.now += timedelta(seconds=2)  # the others are older
        label = {CHECKPOINT_ID: obj["metadata"]["name"].split("-")[2]} if obj["kind"] == "Job" else {}  # as the recorded operator's own
        await store(site, {**obj, "metadata": {**obj["metadata"], **({"labels": label} if label else {})}})


def _plain(made: Node) -> Node:
    """An object without our bookkeeping, and with the lifetime that a Job gets in the end."""
    metadata = {**made["metadata"]}
    for part in ("labels", "annotations"):
        metadata[part] = {key: value for key, value in (metadata.get(part) or {}).items() if not key.startswith("webhooks.nvidia.com/")}
    return {**made, "metadata": metadata}


def _status_differences(expected: Node, actual: Node) -> list[str]:
    names = ("phase", "identityHash", "jobName", "message")
    out = list_differences(expected, actual) + [f"{name}: {actual.get(name)}" for name in names if actual.get(name) != expected.get(name)]
    return out if ("createdAt" in expected) == ("createdAt" in actual) else [*out, f"createdAt: {actual.get('createdAt')}"]


def _event_differences(expected: Any, reasons: list[str]) -> list[str]:
    """Their reasons, each once and without those of an unchanged child, are among ours."""
    theirs = {text.split()[1] for text in expected} - {"UpdateJob"}
    return [f"Events: {reasons}"] if theirs - {*reasons} else []


async def test_recorded_components() -> None:
    check({name: await _restored(name) for name in RESTORES})


async def _restored(name: str) -> list[str]:
    case = RESTORES[name]
    case["object"]["metadata"]["annotations"] = {ANY_IMAGE: "true"}  # the recorded operator doesn't compare images
    site = Site(settings(_lines(case)))
    await _set_up(site, case)
    before = {*site.storage.records}
    site.start()
    await site.later(5)
    try:
        made = [record.obj for key, record in site.storage.records.items() if key not in before and key[1] in ("deployments", "services")]
        component = (await site.user.get(COMPONENTS, case["object"]["metadata"]["name"], NAMESPACE)) or {}
    finally:
        await site.stop()
    made = [_plain(obj) for obj in made]
    differences = [*compare().diff(*(compare_render().tidy(copy.deepcopy(each), None) for each in (made, case["expect"])))]
    error = case["outcome"].get("error", "").rpartition(": ")[2].partition(" (from")[0]
    ours = " ".join(condition["message"] for condition in component["status"]["conditions"])
    if error and error not in ours and name not in JUDGED_BEFORE:
        differences.append(ours)
    return differences
