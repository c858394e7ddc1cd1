"""The recorded passes of controllers through `render`: a file holds the object and what the cluster had, the configuration is its own."""

import copy
import json
from typing import Any, Final

import yaml

from dynamo_webhooks.admission.pipeline import decode_and_shape
from dynamo_webhooks.policies.facts import Facts
from dynamo_webhooks.reconciler.checkpoint.restore_condition import ANY_IMAGE
from dynamo_webhooks.reconciler.common.resources import REQUESTS
from tests.cli.conftest import Command, Files
from tests.cli.daemon.processes import CONFIG
from tests.golden import test_requests as requests
from tests.golden.corpus import cases, compare, compare_render
from tests.golden.differences import check

ALL_SECRETS: Final = {"secrets": {"pull": "all", "namespaces": ["demo"]}}
KNOWN: Final = [word for name in ("grove", "lws", "istio") for word in ("--set-fact", f"{name}=false")]
# requests without an image, which the webhook fills in: the same request with that image is recorded, too
FILLED: Final = {"pj-002": {case["id"]: case for case in cases("controllers.ndjson.gz", "request-step")}["rs-pending-2"]["expect"]}
JUDGED: Final = ("pj-037",)  # what the controller refuses to render, which `render` does unasked
KINDS: Final = ("pull-secrets", "checkpoint-job", "restore", "profiling-job")
CASES: Final = {case["id"]: case for kind in KINDS for case in cases("controllers.ndjson.gz", kind)}


def rendered(command: Command, files: Files, case: dict[str, Any]) -> tuple[list[dict[str, Any]], str]:
    """What the command makes of a case, as one file and one configuration, and what it says."""
    own = ALL_SECRETS if case["kind"] == "pull-secrets" else {}
    gates = {"featureGates": {"gmsSnapshot": True}} if case.get("flags", {}).get("gate") else {}
    if case["kind"] == "restore":
        case["object"]["metadata"]["annotations"] = {ANY_IMAGE: "true"}  # the recorded operator doesn't compare images
    if case["kind"] == "profiling-job":
        own = {"requests": {"copierImage": "dynamo-webhooks:1"}}
    config = {**yaml.safe_load(CONFIG), **(case.get("config") or {}), **own, **gates}
    config["operator"] = {**(config.get("operator") or {}), "version": "1.2.0"}
    items = [case["object"], *case.get("others", ())]
    folder = files(case=json.dumps({"apiVersion": "v1", "kind": "List", "items": items}), config=json.dumps(config))
    words = ("render", "-q", "-o", "json", *KNOWN, "--set-fact", "operatorVersion=1.2.0", "--config", f"{folder}/config.yaml")
    ran = command(*words, f"{folder}/case.yaml")
    return (ran.json if ran.out else []), ran.err  # nothing is printed where the configuration is refused


def _of_the_object(made: list[dict[str, Any]], case: dict[str, Any]) -> list[dict[str, Any]]:
    """Of all children of a file those of the object of the case; its claims and checkpoints' Jobs are others'."""
    name = case["object"]["metadata"]["name"]
    return [child for child in made if any(owner["name"] == name for owner in child["metadata"].get("ownerReferences", ()))]


def _with_defaults(job: dict[str, Any]) -> dict[str, Any]:
    """A recorded profiling Job whose request has the schema's defaults: the recorded cluster had no schemas."""
    [profiler] = job["spec"]["template"]["spec"]["containers"]
    obj = {"apiVersion": REQUESTS.api_version, "kind": REQUESTS.kind, "metadata": {"name": "r"}, "spec": profiler["args"][1]}
    assert not decode_and_shape(obj, REQUESTS.kind, REQUESTS.version, Facts().line)
    profiler["args"][1] = compare().normalise(obj["spec"])
    return job


def difference(have: list[dict[str, Any]], case: dict[str, Any]) -> list[str]:
    """Where children differ from the recorded ones; of cases about pull secrets, where these do."""
    if case["kind"] == "pull-secrets":
        mine, recorded = (next(child for child in children if child["kind"] == "Deployment") for children in (have, case["expect"]))
        pods = [deployment["spec"]["template"]["spec"].get("imagePullSecrets") or [] for deployment in (mine, recorded)]
        return [] if pods[0] == pods[1] else [f"{pods[0]}, recorded {pods[1]}"]
    for job in (child for child in case["expect"] if child["kind"] == "Job" and case["kind"] == "checkpoint-job"):
        job["spec"].pop("ttlSecondsAfterFinished", None)  # set when the end has been noted
    if case["kind"] == "restore":
        have = _of_the_object(have, case)
    if case["kind"] == "profiling-job":
        case = requests.as_we_read_products(case)
        have, case["expect"] = ([requests.plain(obj, case) for obj in each if obj["kind"] == "Job"] for each in (have, case["expect"]))
        case["expect"] = [_with_defaults(child) for child in case["expect"]]
    theirs = compare_render()
    return list(compare().diff(theirs.tidy(have, None), theirs.tidy(case["expect"], None)))


def test_recorded_cases(command: Command, files: Files) -> None:
    differences = {name: _differences(command, files, name) for name in CASES}
    assert [differences.pop(name) for name in JUDGED] == [[]] * len(JUDGED)
    check(differences)


def _differences(command: Command, files: Files, name: str) -> list[str]:
    case = copy.deepcopy({**CASES[name], "expect": FILLED.get(name, CASES[name]["expect"])})
    made, output = rendered(command, files, case)
    differences = difference(made, case)
    message = case["outcome"].get("error") or case["outcome"].get("status", {}).get("message") or ""
    if case["kind"] == "checkpoint-job" and message not in output:
        differences.append(output)
    return differences
