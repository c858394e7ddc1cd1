"""The recorded passes over DynamoCheckpoints: Jobs, claims, phases and restored pods are the Go operator's, or listed with a reason."""

from __future__ import annotations

import copy
from typing import TYPE_CHECKING, Any, Final

import pytest
import yaml

from dynamo_webhooks.cli.exits import UsageError
from dynamo_webhooks.reconciler.checkpoint import shared_gpus, storage
from dynamo_webhooks.reconciler.checkpoint.job import KEPT_FOR, jobs
from dynamo_webhooks.reconciler.render.configured import Abilities, settings_from
from dynamo_webhooks.reconciler.render.errors import RenderError
from tests.golden.corpus import cases, compare, compare_render
from tests.reconciler.loop.site import settings

if TYPE_CHECKING:
    from dynamo_webhooks.kube.protocol import Node
    from dynamo_webhooks.reconciler.render.settings import Settings

pytestmark = pytest.mark.golden
JOBS: Final = {case["id"]: case for case in cases("controllers.ndjson.gz", "checkpoint-job")}
# differences on purpose -> reason
DIFFERENT: Final = {
    "cj-028": "an upper-case version makes no name of a Job, which an API server refuses",
    "cj-059": "a name of a claim with blanks around it is refused where the configuration is read",
    "cj-029": "a version with a blank makes no name of a Job, which an API server refuses",
}


def _lines(case: Node) -> str:
    """The configuration of a case, as further lines of a file."""
    more = dict(case.get("config") or {})
    if (case.get("flags") or {}).get("gate"):
        more["featureGates"] = {"gmsSnapshot": True}
    return str(yaml.safe_dump(more)) if more else ""


def _settings(case: Node) -> Settings:
    return settings_from(settings(_lines(case)), Abilities())


def _made(case: Node) -> tuple[list[Node], str]:
    """What is made of a recorded checkpoint, and why nothing is."""
    try:
        found = _settings(case).checkpoints
        refusal = shared_gpus.refusal_of(case["object"], gate=found.gate)
        if refusal is not None:
            return [], refusal.message
        made, kept = jobs(case["object"], found), storage.configured(found)
    except (UsageError, RenderError) as error:
        return [], str(error)
    names = {one["metadata"]["name"] for one in case.get("others", ()) if one["kind"] == "PersistentVolumeClaim"}
    if kept is not None and not found.claim_create and kept.claim not in names:
        return [], storage.missing(kept, "demo")
    return [one for one in made if one["kind"] == "Job" or one["metadata"]["name"] not in names], ""


def _differences(made: list[Node], expected: list[Node]) -> list[str]:
    want = copy.deepcopy(expected)
    for one in want:
        if one["kind"] == "Job":
            assert one["spec"].pop("ttlSecondsAfterFinished") == KEPT_FOR  # set when the end has been noted
    theirs = compare_render()
    return [*compare().diff(theirs.tidy(copy.deepcopy(made), None), theirs.tidy(want, None))]


@pytest.mark.parametrize("name", JOBS)
def test_a_recorded_job(name: str) -> None:
    case = JOBS[name]
    made, why = _made(case)
    outcome = case["outcome"]
    said = outcome.get("error") or outcome["status"].get("message") or ""
    differences: list[Any] = _differences(made, case["expect"])
    if (said in why) != bool(said == "" or why):
        differences.append(why)
    assert bool(differences) == (name in DIFFERENT), (differences, why, said)
